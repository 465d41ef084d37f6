"""Computes the table of an experiment from the statistics of its runs, and formats the table."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from phrasescore.runs.identity import provenance
from phrasescore.runs.results import Count, Record
from tuning.experiment.experiment_settings import DEV, ExperimentSettings, ExperimentText
from tuning.experiment.plan import Plan, Run
from tuning.experiment.results import KeptText, SystemRun, TextStatistics
from tuning.metrics.metric_settings import TEST_SEED, TRIALS, ScoreTable, points, shown_p
from tuning.metrics.significance import ComparedSystem, compare_statistics
from tuning.metrics.system_comparison import ComparisonRecord

_NOTHING = "–"


@dataclass(frozen=True)
class _Comparisons:
    """Compares the systems of an experiment, which have translated the texts in some runs."""

    plan: Plan
    runs: Mapping[str, Sequence[SystemRun]]
    texts: Mapping[str, KeptText]

    def translated(self, name: str, text: str) -> list[SystemRun]:
        """Return the runs of a system that have translated a text."""
        return [run for run in self.runs.get(name, ()) if text in run.texts]

    def compared(self, name: str, other: str, text: str) -> ComparedSystem:
        """Compare a system with another system's runs of the same seeds; with all, if none is."""
        own = self.translated(name, text)
        first = self.translated(other, text) if other != name else []
        seeds = {run.seed for run in own}
        same = [run for run in first if run.seed in seeds]
        return _compared(
            name,
            tuple(run.texts[text] for run in own),
            tuple(run.texts[text] for run in same or first),
            self.texts[text].reference_lengths,
        )

    def record(self, text: ExperimentText) -> ComparisonRecord:
        """Compare the first system with every system that has translated a text."""
        plan, files = self.plan, dict[str, tuple[str, ...]]()
        for system in plan.settings.systems:
            if own := self.translated(system.name, text.name):
                paths = (Run(plan, system, run.seed).translation(text.name) for run in own)
                files[system.name] = tuple(map(str, paths))
        first = plan.settings.systems[0].name
        return ComparisonRecord(
            source=str(plan.data(text.source)),
            references=(str(plan.data(text.reference)),),
            sentences=len(self.texts[text.name].reference_lengths.split()) if files else 0,
            signatures={},
            trials=TRIALS,
            seed=TEST_SEED,
            files=files,
            metrics={"bleu": tuple(self.compared(name, first, text.name) for name in files)},
            notes=(),
        )


@dataclass(frozen=True)
class ExperimentRow:
    """One system of an experiment.

    Args:
        name: The name of the system.
        not_run: The reason why the row has no runs; empty for rows with runs.
        runs: The number of runs that the row will have.
        seeds: The seeds of the finished runs.
    """

    name: str
    not_run: str
    runs: Count
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class ExperimentPart:
    """The effect of one part of a system, while all other parts are present.

    Args:
        name: The name of the part.
        system: The row that has the part.
        without: The row that lacks the part.
        texts: For each text, by name, the comparison of the two rows.
    """

    name: str
    system: str
    without: str
    texts: dict[str, ComparedSystem]


@dataclass(frozen=True)
class ExperimentRecord(Record):
    """The record of ``experiment``.

    Args:
        name: The name of the experiment.
        settings: The content of the experiment file.
        systems: The rows of the table.
        texts: For each text, by name, the comparison of all systems with the first system.
        provenance: The provenance of the table.
        parts: The comparisons of rows with and without a part, in the order of the file.
    """

    kind: ClassVar[str] = "experiment"
    name: str
    settings: dict[str, object]
    systems: tuple[ExperimentRow, ...]
    texts: dict[str, ComparisonRecord]
    provenance: dict[str, object]
    parts: tuple[ExperimentPart, ...] = ()


def experiment_record(
    plan: Plan, runs: Mapping[str, Sequence[SystemRun]], texts: Mapping[str, KeptText]
) -> ExperimentRecord:
    """Compute all numbers of the table: compare each system with the first one on each text.

    Args:
        plan: The plan of the experiment.
        runs: The runs of each system that has runs, by its name.
        texts: The texts by name.
    """
    settings, comparisons = plan.settings, _Comparisons(plan, runs, texts)
    return ExperimentRecord(
        name=settings.name,
        settings=json.loads(json.dumps(dataclasses.asdict(settings), default=str)),
        systems=tuple(
            ExperimentRow(
                system.name,
                system.not_run,
                len(settings.runs(system)),
                tuple(run.seed for run in runs.get(system.name, ()) if run.seed is not None),
            )
            for system in settings.systems
        ),
        texts={text.name: comparisons.record(text) for text in plan.texts},
        provenance=provenance(inputs=[settings.file]),
        parts=tuple(
            ExperimentPart(
                part,
                system.name,
                without,
                {
                    text.name: comparisons.compared(system.name, without, text.name)
                    for text in plan.texts
                    if comparisons.translated(system.name, text.name)
                    and comparisons.translated(without, text.name)
                },
            )
            for system in settings.systems
            for part, without in system.parts.items()
        ),
    )


