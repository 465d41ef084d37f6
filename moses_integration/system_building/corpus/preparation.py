"""From two files to the text a system is built from: prepared, checked and cleaned."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.corpus.cleaning import (
    MOST_WORDS,
    Cleaner,
    CleaningSettings,
    Reason,
)
from moses_integration.system_building.corpus.parallel_text import (
    LOOKS_RAW,
    Notes,
    ParallelLines,
    check_raw_text,
    check_taken_text,
    decode_line,
    read_parallel_lines,
)
from moses_integration.system_building.corpus.text_preparation import Preprocessor, TextSettings
from phrasescore.errors import CorpusError
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress


@dataclass(frozen=True)
class TextSource:
    """One side of the text as the user gave it.

    Args:
        path: Its file, plain or gzip.
        settings: What to do to a sentence; without tokenising and lower-casing it is taken as it
            is.
    """

    path: str | Path
    settings: TextSettings

    @cached_property
    def preprocessor(self) -> Preprocessor | None:
        """What prepares a sentence, if anything is to be done."""
        changes = self.settings.tokenize or self.settings.lowercase
        return Preprocessor(self.settings) if changes else None


@dataclass(frozen=True)
class PreparedCorpus:
    """What came of it.

    Args:
        kept: (pairs,) int64, the 1-based line of each pair that was kept.
        lines: How many lines were read.
        notes: What was suspicious.
        report: Counts, as JSON values.
    """

    kept: NDArray[np.int64]
    lines: int
    notes: Notes
    report: dict[str, Any]


def prepare_corpus(
    sources: tuple[TextSource, TextSource],
    outputs: tuple[Path, Path],
    cleaning: CleaningSettings | None,
) -> PreparedCorpus:
    """Write the pairs that are kept: one sentence per line, words separated by single spaces.

    Args:
        sources: The source and the target side.
        outputs: Where to write them.
        cleaning: What to leave out; with ``None`` nothing, and an empty sentence is an error.

    Raises:
        CorpusError: The sides have unequal numbers of lines, a line cannot be used, or no pair is
            left.
    """
    cleaner, notes = Cleaner(cleaning), Notes()
    kept: list[int] = []
    words = [0, 0]
    with (
        ExitStack() as stack,
        Progress("reading the corpus", unit="pairs") as progress,
    ):
        streams = [stack.enter_context(open_output(output)) for output in outputs]
        for block in read_parallel_lines(sources[0].path, sources[1].path):
            pairs = _words_of(block, sources, notes)
            good = []
            for line, pair in enumerate(pairs, block.first):
                if cleaning is None:
                    _check_lengths(pair, sources, line)
                if cleaner.keeps(*pair, line):
                    good.append(pair)
                    kept.append(line)
            for side, stream in enumerate(streams):
                stream.write(b"".join(b" ".join(pair[side]) + b"\n" for pair in good))
                words[side] += sum(len(pair[side]) for pair in good)
            progress.advance(len(pairs))
        if not kept:
            raise _nothing_left(cleaner.report()["left_out"], sources[0].path)
    if any(source.settings.tokenize for source in sources):
        notes.counts.pop(LOOKS_RAW, None)
    notes.forget_if_rare(LOOKS_RAW, 2 * len(kept))
    report = cleaner.report() | {"source_words": words[0], "target_words": words[1]}
    for reason, entry in report["left_out"].items():
        notes.add(f"left out: {reason}", sources[0].path, entry["first_line"], entry["pairs"])
    return PreparedCorpus(np.array(kept, np.int64), report["pairs_read"], notes, report)


def _words_of(
    block: ParallelLines, sources: tuple[TextSource, TextSource], notes: Notes
) -> list[tuple[list[bytes], list[bytes]]]:
    """Prepare, check and split the lines of a block."""
    sides = []
    for source, lines in zip(sources, (block.source, block.target), strict=True):
        if (preprocess := source.preprocessor) is not None:
            if source.settings.tokenize:
                check_raw_text(lines, source.path, block.first, notes)
            numbered = enumerate(lines, block.first)
            texts = [decode_line(line, source.path, number) for number, line in numbered]
            prepared = [preprocess(text).encode("utf-8") for text in texts]
        else:
            prepared = lines
        check_taken_text(prepared, source.path, block.first, notes)
        # bytes.split() parts at ASCII blanks only; U+00A0 and its like stay in their words
        sides.append([line.split() for line in prepared])
    return list(zip(*sides, strict=True))


def _check_lengths(
    pair: tuple[list[bytes], list[bytes]], sources: tuple[TextSource, TextSource], line: int
) -> None:
    """Refuse a sentence that no later step could use, where cleaning does not leave it out."""
    for words, source in zip(pair, sources, strict=True):
        if not words:
            problem = "the sentence is empty"
            remedy = (
                "remove the line from both files (and from the alignment), or do not give "
                "--no-cleaning, which would leave the pair out"
            )
        elif len(words) > MOST_WORDS:
            problem = f"a sentence of {len(words):,} words, more than {MOST_WORDS:,}"
            remedy = "break it up, or do not give --no-cleaning"
        else:
            continue
        raise CorpusError(problem, path=source.path, line=line, remedy=remedy)


def _nothing_left(left_out: Mapping[str, Mapping[str, int]], path: str | Path) -> CorpusError:
    counts = ", ".join(f"{entry['pairs']:,} {reason}" for reason, entry in left_out.items())
    remedy = "allow longer sentences with --max-sentence-length"
    if left_out.keys() == {Reason.EMPTY.value}:
        remedy = "give two files with a sentence per line"
    return CorpusError(f"no sentence pair is left: {counts}", path=path, remedy=remedy)
