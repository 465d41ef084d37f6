"""Decoding of a file: translations and n-best lists, block by block."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.output import DecodedSentence, best_line, nbest_lines, unknown_line
from moses_integration.decoder.raw_text import RawText
from moses_integration.decoder.rescoring import BLOCK
from moses_integration.decoder.settings import NBestSettings, OutputSettings
from moses_integration.ini.model_files import FILTER_WORDS, files_read, named_paths
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.text.preparation import SETTINGS_FILE, read_settings
from phrasescore.errors import counted
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.identity import file_state
from phrasescore.runs.stream import BlockStream, LineCounts
from phrasescore.table.input_files import looks_raw

Sentences = Sequence[tuple[bytes, ...]]

# how many words form a batch: the table entries of two batches must fit into memory
_BATCH_WORDS = 250_000
# A higher share of unknown words means that the text was prepared for another system, or that this
# one learnt from little text. Languages share signs, numbers and names: 48 % of Spanish's words are
# unknown to a system that reads Otomi. Texts with fewer words are too short to judge.
_MAX_UNKNOWN, _WORDS_TO_JUDGE = 0.4, 20


class _Block(NamedTuple):
    """Consecutive sentences, each decoded at the latest when the iterator reaches it."""

    decoded: Iterator[DecodedSentence]
    size: int


def _warn_of_input(ini: MosesIni, sentences: Sentences, *, is_raw: bool) -> None:
    """Warn if the input looks like raw text, or if the tables are filtered to another text."""
    settings = Path(ini.path).with_name(SETTINGS_FILE)
    ends = (words[-1].decode("utf-8", "replace") for words in sentences if words)
    if looks_raw(ends):
        advice = "the system needs text in its tokens"
        if is_raw:
            advice = "the system was built without --tokenize, so it must be cut as in training"
        elif settings.exists() and read_settings(settings).source.takes_raw_text:
            advice = f"with --raw it is prepared as {settings} says"
        click.echo(f"warning: the input looks like raw text; {advice}", err=True)
    if not sentences:
        click.echo("note: the input is empty", err=True)
    for number, words in enumerate(sentences, 1):
        if (line := b" ".join(words)).decode("utf-8", "ignore").encode() != line:
            said = f"warning: line {number:,} of the input is not UTF-8, as most systems are: iconv"
            click.echo(f"{said} converts it", err=True)
            break
    files = {Path(path).with_name(FILTER_WORDS) for _, _, path in named_paths(ini)}
    for file in filter(Path.exists, sorted(files)):
        other = set(itertools.chain(*sentences)).difference(file.read_bytes().split(b"\n"))
        if other:
            lacking = counted(len(other), "word")
            what = f"was filtered to another text, without {lacking} of this one"
            remedy = "filter the whole tables to this text, or use them unfiltered"
            click.echo(f"warning: {file.parent} {what}; {remedy}", err=True)


def decode_file(
    ini: MosesIni,
    decoder: Decoder,
    sentences: Sentences,
    outputs: Mapping[str, str],
    *,
    printed: OutputSettings,
    nbest: NBestSettings,
    threads: int,
    raw: RawText | None = None,
) -> None:
    """Decode the input and write the requested outputs; files appear when they are complete.

    If all outputs are files, an interrupted run of the same task is continued.

    Args:
        ini: The ini of the decoder.
        decoder: The decoder.
        sentences: The input.
        outputs: The requested files by name: ``nbest``, ``unknowns``, ``output`` (the
            translations), in this order.
        printed: The contents of translations and lists.
        nbest: Settings of the n-best list, if one is requested.
        threads: The number of sentences to search at once.
        raw: The text that the sentences come from, if translations are to be finished text.

    Raises:
        InputError: A table or a model cannot be used.
        SettingsError: A file cannot be written.
        ResumeError: Another process is writing one of the files.
    """
    _warn_of_input(ini, sentences, is_raw=raw is not None)
    # the file of translations is renamed last, after the other outputs have their final names
    *beside, main = outputs
    wanted = nbest if "nbest" in outputs else None
    texts: dict[str, Callable[[DecodedSentence], bytes]] = {
        "nbest": lambda decoded: nbest_lines(decoded, printed, nbest.size),
        "unknowns": unknown_line,
        "output": raw.finished if raw else lambda decoded: best_line(decoded, printed),
    }
    # flush each sentence: the program that reads a pipe may wait for it
    size = 1 if list(outputs.values()) == [STANDARD_STREAM] else BLOCK

    def work(block: _Block, done: LineCounts) -> tuple[tuple[bytes, ...], LineCounts]:
        found = list(itertools.islice(block.decoded, block.size))
        written = (b"".join(map(texts[name], found)) for name in (main, *beside))
        return tuple(written), LineCounts(done.lines + block.size)

    BlockStream(
        inputs=(),
        settings={
            **_request(ini, decoder, sentences),
            "lines": raw and hashlib.sha256(bytes(raw.is_last)).hexdigest(),
            "nbest": wanted and wanted._asdict(),
            "printed": asdict(raw.restore.settings if raw else printed),
            "outputs": list(outputs),
        },
        read=lambda done, _: _blocks(decoder, sentences, done.lines, size, wanted, threads),
        work=work,
        nothing=LineCounts(),
        check=lambda: iter([sentences]),
        what="decoding",
        unit="sentences",
    ).write(outputs[main], beside=[outputs[name] for name in beside])


def _request(ini: MosesIni, decoder: Decoder, sentences: Sentences) -> dict[str, object]:
    """Return what determines the outputs; path, size and modification time identify a model."""
    return {
        "ini": hashlib.sha256(ini.to_bytes()).hexdigest(),
        "input": hashlib.sha256(b"\n".join(map(b" ".join, sentences))).hexdigest(),
        "weights": decoder.system.weights.tolist(),
        "search": asdict(decoder.system.settings),
        "table limits": [table.limit for table in decoder.system.features.tables],
        "models": [file_state(path) for _, path in files_read(ini)],
        "rescoring": decoder.rescorer and decoder.rescorer.identity(),
    }


def _blocks(
    decoder: Decoder,
    sentences: Sentences,
    done: int,
    size: int,
    nbest: NBestSettings | None,
    threads: int,
) -> Iterator[_Block]:
    """Decode the sentences that are not done yet; yield them in blocks of ``size``."""
    if not sentences:  # an empty block, so that a gzip output is a valid gzip file
        yield _Block(iter(()), 0)
    for first, batch in _batches(sentences, done):
        loaded = decoder.load(batch)
        if first == done:
            _warn_of_unknown(loaded)
        found = decoder.decode(loaded, nbest=nbest, threads=threads)
        numbered = (replace(each, first=first) for each in found)
        for begin in range(0, len(batch), size):
            yield _Block(numbered, min(size, len(batch) - begin))


def _warn_of_unknown(loaded: LoadedInput) -> None:
    """Warn if a text seems to be for another system; no other check would notice."""
    words = np.concatenate(loaded.source.sentences)
    share = float(loaded.unknown_words[words].mean()) if len(words) else 0.0
    if share > _MAX_UNKNOWN and len(words) >= _WORDS_TO_JUDGE:
        click.echo(
            f"warning: the phrase table has no translation of {share:.0%} of the words of the "
            "input, which are copied: check that language, tokenisation and case are those of the "
            "system (phrasescore doctor), unless its training text is just small",
            err=True,
        )


def _batches(sentences: Sentences, done: int) -> Iterator[tuple[int, Sentences]]:
    """Yield batches of about ``_BATCH_WORDS`` words, each with the index of its first sentence.

    A batch has whole blocks: after an interruption, the same sentences are rescored together.
    """
    first, words = done, 0
    for number, sentence in enumerate(sentences[done:], done):
        if words >= _BATCH_WORDS and (number - done) % BLOCK == 0:
            yield first, sentences[first:number]
            first, words = number, 0
        words += len(sentence)
    if first < len(sentences):
        yield first, sentences[first:]
