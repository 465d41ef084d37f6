"""Writes phrase tables with a model's targets, which replace the old pairs or are added to them.

A decoder needs all scores of every pair, but the model computes only one score. Therefore, for each
old score, a new pair gets the geometric mean of this score over the table's pairs with the same
source; this mean neither favours nor penalises the new pair. Two more scores follow:
p(target | source) by the model, and a flag, which is e for a new pair and 1 for a pair of the
table, so that tuning can find a weight for new pairs.

If a pair has no line in the lexicalised reordering table, a decoder gives it the score 0, which is
the best possible. Therefore a new pair gets a line with the means over all lines of its source; the
means are again a distribution over orientations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, PhraseTableError, visible
from phrasescore.generation.phrase_output import phrase_texts
from phrasescore.generation.targets import TargetGenerator, Targets
from phrasescore.model.folder import LoadedModel
from phrasescore.runs.stream import BlockStream, LineCounts, StreamReport
from phrasescore.scoring.probability_column import count_texts, probability_texts
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.table.block import (
    TableBlock,
    TokenSpans,
    check_reordering,
    read_reordering_runs,
    read_source_runs,
)
from phrasescore.table.byte_scanning import BAR
from phrasescore.table.phrase_table import FLOOR_LN, SEPARATOR
from phrasescore.table.scanning import TARGET_END
from phrasescore.words.vocabulary import unknown_counts

_SHOWN = 60  # maximum number of characters of a phrase in a message
_OWN, _NEW = count_texts(np.array([0, 1]))  # flags; their logarithms are 0 and 1
# a killed run loses at most one block, which takes some seconds to compute
TABLE_LINES_PER_BLOCK = 4096


@dataclass(frozen=True)
class TableCounts(LineCounts):
    """Counts over the lines of a table so far.

    Args:
        lines: Lines read.
        sources: Distinct sources.
        without_targets: Sources without generated targets: they have words that the model does not
            know, or the model found only the empty target.
        generated: Pairs that the model generated.
        known: Generated pairs that are also in the table.
        kept: Lines of the table that were written.
        new: Written pairs that are not in the table.
    """

    sources: int = 0
    without_targets: int = 0
    generated: int = 0
    known: int = 0
    kept: int = 0
    new: int = 0

    def __str__(self) -> str:
        of_generated = self.known / self.generated if self.generated else 0.0
        of_lines = self.known / self.lines if self.lines else 0.0
        return (
            f"{self.generated:,} targets for {self.sources - self.without_targets:,} of "
            f"{self.sources:,} sources; {self.without_targets:,} have unknown words or no target, "
            "and keep their pairs\n"
            f"{self.known:,} of the targets are in the table: {of_generated:.1%} of the generated "
            f"pairs, {of_lines:.1%} of the table's {self.lines:,}\n"
            f"written: {self.kept:,} pairs of the table, {self.new:,} new pairs"
        )


@dataclass(frozen=True)
class TableWriter:
    """Writes blocks of a table; a block has all lines of each of its sources.

    Args:
        loaded: A model that reads sources.
        generator: Generates targets with the model.
        scorer: Scores the pairs of the table with the model.
        extend: Whether to keep all pairs of the table; otherwise only a source with unknown words
            keeps pairs that the model did not generate.
    """

    loaded: LoadedModel
    generator: TargetGenerator
    scorer: SharedScorer
    extend: bool

    def write(self, block: TableBlock, before: TableCounts) -> tuple[bytes, TableCounts]:
        """Return the lines for one block, and the counts up to its end.

        Args:
            block: Lines of the table, with all lines of each source.
            before: The counts of all blocks before this one.

        Raises:
            PhraseTableError: The table has rules, or tokens with several factors.
        """
        target_spans = block.token_spans("target", 0)
        _refuse_rules_and_factors(block, target_spans)
        source_ids = self.loaded.source_vocabulary.encode_spans(block.token_spans("source", 0))
        target_ids = self.loaded.target_vocabulary.encode_spans(target_spans)
        firsts = block.run_offsets[:-1]
        sources = source_ids.select(firsts)
        unknown = unknown_counts(sources) > 0
        asked = np.flatnonzero(~unknown)
        generated = [dict[bytes, bytes]() for _ in firsts]
        if len(asked):
            found = self.generator.targets(sources.select(asked), before.sources)
            for row, texts in zip(asked.tolist(), self._texts(found), strict=True):
                generated[row] = texts
        p = probability_texts(self.scorer.score(source_ids, target_ids))
        lines = _lines(block.with_appended_scores([p, [_OWN] * len(block)]))
        estimates = _estimates(block)
        written: list[bytes] = []
        known = new = 0
        runs = itertools.pairwise(block.run_offsets.tolist())
        for (begin, end), wanted, estimate in zip(runs, generated, estimates, strict=True):
            targets = [b" ".join(target_spans.tokens(line)) for line in range(begin, end)]
            pairs = [
                (target, line)
                for target, line in zip(targets, lines[begin:end], strict=True)
                if self.extend or not wanted or target in wanted
            ]
            known += len(wanted.keys() & targets)
            for target in wanted.keys() - targets:
                scores = b" ".join((estimate, wanted[target], _NEW))
                line = SEPARATOR.join((block.source(begin), target, scores)) + b"\n"
                pairs.append((target, line))
                new += 1
            # Moses sorts by the bytes of the target and of the separator that follows it
            pairs.sort(key=lambda pair: pair[0] + SEPARATOR)
            written += [line for _, line in pairs]
        counts = before + TableCounts(
            lines=len(block),
            sources=len(firsts),
            without_targets=sum(not targets for targets in generated),
            generated=sum(map(len, generated)),
            known=known,
            kept=len(written) - new,
            new=new,
        )
        return b"".join(written), counts

    def _texts(self, found: Targets) -> Iterator[dict[bytes, bytes]]:
        """Yield the targets of each source with their probabilities, without an empty target."""
        texts = phrase_texts(found.words, self.loaded.target_vocabulary)
        for phrase in texts:
            if b"|" in phrase:
                raise CorpusError(
                    f"the phrase {visible(phrase, _SHOWN)!r} has a bar, which separates columns "
                    "and factors of a phrase table",
                    remedy="train the model on text in which bars are escaped (phrasescore "
                    "preprocess)",
                )
        p = probability_texts(found.ln_p)
        for a, b in itertools.pairwise(found.offsets.tolist()):
            yield {text: x for text, x in zip(texts[a:b], p[a:b], strict=True) if text}


def _lines(text: bytes) -> list[bytes]:
    """Return lines with line feeds; add a line feed to the last line if it has none."""
    return [line + b"\n" for line in text.removesuffix(b"\n").split(b"\n")]


def _estimates(block: TableBlock) -> list[bytes]:
    """Return a new pair's old scores for each source: geometric means over the source's pairs."""
    with np.errstate(divide="ignore"):
        ln = np.maximum(np.log(block.score_values), FLOOR_LN)
    # the means may exceed 1, because some tables contain counts as e^n
    return _score_texts(np.exp(_means(block, ln)))


def _score_texts(scores: NDArray[np.float64]) -> list[bytes]:
    """Return the text of the scores in each row."""
    return [b" ".join(b"%.6g" % score for score in row) for row in scores.tolist()]


def _refuse_rules_and_factors(block: TableBlock, targets: TokenSpans) -> None:
    """Raise an error if the table has rules or factors, which the model cannot generate."""
    if block.format.hierarchical:
        raise PhraseTableError(
            "the table has hierarchical rules, but a phrase model cannot write gaps",
            path=block.path,
            remedy="give a table of plain phrase pairs",
        )
    # spans of tokens end after the first factor, so a bar there, inside the column, means that
    # another factor follows
    lines = np.repeat(np.arange(len(block)), np.diff(targets.offsets))
    inside = targets.ends < block.spans[lines, TARGET_END]
    factored = lines[inside & (block.data[targets.ends] == BAR)]
    if len(factored):
        problem = "a token with factors, but the model writes words with one factor"
        raise block.error(int(factored[0]), problem, "give a table without factors")


@dataclass(frozen=True)
class ReorderingCounts(LineCounts):
    """Counts over a written reordering table.

    Args:
        lines: Pairs of the phrase table.
        kept: Lines that were copied from the old table.
        estimated: Lines for new pairs.
        without: Pairs without a line, because the old table lacks their source.
    """

    kept: int = 0
    estimated: int = 0
    without: int = 0

    def to_json(self) -> dict[str, int]:
        """Return the counts as JSON values."""
        return {"kept": self.kept, "estimated": self.estimated, "without": self.without}

    def __str__(self) -> str:
        text = f"reordering table: {self.kept:,} lines copied, {self.estimated:,} estimated"
        return text + (f"; {self.without:,} pairs have no line" if self.without else "")


def generate_reordering(
    old: str | Path, output: str | Path, phrase_table: str | Path
) -> ReorderingCounts:
    """Write a reordering table for the pairs of a phrase table.

    Args:
        old: A plain or gzip reordering table with source and target, sorted.
        output: The output; gzip if the name ends in ``.gz``.
        phrase_table: A plain or gzip phrase table, sorted.

    Raises:
        InputError: A table cannot be read, violates its format or is not sorted.
        SettingsError: The output cannot be written.
    """
    known = itertools.chain.from_iterable(map(_lines_and_means, read_reordering_runs(old)))
    found = next(known, None)

    def work(block: TableBlock, before: ReorderingCounts) -> tuple[bytes, ReorderingCounts]:
        nonlocal found
        lines: list[bytes] = []
        estimated = without = 0
        for source, targets in _runs(block):
            # both tables are sorted
            while found is not None and found[0] + SEPARATOR < source + SEPARATOR:
                found = next(known, None)
            if found is None or found[0] != source:
                without += len(targets)
                continue
            _, own, mean = found
            estimated += sum(target not in own for target in targets)
            for target in targets:
                made = SEPARATOR.join((source, target, mean)) + b"\n"
                lines.append(own.get(target, made))
        counts = before + ReorderingCounts(
            lines=len(block),
            kept=len(block) - estimated - without,
            estimated=estimated,
            without=without,
        )
        return b"".join(lines), counts

    stream = BlockStream(
        [phrase_table],
        None,
        lambda *_: read_source_runs(phrase_table),
        work,
        ReorderingCounts(),
        what="writing the reordering table",
    )
    return stream.write(output).counts


def _runs(block: TableBlock) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield each source of a block with its targets, in the order of the table."""
    spans = block.spans[:, 2:4].tolist()
    for begin, end in itertools.pairwise(block.run_offsets.tolist()):
        yield block.source(begin), [block.text[a:b] for a, b in spans[begin:end]]


