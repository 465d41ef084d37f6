"""Tables 2 and 3 of Cho et al. (2014): the targets that table and model prefer, and samples."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.table_lines import LowestItems, probabilities
from phrasescore.generation.phrase_output import phrase_texts
from phrasescore.generation.sampling import Sampling
from phrasescore.generation.targets import SampleSettings, TargetGenerator, TargetSettings
from phrasescore.model.folder import LoadedModel
from phrasescore.runs.progress import with_progress
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.table.block import TableBlock, read_source_runs
from phrasescore.table.phrase_table import SIDES, phrase_tokens
from phrasescore.words.token_sequences import TokenSequences, concatenated, offsets_of

# the reason for choosing a source: frequent, rare, or, in a table without counts, just long
Group: TypeAlias = Literal["frequent", "rare", "long"]
_BEST = 3  # targets in the table's list and in the model's list
_BEST_SAMPLES = 5  # distinct samples of a source to show
_TITLES: dict[Group, str] = {
    "frequent": "Long, frequent source phrases",
    "rare": "Long, rare source phrases",
    "long": "Long source phrases, of a table without counts",
}
_HEADER = ("source", "by the table", "by the model", "samples of the model")
# characters with a meaning in Markdown or HTML, as character references
_SPECIAL = str.maketrans({letter: f"&#{ord(letter)};" for letter in "&<>|[]*_`\\~$"})


@dataclass(frozen=True)
class TopSettings:
    """Settings for drawing sources, and for the targets to show for each source.

    Args:
        phrases: Number of sources to draw for each group.
        min_words: Minimum number of words of a source.
        min_targets: Minimum number of targets of a source; a single target cannot be ranked.
        frequent: Minimum extraction count of a frequent source.
        rare: Maximum extraction count of a rare source.
        column: Index of the score that is p(target | source), counted from 1.
        samples: Number of targets to sample from the model for each source.
        seed: Seed of the draw and of the samples.
    """

    phrases: int = 10
    min_words: int = 4
    min_targets: int = 2
    frequent: int = 10
    rare: int = 3
    column: int = 3
    samples: int = 50
    seed: int = 1


@dataclass(frozen=True)
class ChosenSource:
    """A source phrase with all its targets in the table.

    Args:
        group: The reason for choosing the source.
        count: Extraction count, ``nan`` if the table has no counts.
        lines: All lines of the table with this source.
    """

    group: Group
    count: float
    lines: TableBlock

    @property
    def source(self) -> bytes:
        """The tokens of the source, separated by single blanks."""
        return _joined(self.lines.source(0))

    @property
    def candidates(self) -> list[bytes]:
        """The targets in the order of the table, tokens separated by single blanks."""
        return [_joined(self.lines.entry(row).target) for row in range(len(self.lines))]


def draw_sources(
    table: str | Path, factor: int, settings: TopSettings
) -> tuple[list[ChosenSource], dict[Group, int]]:
    """Draw long sources of a table that have several targets: frequent ones and rare ones.

    Sources without counts form a separate group of long sources.

    Args:
        table: A plain or gzip phrase table in the order of its sources' bytes, or ``-``.
        factor: The factor that a model reads in factored tokens.
        settings: Settings of the draw.

    Returns:
        The sources, group by group, each group in byte order, and the number of sources that each
        group was drawn from.

    Raises:
        InputError: The table cannot be read, violates its format or is not sorted.
        SettingsError: The table has no such score.
    """
    kept: dict[Group, LowestItems[ChosenSource]] = {
        name: LowestItems(settings.phrases) for name in _TITLES
    }
    among: dict[Group, int] = dict.fromkeys(_TITLES, 0)
    rng = np.random.default_rng(settings.seed)
    for block in with_progress("reading the table", read_source_runs(table)):
        probabilities(block, settings.column)  # checks the scores
        begins, ends = block.run_offsets[:-1], block.run_offsets[1:]
        words = np.diff(block.token_spans("source", factor).offsets)[begins]
        is_long = (words >= settings.min_words) & (ends - begins >= settings.min_targets)
        long = np.column_stack([begins, ends])[is_long]  # (sources, 2)
        keys = rng.random(len(block))[long[:, 0]]
        counts = np.array([_source_count(block, row) for row in long[:, 0].tolist()])
        groups: dict[Group, NDArray[np.bool_]] = {
            "frequent": counts >= settings.frequent,
            "rare": counts <= settings.rare,
            "long": np.isnan(counts),
        }
        for group, members in groups.items():
            among[group] += int(members.sum())
            rows = kept[group].candidates(np.where(members, keys, np.inf))
            sources = (
                ChosenSource(group, float(counts[row]), block.part(*long[row].tolist()))
                for row in rows
            )
            kept[group].add(keys[rows], sources)
    drawn = [sorted(kept[name].items(), key=lambda each: each.source) for name in _TITLES]
    return list(itertools.chain(*drawn)), among


def _source_count(block: TableBlock, row: int) -> float:
    """Return how often a line's source was extracted; ``nan`` if there are not 2 or 3 counts."""
    with contextlib.suppress(ValueError):
        counts = [float(token) for token in phrase_tokens(block.entry(row).counts)]
        if len(counts) in (2, 3) and all(0 <= count < math.inf for count in counts):
            return counts[1]
    return math.nan


