"""Decode a file: its translations, n-best lists and statistics, block by block."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import click
import numpy as np

from moses_integration.decoder.decoded_sentence import DecodedSentence
from moses_integration.decoder.decoding_task import DecodingTask
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.loading.input_text import read_sentences
from moses_integration.decoder.output import (
    STATISTICS_HEADER,
    best_line,
    nbest_lines,
    statistics_line,
    unknown_line,
)
from moses_integration.ini.model_files import files_read
from moses_integration.nbest.minimum_bayes_risk import least_risk
from phrasescore import __version__
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.identity import file_state
from phrasescore.runs.journal import JournaledOutputs
from phrasescore.runs.journal import keeps_work as is_kept
from phrasescore.runs.progress import Progress

# sentences that a killed run loses at most
_BLOCK = 100
# words that are loaded at once: the entries they need must fit into memory
_BATCH_WORDS = 500_000
# more unknown words mean that the text is for another system; a few words say nothing
_MOST_UNKNOWN, _WORDS_TO_JUDGE = 0.5, 20


@dataclass
class AskedInAll:
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


def decode_file(task: DecodingTask) -> AskedInAll:
    """Decode the input and write all that is asked for; files appear only when they are whole.

    Where all outputs are files, what an interrupted run of the same task has decoded is kept.

    Raises:
        InputError: The input, a table or a model cannot be used.
        SettingsError: A file cannot be written.
        ResumeError: Another process is writing one of them.
    """
    sentences = read_sentences(task.input, longest=task.longest)
    outputs = _outputs(task)
    paths = [each.path for each in outputs]
    with JournaledOutputs(paths, _signature(task, sentences)) as written:
        asked = written.restored(AskedInAll())
        written.announce(asked.lines, "another ini, input or options")
        texts = [[] if written.blocks else [each.header] for each in outputs]
        with Progress("decoding", len(sentences) - asked.lines, "sentences") as progress:
            for decoded in _decoded(task, sentences, asked.lines):
                asked.add(decoded)
                for text, each in zip(texts, outputs, strict=True):
                    text.append(each.text_of(decoded))
                progress.advance(1)
                if asked.lines % _block(outputs) == 0:
                    written.append(list(map(b"".join, texts)), asdict(asked))
                    texts = [[] for _ in outputs]
            # of no sentences, too: a header, or a gzip file of nothing
            if any(texts):
                written.append(list(map(b"".join, texts)), asdict(asked))
        written.finish()
    return asked


def keeps_work(task: DecodingTask) -> bool:
    """Tell whether an interrupted run of a task is gone on with."""
    return all(is_kept(each.path) for each in _outputs(task))


def _signature(task: DecodingTask, sentences: Sequence[tuple[bytes, ...]]) -> dict[str, Any]:
    """Everything that decides what is written; models count by place, size and time of change."""
    text = hashlib.sha256(b"\n".join(map(b" ".join, sentences))).hexdigest()
    system = task.decoder.system
    return {
        "version": __version__,
        "ini": hashlib.sha256(task.ini.to_bytes()).hexdigest(),
        "input": text,
        "weights": {name: list(values) for name, values in task.weights.items()},
        "search": asdict(system.settings),
        "table limits": [table.limit for table in system.features.tables],
        "models": [file_state(path) for _, path in files_read(task.ini)],
        "nbest": task.nbest and task.nbest._asdict(),
        "risk": task.risk and asdict(task.risk),
        "printed": asdict(task.output_settings),
        "outputs": [each.name for each in _outputs(task)],
    }


def _block(outputs: Sequence[_Output]) -> int:
    """Return how many sentences are written at a time: who reads a pipe waits for each."""
    return 1 if [each.path for each in outputs] == [STANDARD_STREAM] else _BLOCK


def _decoded(
    task: DecodingTask, sentences: Sequence[tuple[bytes, ...]], done: int
) -> Iterator[DecodedSentence]:
    for first, batch in _batches(sentences, done):
        loaded = task.decoder.load(batch)
        if first == done:
            _warn_of_unknown(loaded)
        for decoded in task.decoder.decode(loaded, nbest=task.wanted, threads=task.threads):
            yield replace(decoded, first=first)


def _warn_of_unknown(loaded: LoadedInput) -> None:
    """Say so if a text seems not to be for this system: nothing else would tell of it."""
    words = np.concatenate(loaded.source.sentences)
    share = float(loaded.unknown_words[words].mean()) if len(words) else 0.0
    if share > _MOST_UNKNOWN and len(words) >= _WORDS_TO_JUDGE:
        click.echo(
            f"warning: the phrase table has no translation of {share:.0%} of the words of the "
            "input, which are copied: see that language, tokenisation and case are those of the "
            "system (phrasescore doctor)",
            err=True,
        )


def _batches(
    sentences: Sequence[tuple[bytes, ...]], done: int
) -> Iterator[tuple[int, Sequence[tuple[bytes, ...]]]]:
    """Split an input where ``_BATCH_WORDS`` are reached; yield each part and where it begins."""
    first, words = done, 0
    for number, sentence in enumerate(sentences[done:], done):
        if words >= _BATCH_WORDS:
            yield first, sentences[first:number]
            first, words = number, 0
        words += len(sentence)
    if first < len(sentences):
        yield first, sentences[first:]


class _Output(NamedTuple):
    """Somewhere to write, what of a sentence goes there, and what stands before the first."""

    name: str
    path: str
    text_of: Callable[[DecodedSentence], bytes]
    header: bytes = b""


def _outputs(task: DecodingTask) -> list[_Output]:
    """Return the outputs, translations last: they get their name when the others have theirs."""
    listed, translation = partial(_listed, task), partial(_translation, task)
    outputs: dict[str, tuple[str | None, Callable[[DecodedSentence], bytes], bytes]] = {
        "nbest": (task.nbest_path, listed, b""),
        "unknowns": (task.unknowns, unknown_line, b""),
        "statistics": (task.statistics, statistics_line, STATISTICS_HEADER),
        "output": (task.output, translation, b""),
    }
    return [
        _Output(name, path, text_of, header)
        for name, (path, text_of, header) in outputs.items()
        if path is not None
    ]


def _listed(task: DecodingTask, decoded: DecodedSentence) -> bytes:
    assert task.nbest is not None
    return nbest_lines(decoded, task.output_settings, task.nbest.size)


def _translation(task: DecodingTask, decoded: DecodedSentence) -> bytes:
    return best_line(decoded, task.output_settings, _best(task, decoded))


def _best(task: DecodingTask, decoded: DecodedSentence) -> int:
    risk = task.risk
    if risk is None or len(decoded) < 2:
        return 0
    shown = range(min(risk.size, len(decoded)))
    candidates = [b" ".join(decoded.words(number)) for number in shown]
    return least_risk(candidates, decoded.totals[: risk.size], risk.scale)
