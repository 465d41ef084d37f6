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
from phrasescore.table.phrase_table import phrase_tokens, scored_tokens
from phrasescore.words.token_sequences import TokenSequences, from_lists

# why a source was taken; "long" where the table has no counts
Group: TypeAlias = Literal["frequent", "rare", "long", "given"]
DRAWN: tuple[Group, ...] = ("frequent", "rare", "long")


@dataclass(frozen=True)
class DrawSettings:
    """Which sources to draw.

    Args:
        phrases: How many of each group.
        min_words: The least words of a source.
        min_targets: The least targets that the table has for it: one leaves nothing to choose.
        frequent: How often a frequent source was extracted at least.
        rare: How often a rare one was at most.
        seed: For the random numbers.
    """

    phrases: int = 10
    min_words: int = 4
    min_targets: int = 2
    frequent: int = 10
    rare: int = 3
    seed: int = 1


@dataclass(frozen=True)
class TableTarget:
    """One target of a source in the table.

    Args:
        target: Its tokens, a blank between them.
        words: What a model sees of them.
        p: p(target | source) by the table.
    """

    target: bytes
    words: tuple[bytes, ...]
    p: float


@dataclass(frozen=True)
class DrawnSource:
    """A source phrase with all targets of the table.

    Args:
        group: Why it was taken.
        source: Its tokens, a blank between them.
        words: What a model sees of them.
        count: How often it was extracted, where the table says so.
        candidates: Its targets in the order of the table; none where the table lacks it.
    """

    group: Group
    source: bytes
    words: tuple[bytes, ...]
    count: float | None
    candidates: tuple[TableTarget, ...]


@dataclass(frozen=True)
class Draw:
    """What was drawn.

    Args:
        sources: Of each group together, in the order of their bytes; given ones as given.
        among: How many sources each group was drawn from.
    """

    sources: tuple[DrawnSource, ...]
    among: dict[Group, int]


def draw_sources(
    table: str | Path,
    column: int,
    factor: int,
    settings: DrawSettings,
    lines_per_block: int = LINES_PER_BLOCK,
) -> Draw:
    """Draw long sources of a table that have several targets: frequent ones and rare ones.

    A source without counts is drawn from the group of those, which have only length in common.

    Args:
        table: A plain or gzip phrase table in the order of its sources' bytes, or ``-``.
        column: The score that is p(target | source), counted from 1.
        factor: Which factor of a token a model sees.
        settings: Which to draw.
        lines_per_block: How many lines to hold at a time.

    Raises:
        InputError: The table cannot be read, breaks its format or is not sorted.
        SettingsError: It has no such score.
    """
    kept: dict[Group, LowestItems[DrawnSource]] = {
        name: LowestItems(settings.phrases) for name in DRAWN
    }
    among: dict[Group, int] = dict.fromkeys(DRAWN, 0)
    for block in _blocks(table, lines_per_block):
        probabilities(block, column)
        begins = block.run_offsets[:-1]
        words = np.diff(block.token_spans("source", factor).offsets)[begins]
        targets = np.diff(block.run_offsets)
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
            for row in kept[group].candidates(np.where(members, numbers, np.inf)).tolist():
                drawn = _drawn(block, int(long[row]), group, column, factor)
                place = block.first_line + int(begins[long[row]])
                kept[group].offer(float(numbers[row]), place, drawn)
    sources = [sorted(kept[name].items(), key=lambda each: each.source) for name in DRAWN]
    return Draw(tuple(source for group in sources for source in group), among)


def find_sources(
    table: str | Path,
    column: int,
    factor: int,
    wanted: list[bytes],
    lines_per_block: int = LINES_PER_BLOCK,
) -> Draw:
    """Look for given sources in a table; one that it lacks has no candidates.

    Args:
        table: See `draw_sources`.
        column: See `draw_sources`.
        factor: See `draw_sources`.
        wanted: Phrases, a blank between their words.
        lines_per_block: See `draw_sources`.

    Raises:
        InputError: The table cannot be read, breaks its format or is not sorted.
        SettingsError: It has no such score.
    """
    lacking = set(wanted)
    found: dict[bytes, DrawnSource] = {}
    for block in _blocks(table, lines_per_block):
        probabilities(block, column)
        for run, begin in enumerate(block.run_offsets[:-1].tolist()):
            phrase = block.source(begin)
            if phrase in lacking:
                found[phrase] = _drawn(block, run, "given", column, factor)
    among: dict[Group, int] = {"given": len(found)}
    for phrase in wanted:
        if phrase not in found:
            words = tuple(scored_tokens(phrase, "source", factor))
            found[phrase] = DrawnSource("given", phrase, words, None, ())
    return Draw(tuple(found[phrase] for phrase in wanted), among)


def _blocks(table: str | Path, lines: int) -> Iterator[TableBlock]:
    with Progress("reading the table", unit="lines") as progress:
        for block in read_source_runs(table, lines):
            yield block
            progress.advance(len(block))