def _joined(phrase: bytes) -> bytes:
    return b" ".join(phrase_tokens(phrase))


@dataclass(frozen=True)
class Preferred:
    """A target in a list.

    Args:
        target: Tokens, separated by single blanks.
        value: The value that ranks the list: p of the table, or ln p of the model.
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
    loaded: LoadedModel, sources: Sequence[ChosenSource], settings: TopSettings, device: str
) -> list[Preferences]:
    """Rank the candidates of each source, and sample targets from the model.

    Candidates of equal values stay in the order of the table. The samples of a source depend on the
    seed and on the position of the source in ``sources``.

    Args:
        loaded: A model that reads sources.
        sources: Sources with their candidates.
        settings: Numbers of targets and samples.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        PhraseTableError: A token lacks the factor that the model reads.
        ModelError: The model returns a value that is not a log-probability.
    """
    if not sources:
        return []
    factor = loaded.settings.factor
    ids = [loaded.encode([each.lines.token_spans(s, factor) for s in SIDES]) for each in sources]
    read, predicted = map(concatenated, zip(*ids, strict=True))
    ln_p = SharedScorer(loaded.model, device).score(read, predicted)
    begins = offsets_of([len(each.lines) for each in sources])
    samples = _sample(loaded, read.select(begins[:-1]), settings, device)
    p = [each.lines.score_column(settings.column) for each in sources]
    rows = zip(sources, p, np.split(ln_p, begins[1:-1]), samples, strict=True)
    return [
        Preferences(source, _best(source, by_table), _best(source, by_model), sampled)
        for source, by_table, by_model, sampled in rows
    ]


def _sample(
    loaded: LoadedModel, ids: TokenSequences, settings: TopSettings, device: str
) -> list[tuple[Preferred, ...]]:
    """Return the best samples of each source."""
    how_many = SampleSettings(settings.samples, settings.seed, best=_BEST_SAMPLES)
    method = functools.partial(Sampling, how_many, TargetSettings())
    targets = TargetGenerator(loaded.model, method, device).targets(ids)
    texts = phrase_texts(targets.words, loaded.target_vocabulary)
    rows = zip(texts, targets.ln_p.tolist(), targets.counts.tolist(), strict=True)
    preferred = list(itertools.starmap(Preferred, rows))
    return [tuple(preferred[a:b]) for a, b in itertools.pairwise(targets.offsets.tolist())]


def _best(source: ChosenSource, values: NDArray[np.float64]) -> tuple[Preferred, ...]:
    """Return the targets with the highest values; among equal values, the first are taken."""
    targets = source.candidates
    order = np.argsort(-values, kind="stable")[:_BEST].tolist()
    return tuple(Preferred(targets[row], float(values[row])) for row in order)


# -- results -----------------------------------------------------------------------------------


def markdown(preferences: Iterable[Preferences]) -> bytes:
    """Return tables in the layout of the paper's tables, one for each group of sources."""
    tables = []
    for group, members in itertools.groupby(preferences, key=lambda each: each.source.group):
        lines = [f"**{_TITLES[group]}**", "", _row(_HEADER), _row(["---"] * len(_HEADER))]
        for each in members:
            cells = (each.by_table, each.by_model, each.samples)
            lines.append(_row([_shown(each.source.source), *map(_cell, cells)]))
        tables.append("".join(f"{line}\n" for line in lines))
    return "\n".join(tables).encode()


def json_values(preferences: Iterable[Preferences]) -> list[dict[str, object]]:
    """Return all lists as JSON values; bytes that are not UTF-8 become escapes."""

    def listed(ranked: Iterable[Preferred], name: str) -> list[dict[str, object]]:
        return [{"target": _text(each.target), name: each.value} for each in ranked]

    return [
        {
            "group": each.source.group,
            "source": _text(each.source.source),
            "count": None if math.isnan(each.source.count) else each.source.count,
            "candidates": len(each.source.lines),
            "by_table": listed(each.by_table, "p"),
            "by_model": listed(each.by_model, "ln_p"),
            "samples": [
                {"target": _text(s.target), "ln_p": s.value, "times": s.times} for s in each.samples
            ],
        }
        for each in preferences
    ]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(ranked: Iterable[Preferred]) -> str:
    return "<br>".join(
        _shown(each.target) + (f" (×{each.times})" if each.times > 1 else "") for each in ranked
    )


def _shown(phrase: bytes) -> str:
    """Escape a phrase so that Markdown shows all its characters as they are."""
    return _text(phrase).translate(_SPECIAL)


def _text(phrase: bytes) -> str:
    return phrase.decode("utf-8", "backslashreplace")
