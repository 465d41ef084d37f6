"""Decode a file: its translations, n-best lists and statistics, block by block."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import click
import numpy as np

from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.output import (
    STATISTICS_HEADER,
    DecodedSentence,
    best_line,
    nbest_lines,
    statistics_line,
    unknown_line,
)
from moses_integration.decoder.settings import NBestSettings, OutputSettings, RiskSettings
from moses_integration.ini.model_files import files_read
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.nbest.minimum_bayes_risk import least_risk
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.identity import file_state, identity_of
from phrasescore.runs.journal import JournaledOutputs
from phrasescore.runs.progress import Progress

Sentences = Sequence[tuple[bytes, ...]]

# sentences that a killed run loses at most
_BLOCK = 100
_HEADERS = {"statistics": STATISTICS_HEADER}
# words that are loaded at once: the entries they need must fit into memory
_BATCH_WORDS = 500_000
# more unknown words mean that the text is for another system; a few words say nothing
_MAX_UNKNOWN, _WORDS_TO_JUDGE = 0.5, 20


@dataclass
class DecodedCounts:
    """What was done, and what neural language models were asked.

    Args:
        lines: Sentences that are decoded.
        words: Words that the models were asked for.
        histories: The distinct histories of these in each sentence, all sentences together.
    """

    lines: int = 0
    words: int = 0
    histories: int = 0

    def add(self, decoded: DecodedSentence) -> None:
        """Count one more sentence."""
        self.lines += 1
        self.words += decoded.statistics.asked
        self.histories += decoded.statistics.histories


@dataclass(frozen=True)
class DecodingOutputs:
    """What is written of each sentence, and where.

    Args:
        paths: Where outputs go, by name: ``nbest``, ``unknowns``, ``statistics``, ``output`` (the
            translations), in this order; only those that are wanted.
        printed: How translations and lists are printed.
        nbest: The n-best list that is wanted, if any.
        risk: Settings of minimum-Bayes-risk decoding; ``None`` for the best derivation.
    """

    paths: Mapping[str, str]
    printed: OutputSettings
    nbest: NBestSettings | None
    risk: RiskSettings | None

    @property
    def wanted(self) -> NBestSettings | None:
        """The list that the search has to make: for the n-best file, for the risk, or none."""
        if self.risk is None:
            return self.nbest
        if self.nbest is None:
            return NBestSettings(self.risk.size)
        return self.nbest._replace(size=max(self.nbest.size, self.risk.size))

    def text_of(self, name: str, decoded: DecodedSentence) -> bytes:
        """Return what one of the outputs has of a sentence."""
        if name == "nbest":
            assert self.nbest is not None
            return nbest_lines(decoded, self.printed, self.nbest.size)
        if name == "unknowns":
            return unknown_line(decoded)
        if name == "statistics":
            return statistics_line(decoded)
        return best_line(decoded, self.printed, self._best(decoded))

    def _best(self, decoded: DecodedSentence) -> int:
        if self.risk is None or len(decoded) < 2:
            return 0
        shown = range(min(self.risk.size, len(decoded)))
        candidates = [b" ".join(decoded.words(number)) for number in shown]
        return least_risk(candidates, decoded.totals[: self.risk.size], self.risk.scale)


def decode_file(
    ini: MosesIni,
    decoder: Decoder,
    sentences: Sentences,
    outputs: DecodingOutputs,
    *,
    threads: int,
) -> DecodedCounts:
    """Decode the input and write all that is asked for; files appear only when they are whole.

    Where all outputs are files, what an interrupted run of the same task has decoded is kept.

    Args:
        ini: The ini of the decoder.
        decoder: The decoder.
        sentences: The input.
        outputs: What is written.
        threads: How many sentences are searched at once.

    Raises:
        InputError: A table or a model cannot be used.
        SettingsError: A file cannot be written.
        ResumeError: Another process is writing one of them.
    """
    # translations stand last: they get their name when the others have theirs
    paths = list(outputs.paths.values())
    # the reader of a pipe waits for each sentence
    block = 1 if paths == [STANDARD_STREAM] else _BLOCK
    identity = identity_of((), paths, _asked(ini, decoder, sentences, outputs))
    with JournaledOutputs(paths, identity) as written:
        asked = written.restored(DecodedCounts())
        written.announce(asked.lines, "another ini, input or options")
        texts = {name: [_HEADERS.get(name, b"")] for name in outputs.paths}
        if written.blocks:
            texts = {name: [] for name in texts}
        with Progress("decoding", len(sentences) - asked.lines, "sentences") as progress:
            for decoded in _decoded(decoder, sentences, asked.lines, outputs.wanted, threads):
                asked.add(decoded)
                for name, text in texts.items():
                    text.append(outputs.text_of(name, decoded))
                progress.advance(1)
                if asked.lines % block == 0:
                    written.append(list(map(b"".join, texts.values())), asdict(asked))
                    texts = {name: [] for name in texts}
            # without sentences, too: a header, or a gzip file of nothing
            if any(texts.values()):
                written.append(list(map(b"".join, texts.values())), asdict(asked))
        written.finish()
    return asked


def _asked(
    ini: MosesIni, decoder: Decoder, sentences: Sentences, outputs: DecodingOutputs
) -> dict[str, Any]:
    """Return all that decides what is written; models count by place, size and time of change."""
    return {
        "ini": hashlib.sha256(ini.to_bytes()).hexdigest(),
        "input": hashlib.sha256(b"\n".join(map(b" ".join, sentences))).hexdigest(),
        "weights": decoder.system.weights.tolist(),
        "search": asdict(decoder.system.settings),
        "table limits": [table.limit for table in decoder.system.features.tables],
        "models": [file_state(path) for _, path in files_read(ini)],
        "nbest": outputs.nbest and outputs.nbest._asdict(),
        "risk": outputs.risk and asdict(outputs.risk),
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
    """Say so if a text seems not to be for this system: nothing else would tell of it."""
    words = np.concatenate(loaded.source.sentences)
    share = float(loaded.unknown_words[words].mean()) if len(words) else 0.0
    if share > _MAX_UNKNOWN and len(words) >= _WORDS_TO_JUDGE:
        click.echo(
            f"warning: the phrase table has no translation of {share:.0%} of the words of the "
            "input, which are copied: see that language, tokenisation and case are those of the "
            "system (phrasescore doctor)",
            err=True,
        )


def _batches(sentences: Sentences, done: int) -> Iterator[tuple[int, Sentences]]:
    """Split an input where ``_BATCH_WORDS`` are reached; yield each part and where it begins."""
    first, words = done, 0
    for number, sentence in enumerate(sentences[done:], done):
        if words >= _BATCH_WORDS:
            yield first, sentences[first:number]
            first, words = number, 0
        words += len(sentence)
    if first < len(sentences):
        yield first, sentences[first:]
