"""Formats the table of an experiment, with explanatory notes, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phrasescore.runs.results import ComparedSystem, ExperimentRecord, ExperimentRow
from tuning.experiment.experiment_settings import DEV, ExperimentSettings, ExperimentSystem
from tuning.metrics.score_tables import ScoreTable, points, shown_p

_NOTHING = "–"
# settings of a row that the notes list if they are not empty
_SHOWN = ("models", "language_models", "rerank", "translate", "unknown_column")


def markdown(
    settings: ExperimentSettings, record: ExperimentRecord, commands: Sequence[str]
) -> str:
    """Return the table as Markdown, with explanatory notes and every command."""
    header = ["system", "dev BLEU"]
    for text in settings.data.tests:
        header += [f"{text.name} BLEU", f"{text.name} gain", "95 % interval", "p"]
    cells = [
        [*_scores(settings, record, row), _paper(system)]
        for system, row in zip(settings.systems, record.systems, strict=True)
    ]
    table = ScoreTable([*header, "paper"], cells).to_markdown()
    notes = "\n\n".join(_notes(settings, record))
    lines = [f"# {settings.name}", "", table, notes, ""]
    if record.parts:
        lines += ["## What each part is worth", "", _parts(settings, record).to_markdown()]
        lines += [
            "Gain, interval and p of the row that has the part over the row that lacks it.",
            "",
        ]
    lines += ["## Commands", ""]
    lines += [f"Run in `{settings.folder}`:", "", "```", *commands, "```", ""]
    return "\n".join(lines)


def _parts(settings: ExperimentSettings, record: ExperimentRecord) -> ScoreTable:
    """Return a table with each part of a system and the part's gain on each test set."""
    header, cells = ["part", "of", "over"], []
    for text in settings.data.tests:
        header += [f"{text.name} gain", "95 % interval", "p"]
    for part in record.parts:
        line = [part.name, part.system, part.without]
        for text in settings.data.tests:
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


def _paper(system: ExperimentSystem) -> str:
    scores = (system.paper_dev, system.paper_test)
    return (
        " / ".join(f"{score:.2f}" if score else _NOTHING for score in scores)
        if any(scores)
        else _NOTHING
    )


def _how(settings: ExperimentSettings) -> str:
    sections = ", ".join(f"{name} {value}" for name, value in settings.decoder.sections.items())
    decoder = "real Moses" if settings.decoder.kind == "moses" else "the embedded decoder"
    return (
        f"{settings.tuning.optimizer.upper()}, at most {settings.tuning.rounds} rounds, "
        f"{settings.tuning.nbest_size}-best, {decoder}" + (f" ({sections})" if sections else "")
    )


def _notes(settings: ExperimentSettings, record: ExperimentRecord) -> Iterator[str]:
    seeds = ", ".join(map(str, settings.seeds))
    yield (
        f"BLEU without further tokenisation, mean ± standard deviation over tuning seeds {seeds}. "
        f"Gain: over the runs of {settings.systems[0].name} with the same seeds, with interval and "
        "two-sided p for other sentences and other seeds (two-level bootstrap; a single run is not "
        "resampled). "
        f"Tuning: {_how(settings)}. Paper: dev / test of Cho et al. (2014), on other data."
    )
    if any(system.rerank for system in settings.systems):
        yield (
            f"Rows with rerank: {settings.rerank_size}-best lists of the tuned system are "
            f"rescored; {settings.rerank.optimizer.upper()} optimises all weights again on dev."
        )
    for system, row in zip(settings.systems, record.systems, strict=True):
        has_scores = any(system.name in text.files for text in record.texts.values())
        if system.not_run and not has_scores:
            yield f"{system.name}: not run; {system.not_run}."
            continue
        yield from _row_notes(settings, system, row)


def _row_notes(
    settings: ExperimentSettings, system: ExperimentSystem, row: ExperimentRow
) -> Iterator[str]:
    if system.not_run:
        yield f"{system.name}: kept results of an earlier call; {system.not_run} now."
    made = [
        f"{key} {', '.join(value) if isinstance(value, tuple) else 'yes'}"
        for key in _SHOWN
        if (value := getattr(system, key))
    ]
    if anew := [name for name in system.all_models if settings.models[name].per_seed]:
        made.append(f"a separate {', '.join(anew)} for each seed")
    if made:
        yield f"{system.name}: {'; '.join(made)}."
    if row.runs > 1 and len(row.seeds) < row.runs:
        yield f"{system.name}: {len(row.seeds)} of {row.runs} seeds are done."
