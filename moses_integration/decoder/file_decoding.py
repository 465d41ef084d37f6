"""Decoding of a file: translations and n-best lists, block by block."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import click
import numpy as np

from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.output import (
    DecodedSentence,
    best_line,
    nbest_lines,
    unknown_line,
)
from moses_integration.decoder.settings import NBestSettings, OutputSettings
from moses_integration.ini.model_files import files_read
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.identity import file_state, identity_of
from phrasescore.runs.journal import JournaledOutputs
from phrasescore.runs.progress import Progress

Sentences = Sequence[tuple[bytes, ...]]

# the maximum number of sentences that a killed run loses
_BLOCK = 100
# words loaded at once: their table entries must fit into memory
_BATCH_WORDS = 500_000
# a higher share of unknown words means that the text is for another system, unless it is too short
_MAX_UNKNOWN, _WORDS_TO_JUDGE = 0.5, 20


@dataclass
class _Done:
    """The work so far, kept in the journal: the number of decoded sentences."""

    lines: int = 0


@dataclass(frozen=True)
class DecodingOutputs:
    """The outputs of decoding.

    Args:
        paths: The requested files by name: ``nbest``, ``unknowns``, ``output`` (the
            translations), in this order.
        printed: The contents of translations and lists.
        nbest: Settings of the n-best list; ``None`` for no list.
    """

    paths: Mapping[str, str]
    printed: OutputSettings
    nbest: NBestSettings | None

    def text_of(self, name: str, decoded: DecodedSentence) -> bytes:
        """Return the text of a sentence in one of the outputs."""
        if name == "nbest":
            assert self.nbest is not None
            return nbest_lines(decoded, self.printed, self.nbest.size)
        if name == "unknowns":
            return unknown_line(decoded)
        return best_line(decoded, self.printed)


def decode_file(
    ini: MosesIni,
    decoder: Decoder,
    sentences: Sentences,
    outputs: DecodingOutputs,
    *,
    threads: int,
) -> None:
    """Decode the input and write the requested outputs; files appear when they are complete.

    If all outputs are files, the work of an interrupted run of the same task is continued.

    Args:
        ini: The ini of the decoder.
        decoder: The decoder.
        sentences: The input.
        outputs: The requested outputs.
        threads: The number of sentences to search at once.

    Raises:
        InputError: A table or a model cannot be used.
        SettingsError: A file cannot be written.
        ResumeError: Another process is writing one of them.
    """
    # the translations come last, so that they get their name when the others have theirs
    paths = list(outputs.paths.values())
    # a program at the other end of a pipe may wait for each sentence
    block = 1 if paths == [STANDARD_STREAM] else _BLOCK
    identity = identity_of((), paths, _request(ini, decoder, sentences, outputs))
    with JournaledOutputs(paths, identity) as written:
        done = written.restored(_Done())
        written.announce(done.lines)
        texts: dict[str, list[bytes]] = {name: [] for name in outputs.paths}
        with Progress("decoding", len(sentences) - done.lines, "sentences") as progress:
            for decoded in _decoded(decoder, sentences, done.lines, outputs.nbest, threads):
                done.lines += 1
                for name, text in texts.items():
                    text.append(outputs.text_of(name, decoded))
                progress.advance(1)
                if done.lines % block == 0 or done.lines == len(sentences):
                    written.append(list(map(b"".join, texts.values())), asdict(done))
                    texts = {name: [] for name in texts}
            if not sentences:  # even then a gzip file is one of nothing
                written.append([b"" for _ in texts], asdict(done))
        written.finish()


def _request(
    ini: MosesIni, decoder: Decoder, sentences: Sentences, outputs: DecodingOutputs
) -> dict[str, object]:
    """Return everything that decides the outputs; models by path, size and modification time."""
    return {
        "ini": hashlib.sha256(ini.to_bytes()).hexdigest(),
        "input": hashlib.sha256(b"\n".join(map(b" ".join, sentences))).hexdigest(),
        "weights": decoder.system.weights.tolist(),
        "search": asdict(decoder.system.settings),
        "table limits": [table.limit for table in decoder.system.features.tables],
        "models": [file_state(path) for _, path in files_read(ini)],
        "nbest": outputs.nbest and outputs.nbest._asdict(),
        "printed": asdict(outputs.printed),
        "outputs": list(outputs.paths),
    }


def _decoded(
    decoder: Decoder, sentences: Sentences, done: int, nbest: NBestSettings | None, threads: int
) -> Iterator[DecodedSentence]:
    for first, batch in _batches(sentences, done):
        loaded = decoder.load(batch)
        if first == done:
            _warn_of_unknown(loaded)
        for decoded in decoder.decode(loaded, nbest=nbest, threads=threads):
            yield replace(decoded, first=first)


def _warn_of_unknown(loaded: LoadedInput) -> None:
    """Warn if a text does not seem to be for this system: nothing else would reveal that."""
    words = np.concatenate(loaded.source.sentences)
    share = float(loaded.unknown_words[words].mean()) if len(words) else 0.0
    if share > _MAX_UNKNOWN and len(words) >= _WORDS_TO_JUDGE:
        click.echo(
            f"warning: the phrase table has no translation of {share:.0%} of the words of the "
            "input, which are copied: check that language, tokenisation and case are those of the "
            "system (phrasescore doctor)",
            err=True,
        )


def _batches(sentences: Sentences, done: int) -> Iterator[tuple[int, Sentences]]:
    """Split an input into batches of about ``_BATCH_WORDS``; yield first sentence and batch."""
    first, words = done, 0
    for number, sentence in enumerate(sentences[done:], done):
        if words >= _BATCH_WORDS:
            yield first, sentences[first:number]
            first, words = number, 0
        words += len(sentence)
    if first < len(sentences):
        yield first, sentences[first:]