# cached, because the table is recomputed after each run although most rows are unchanged
@cache
def _compared(
    name: str, runs: tuple[TextStatistics, ...], first: tuple[TextStatistics, ...], lengths: str
) -> ComparedSystem:
    """Return the BLEU of a system's runs, and the gain over ``first`` if ``first`` has runs."""
    systems = {"": first, name: runs} if first else {name: runs}
    rows = {key: np.stack([run.matrix(lengths) for run in each]) for key, each in systems.items()}
    return compare_statistics("bleu", rows)[-1]


def markdown(settings: ExperimentSettings, record: ExperimentRecord) -> str:
    """Return the table as Markdown, with explanatory notes."""
    header = ["system", "dev BLEU"]
    for text in settings.data.test:
        header += [f"{text.name} BLEU", f"{text.name} gain", "95 % interval", "p"]
    cells = [_scores(settings, record, row) for row in record.systems]
    table = ScoreTable(header, cells).to_markdown()
    lines = [f"# {settings.name}", "", table, "\n\n".join(_notes(settings, record)), ""]
    if record.parts:
        note = "Gain, interval and p of the row that has the part over the row that lacks it."
        lines += ["## What each part is worth", "", _parts(settings, record).to_markdown()]
        lines += [note, ""]
    return "\n".join(lines)


def _parts(settings: ExperimentSettings, record: ExperimentRecord) -> ScoreTable:
    """Return a table with each part of a system and the part's gain on each test set."""
    header, cells = ["part", "of", "over"], []
    for text in settings.data.test:
        header += [f"{text.name} gain", "95 % interval", "p"]
    for part in record.parts:
        line = [part.name, part.system, part.without]
        for text in settings.data.test:
            score = part.texts.get(text.name)
            line += _score_cells(score)[1:] if score else ("not run", _NOTHING, _NOTHING)
        cells.append(line)
    return ScoreTable(header, cells)


def _scores(
    settings: ExperimentSettings, record: ExperimentRecord, row: ExperimentRow
) -> list[str]:
    """Return the name, the score on dev, and the four cells of each test set."""
    cells = [row.name]
    for text in settings.data.texts:
        compared = {each.system: each for each in record.texts[text.name].metrics["bleu"]}
        score = compared.get(row.name)
        mean, *gain = _score_cells(score) if score else ("not run", *[_NOTHING] * 3)
        cells += [mean] if text.name == DEV else [mean, *gain]
    return cells


def _score_cells(score: ComparedSystem) -> tuple[str, str, str, str]:
    """Return the mean, the gain, its interval and its p-value."""
    mean = points(score.mean)
    mean += "" if score.deviation is None else f" ± {points(score.deviation)}"
    if (found := score.difference) is None:
        return mean, _NOTHING, _NOTHING, _NOTHING
    interval = f"{points(found.low, sign=True)} to {points(found.high, sign=True)}"
    return mean, points(found.gain, sign=True), interval, shown_p(found.p_bootstrap)


def _notes(settings: ExperimentSettings, record: ExperimentRecord) -> Iterator[str]:
    seeds = ", ".join(map(str, settings.seeds))
    yield (
        f"BLEU without further tokenisation, mean ± standard deviation over tuning seeds {seeds}. "
        f"Gain: over the runs of {settings.systems[0].name} with the same seeds, with interval and "
        "two-sided p for other sentences and other seeds (two-level bootstrap; a single run is not "
        "resampled)."
    )
    for row in record.systems:
        if row.not_run and not any(row.name in text.files for text in record.texts.values()):
            yield f"{row.name}: not run; {row.not_run}."
            continue
        if row.not_run:
            yield f"{row.name}: kept results of an earlier call; {row.not_run} now."
        if row.runs > 1 and len(row.seeds) < row.runs:
            yield f"{row.name}: {len(row.seeds)} of {row.runs} seeds are done."