def _drawn(block: TableBlock, run: int, group: Group, column: int, factor: int) -> DrawnSource:
    """Return a source of a block with its targets."""
    begin, end = block.run_offsets[run : run + 2].tolist()
    p: NDArray[np.float64] = block.score_column(column)[begin:end]
    entries = [block.entry(row) for row in range(begin, end)]
    hierarchical = block.format.hierarchical

    def seen(phrase: bytes, row: int, side: Literal["source", "target"]) -> tuple[bytes, ...]:
        try:
            return tuple(scored_tokens(phrase, side, factor, hierarchical=hierarchical))
        except PhraseTableError as error:
            raise error.at(block.path, block.first_line + row) from None

    candidates = tuple(
        TableTarget(_joined(entry.target), seen(entry.target, row, "target"), float(value))
        for row, (entry, value) in enumerate(zip(entries, p, strict=True), begin)
    )
    first = entries[0]
    counts = Counts.parse(first.counts)
    return DrawnSource(
        group,
        _joined(first.source),
        seen(first.source, begin, "source"),
        None if counts is None else counts.source,
        candidates,
    )


def _joined(phrase: bytes) -> bytes:
    return b" ".join(phrase_tokens(phrase))


def read_phrases(path: str | Path) -> list[bytes]:
    """Read source phrases, one a line, a blank between their words; one that stands twice is one.

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
class PreferenceSettings:
    """How much to show.

    Args:
        best: Targets by the table and by the model.
        samples: How many targets of a source are drawn.
        best_samples: Distinct ones of them to show.
        seed: For the samples.
        unknown: Whether a sample may have ``<unk>``.
    """

    best: int = 3
    samples: int = 50
    best_samples: int = 5
    seed: int = 1
    unknown: bool = True


@dataclass(frozen=True)
class Preferred:
    """One target in a list.

    Args:
        target: Its tokens, a blank between them.
        value: What it is ranked by: p in the list of the table, ln p in those of the model.
        times: How often it was drawn; 1 in other lists.
    """

    target: bytes
    value: float
    times: int = 1


@dataclass(frozen=True)
class Preferences:
    """The lists of one source, the best target first.

    Args:
        source: The source, with all its candidates.
        by_table: The best candidates by p(target | source) of the table.
        by_model: The best candidates by ln p(target | source) of the model.
        samples: The best distinct samples by ln p(target | source) of the model.
    """

    source: DrawnSource
    by_table: tuple[Preferred, ...]
    by_model: tuple[Preferred, ...]
    samples: tuple[Preferred, ...]


def find_preferences(
    loaded: LoadedModel,
    sources: Sequence[DrawnSource],
    settings: PreferenceSettings,
    device: str = "auto",
) -> tuple[Preferences, ...]:
    """Rank the candidates of some sources, and let a model write targets of its own.

    Candidates of equal values stay in the order of the table. The samples of a source depend on the
    seed and on its place among the sources.

    Args:
        loaded: A model that reads sources.
        sources: Drawn or given ones.
        settings: How much to show.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        ModelError: The model gives something that is not a log-probability.
    """
    if not sources:
        return ()
    encode = loaded.source_vocabulary.encode
    ids = from_lists([encode(source.words) for source in sources])
    ln_p = _candidates(loaded, sources, ids, device)
    samples = _samples(loaded, ids, settings, device)
    return tuple(
        Preferences(
            source,
            _best(source, [candidate.p for candidate in source.candidates], settings.best),
            _best(source, of_model.tolist(), settings.best),
            drawn,
        )
        for source, of_model, drawn in zip(sources, ln_p, samples, strict=True)
    )


def _candidates(
    loaded: LoadedModel, sources: Sequence[DrawnSource], ids: TokenSequences, device: str
) -> list[NDArray[np.float64]]:
    """Return ln p of the candidates of each source."""
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


def _samples(
    loaded: LoadedModel, ids: TokenSequences, settings: PreferenceSettings, device: str
) -> list[tuple[Preferred, ...]]:
    """Return the best samples of each source."""
    drawn = SampleSettings(settings.samples, settings.seed, best=settings.best_samples)
    method = Sampling(drawn, TargetSettings(unknown=settings.unknown))
    targets = TargetGenerator(loaded.model, method, device).targets(ids)
    texts = phrase_texts(targets.words, loaded.target_vocabulary)
    rows = zip(texts, targets.ln_p.tolist(), targets.counts.tolist(), strict=True)
    preferred = list(itertools.starmap(Preferred, rows))
    return [tuple(preferred[a:b]) for a, b in itertools.pairwise(targets.offsets.tolist())]


def _best(source: DrawnSource, values: list[float], most: int) -> tuple[Preferred, ...]:
    """Return the candidates of the greatest values, of equal ones those that come first."""
    order = sorted(range(len(values)), key=lambda row: -values[row])[:most]
    return tuple(Preferred(source.candidates[row].target, values[row]) for row in order)
