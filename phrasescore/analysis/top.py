"""Tables 2 and 3 of Cho et al. (2014): the targets that table and model prefer, and samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.table_lines import (
    Counts,
    LowestItems,
    probabilities,
    random_numbers,
    source_counts,
)
from phrasescore.errors import CorpusError, ModelError, PhraseTableError
from phrasescore.generation.phrase_output import phrase_texts
from phrasescore.generation.sampling import Sampling
from phrasescore.generation.targets import SampleSettings, TargetGenerator, TargetSettings
from phrasescore.model.folder import LoadedModel
from phrasescore.runs.progress import Progress
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, read_source_runs
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import Side, phrase_tokens, scored_tokens
from phrasescore.words.token_sequences import TokenSequences, from_lists

# why a source was chosen; "long" where the table has no counts
Group: TypeAlias = Literal["frequent", "rare", "long", "given"]
DRAWN: tuple[Group, ...] = ("frequent", "rare", "long")


@dataclass(frozen=True)
class TopSettings:
    """Which sources to draw, and how many targets of each to show.

    Args:
        phrases: Number of sources to draw for each group.
        min_words: Minimum number of words of a source.
        min_targets: Minimum number of targets in the table; one target leaves nothing to rank.
        frequent: Minimum extraction count of a frequent source.
        rare: Maximum extraction count of a rare source.
        seed: Seed of the draw and of the samples.
        best: Number of targets in the table's list and in the model's list.
        samples: Number of targets to sample from the model for each source.
        best_samples: Number of distinct samples to show.
        unknown: Whether a sample may contain ``<unk>``.
    """

    phrases: int = 10
    min_words: int = 4
    min_targets: int = 2
    frequent: int = 10
    rare: int = 3
    seed: int = 1
    best: int = 3
    samples: int = 50
    best_samples: int = 5
    unknown: bool = True


@dataclass(frozen=True)
class TableTarget:
    """A target of a source in the table.

    Args:
        target: Tokens, separated by single blanks.
        words: The words that a model sees.
        p: p(target | source) by the table.
    """

    target: bytes
    words: tuple[bytes, ...]
    p: float


@dataclass(frozen=True)
class ChosenSource:
    """A source phrase with all its targets in the table.

    Args:
        group: Why the source was chosen.
        source: Tokens, separated by single blanks.
        words: The words that a model sees.
        count: Extraction count, ``None`` if the table has no counts.
        candidates: Targets in the order of the table; none if the table lacks the source.
    """

    group: Group
    source: bytes
    words: tuple[bytes, ...]
    count: float | None
    candidates: tuple[TableTarget, ...]


def draw_sources(
    table: str | Path,
    column: int,
    factor: int,
    settings: TopSettings,
    lines_per_block: int = LINES_PER_BLOCK,
) -> tuple[list[ChosenSource], dict[Group, int]]:
    """Draw long sources of a table that have several targets: frequent ones and rare ones.

    Sources without counts form a group of their own, of which only the length is known.

    Args:
        table: A plain or gzip phrase table in the order of its sources' bytes, or ``-``.
        column: Number of the score that is p(target | source), counted from 1.
        factor: The factor of factored tokens that a model reads.
        settings: Which sources to draw.
        lines_per_block: Number of lines to hold in memory at a time.

    Returns:
        The sources, group by group, each group in the order of its bytes, and the number of
        sources that each group was drawn from.

    Raises:
        InputError: The table cannot be read, breaks its format or is not sorted.
        SettingsError: The table has no such score.
    """
    kept: dict[Group, LowestItems[ChosenSource]] = {
        name: LowestItems(settings.phrases) for name in DRAWN
    }
    among: dict[Group, int] = dict.fromkeys(DRAWN, 0)
    for block in _blocks(table, column, lines_per_block):
        begins, targets = block.run_offsets[:-1], np.diff(block.run_offsets)
        words = np.diff(block.token_spans("source", factor).offsets)[begins]
        long = np.flatnonzero((words >= settings.min_words) & (targets >= settings.min_targets))
        numbers = random_numbers(block.first_line + begins[long], settings.seed)
        counts = source_counts(block, begins[long])
        groups: dict[Group, NDArray[np.bool_]] = {
            "frequent": counts >= settings.frequent,
            "rare": counts <= settings.rare,
            "long": np.isnan(counts),
        }
        for group, members in groups.items():
            among[group] += int(members.sum())
            rows = kept[group].candidates(np.where(members, numbers, np.inf))
            sources = (_chosen(block, run, group, column, factor) for run in long[rows].tolist())
            kept[group].add(numbers[rows], sources)
    drawn = [sorted(kept[name].items(), key=lambda each: each.source) for name in DRAWN]
    return list(itertools.chain(*drawn)), among


def find_sources(
    table: str | Path,
    column: int,
    factor: int,
    wanted: list[bytes],
    lines_per_block: int = LINES_PER_BLOCK,
) -> tuple[list[ChosenSource], dict[Group, int]]:
    """Look up given sources in a table, as `draw_sources` draws some.

    Args:
        table: As in `draw_sources`, likewise the next two and the last.
        column: Number of the score.
        factor: The factor.
        wanted: Phrases, their words separated by single blanks.
        lines_per_block: Number of lines.

    Returns:
        The sources in the order of ``wanted``; one that the table lacks has no candidates.

    Raises:
        InputError: The table cannot be read, breaks its format or is not sorted.
        SettingsError: The table has no such score.
    """
    sources = {
        phrase: ChosenSource(
            "given", phrase, tuple(scored_tokens(phrase, "source", factor)), None, ()
        )
        for phrase in wanted
    }
    found = 0
    for block in _blocks(table, column, lines_per_block):
        for run, begin in enumerate(block.run_offsets[:-1].tolist()):
            phrase = block.source(begin)
            if phrase in sources:
                sources[phrase] = _chosen(block, run, "given", column, factor)
                found += 1
    return list(sources.values()), {"given": found}


def _blocks(table: str | Path, column: int, lines: int) -> Iterator[TableBlock]:
    """Yield blocks of whole sources whose scores have been checked."""
    with Progress("reading the table", unit="lines") as progress:
        for block in read_source_runs(table, lines):
            probabilities(block, column)
            yield block
            progress.advance(len(block))


def _chosen(block: TableBlock, run: int, group: Group, column: int, factor: int) -> ChosenSource:
    """Return source number ``run`` of a block with its targets."""
    begin, end = block.run_offsets[run : run + 2].tolist()
    p: NDArray[np.float64] = block.score_column(column)[begin:end]
    entries = [block.entry(row) for row in range(begin, end)]

    def words(phrase: bytes, row: int, side: Side) -> tuple[bytes, ...]:
        try:
            hierarchical = block.format.hierarchical
            return tuple(scored_tokens(phrase, side, factor, hierarchical=hierarchical))
        except PhraseTableError as error:
            raise error.at(block.path, block.first_line + row) from None

    candidates = tuple(
        TableTarget(_joined(entry.target), words(entry.target, row, "target"), float(value))
        for row, (entry, value) in enumerate(zip(entries, p, strict=True), begin)
    )
    first, counts = entries[0], Counts.parse(entries[0].counts)
    return ChosenSource(
        group,
        _joined(first.source),
        words(first.source, begin, "source"),
        None if counts is None else counts.source,
        candidates,
    )


def _joined(phrase: bytes) -> bytes:
    return b" ".join(phrase_tokens(phrase))


def read_sources(path: str | Path) -> list[bytes]:
    """Read distinct source phrases, one a line, their words separated by single blanks.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line has no phrase.
    """
    phrases: dict[bytes, None] = {}
    for number, line in enumerate(read_lines(path), 1):
        phrase = _joined(line.rstrip(b"\r"))
        if not phrase:
            raise CorpusError(
                "the source phrase is empty", path=path, line=number, remedy="delete the line"
            )
        phrases[phrase] = None
    return list(phrases)


@dataclass(frozen=True)
class Preferred:
    """A target in a list.

    Args:
        target: Tokens, separated by single blanks.
        value: What the list is ranked by: p in the table's list, ln p in the model's lists.
        times: Number of times the target was sampled; 1 in the other lists.
    """

    target: bytes
    value: float
    times: int = 1


@dataclass(frozen=True)
class Preferences:
    """The ranked targets of one source, the best first.

    Args:
        source: The source, with all its candidates.
        by_table: The best candidates by p(target | source) of the table.
        by_model: The best candidates by ln p(target | source) of the model.
        samples: The best distinct samples by ln p(target | source) of the model.
    """

    source: ChosenSource
    by_table: tuple[Preferred, ...]
    by_model: tuple[Preferred, ...]
    samples: tuple[Preferred, ...]


def find_preferences(
    loaded: LoadedModel,
    sources: Sequence[ChosenSource],
    settings: TopSettings,
    device: str = "auto",
) -> tuple[Preferences, ...]:
    """Rank the candidates of each source, and sample targets from the model.

    Candidates of equal values stay in the order of the table. The samples of a source depend on the
    seed and on the position of the source in ``sources``.

    Args:
        loaded: A model that reads sources.
        sources: Sources with their candidates.
        settings: Numbers of targets and samples.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        ModelError: The model returns a value that is not a log-probability.
    """
    if not sources:
        return ()
    encode = loaded.source_vocabulary.encode
    ids = from_lists([encode(source.words) for source in sources])
    ln_p = _score_candidates(loaded, sources, ids, device)
    samples = _sample(loaded, ids, settings, device)
    return tuple(
        Preferences(
            source,
            _best(source, [candidate.p for candidate in source.candidates], settings.best),
            _best(source, by_model.tolist(), settings.best),
            sampled,
        )
        for source, by_model, sampled in zip(sources, ln_p, samples, strict=True)
    )


def _score_candidates(
    loaded: LoadedModel, sources: Sequence[ChosenSource], ids: TokenSequences, device: str
) -> list[NDArray[np.float64]]:
    """Return the model's ln p of the candidates of each source."""
    counts = [len(source.candidates) for source in sources]
    encode = loaded.target_vocabulary.encode
    targets = from_lists([encode(each.words) for source in sources for each in source.candidates])
    rows = np.repeat(np.arange(len(sources)), counts)
    ln_p = SharedScorer(loaded.model, device).score(ids.select(rows), targets)
    if np.isnan(ln_p).any():
        raise ModelError(
            "the model gives no numbers for a source",
            remedy="train it again; its parameters are not finite",
        )
    return np.split(ln_p, np.cumsum(counts)[:-1])


def _sample(
    loaded: LoadedModel, ids: TokenSequences, settings: TopSettings, device: str
) -> list[tuple[Preferred, ...]]:
    """Return the best samples of each source."""
    how_many = SampleSettings(settings.samples, settings.seed, best=settings.best_samples)
    method = Sampling(how_many, TargetSettings(unknown=settings.unknown))
    targets = TargetGenerator(loaded.model, method, device).targets(ids)
    texts = phrase_texts(targets.words, loaded.target_vocabulary)
    rows = zip(texts, targets.ln_p.tolist(), targets.counts.tolist(), strict=True)
    preferred = list(itertools.starmap(Preferred, rows))
    return [tuple(preferred[a:b]) for a, b in itertools.pairwise(targets.offsets.tolist())]


def _best(source: ChosenSource, values: list[float], limit: int) -> tuple[Preferred, ...]:
    """Return the candidates with the highest values; of equal values the first ones."""
    order = sorted(range(len(values)), key=lambda row: -values[row])[:limit]
    return tuple(Preferred(source.candidates[row].target, values[row]) for row in order)