def _lines_and_means(block: TableBlock) -> Iterator[tuple[bytes, dict[bytes, bytes], bytes]]:
    """Yield each source of a reordering table, the line of each target, and the mean scores."""
    lines = iter(_lines(block.text))
    means = _score_texts(_means(block, block.score_values))
    for (source, targets), mean in zip(_runs(block), means, strict=True):
        own = itertools.islice(lines, len(targets))
        yield source, dict(zip(targets, own, strict=True)), mean


def _means(block: TableBlock, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average ``(lines, scores)`` values over the lines of each source; return (runs, scores)."""
    sums = np.add.reduceat(values, block.run_offsets[:-1], axis=0)
    return sums / np.diff(block.run_offsets)[:, None]


def generate_table(
    path: str | Path,
    output: str | Path,
    writer: TableWriter,
    asked: dict[str, object],
    reordering: tuple[str | Path, str | Path] | None = None,
) -> tuple[StreamReport[TableCounts], ReorderingCounts | None]:
    """Write a phrase table with a model's targets for the sources of an existing phrase table.

    Args:
        path: A plain or gzip phrase table, sorted by the bytes of its sources, or ``-``.
        output: The output; gzip if the name ends in ``.gz``; ``-`` is standard output.
        writer: Writes a block.
        asked: Everything else that determines the output's bytes, as JSON values.
        reordering: The existing reordering table, and the reordering table to write for the output.
            If given, the output must be a file.

    Returns:
        The report on the phrase table, and the counts over the reordering table if it was written.

    Raises:
        InputError: A table cannot be read, violates its format or is not sorted.
        SettingsError: The output cannot be written.
        ModelError: A result of the model is not a number.
    """
    stream = BlockStream(
        [path],
        asked,
        lambda counts, _: read_source_runs(path, TABLE_LINES_PER_BLOCK, skip_lines=counts.lines),
        writer.write,
        TableCounts(),
        check=lambda: read_source_runs(path),
        what="generating",
        unit="lines",
    )
    if reordering:
        check_reordering(reordering[0])
    made: list[ReorderingCounts] = []

    def write_reordering(part: Path, _: TableCounts) -> None:
        # write this before the table gets its final name: if the run is killed here, the journal
        # still exists, and the table need not be generated again
        if reordering:
            made.append(generate_reordering(*reordering, part))

    done = stream.write(output, write_reordering)
    return done, made[0] if made else None
