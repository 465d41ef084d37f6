"""The table of an experiment as text: Markdown to read, LaTeX to print."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from phrasescore.runs.results import ExperimentRow, TextBleu
from tuning.experiment.experiment_settings import DEV, ExperimentSettings, ExperimentSystem
from tuning.metrics.score_tables import ScoreTable, points

_NOTHING = "–"
# of a test set: BLEU, gain, interval, p
_TEST_CELLS, _INTERVAL = 4, 2


def markdown(
    settings: ExperimentSettings, rows: Sequence[ExperimentRow], commands: Sequence[str]
) -> str:
    """Return the table with what one must know to read it, and every command."""
    header = ["system", "dev BLEU"]
    for text in settings.data.tests:
        header += [f"{text.name} BLEU", f"{text.name} gain", "95 % interval", "p"]
    cells = [
        [row.name, _mean(row.texts.get(DEV)), *_test_cells(settings, row), *_remarks(system, row)]
        for system, row in zip(settings.systems, rows, strict=True)
    ]
    table = ScoreTable([*header, "tuning", "paper"], cells).to_markdown()
    lines = [f"# {settings.name}", "", table, *_notes(settings, rows), "", "## Commands", ""]
    lines += [f"Run in `{settings.folder}`:", "", "```", *commands, "```", ""]
    return "\n".join(lines)


def latex(settings: ExperimentSettings, rows: Sequence[ExperimentRow]) -> str:
    """Return the table for a paper: package booktabs."""
    header = ["System", "dev"]
    for text in settings.data.tests:
        header += [text.name, "gain", "p"]
    cells = []
    for row in rows:
        each = _test_cells(settings, row)
        shown = [cell for place, cell in enumerate(each) if place % _TEST_CELLS != _INTERVAL]
        cells.append([row.name, _mean(row.texts.get(DEV)), *shown])
    table = ScoreTable(header, cells)
    return f"% {settings.name}; {_how(settings)}\n{table.to_latex()}"


def _test_cells(settings: ExperimentSettings, row: ExperimentRow) -> list[str]:
    """Return the four cells of each test set."""
    cells = []
    for text in settings.data.tests:
        score = row.texts.get(text.name)
        cells += [_mean(score), *_gain(score)]
    return cells


def _remarks(system: ExperimentSystem, row: ExperimentRow) -> list[str]:
    """Return the time of tuning and the paper's scores."""
    paper, time = _NOTHING, _NOTHING
    if system.paper_test:
        paper = f"{system.paper_dev:.2f} / {system.paper_test:.2f}"
    if row.tuning_seconds and not system.translate:
        seconds, cpu = map(statistics.fmean, (row.tuning_seconds, row.tuning_cpu_seconds))
        time = f"{seconds:,.0f} s ({cpu:,.0f} s CPU)"
    return [time + ("*" if row.resumed else ""), paper]


def _gain(score: TextBleu | None) -> list[str]:
    """Return the gain, its interval and its p-value."""
    gain = score.gain if score is not None else None
    if gain is None:
        return [_NOTHING] * 3
    p_value = "<0.001" if gain.p_value < 0.001 else f"{gain.p_value:.3f}"
    interval = f"{points(gain.low, sign=True)} to {points(gain.high, sign=True)}"
    return [points(gain.bleu, sign=True), interval, p_value]


def _mean(score: TextBleu | None) -> str:
    if score is None:
        return "not run"
    text = points(score.mean)
    return text if score.deviation is None else f"{text} ± {points(score.deviation)}"


def _how(settings: ExperimentSettings) -> str:
    sections = ", ".join(f"{name} {value}" for name, value in settings.decoder.sections)
    decoder = "real Moses" if settings.decoder.kind == "moses" else "the embedded decoder"
    return (
        f"{settings.tuning.optimizer.upper()}, at most {settings.tuning.rounds} rounds, "
        f"{settings.tuning.nbest_size}-best, {decoder}" + (f" ({sections})" if sections else "")
    )


def _notes(settings: ExperimentSettings, rows: Sequence[ExperimentRow]) -> Iterator[str]:
    seeds = ", ".join(map(str, settings.seeds))
    yield (
        f"BLEU on tokens as they stand, mean ± standard deviation over tuning seeds {seeds}. Gain: "
        f"over {settings.systems[0].name}, with interval and two-sided p for other sentences and "
        "other seeds (two-level bootstrap; a system with one run is taken as it is). "
        f"Tuning: {_how(settings)}; seconds of one seed on average. Paper: dev / test of Cho et "
        "al. (2014), on other data."
    )
    for system, row in zip(settings.systems, rows, strict=True):
        yield from (f"\n{note}" for note in _row_notes(settings, system, row))
    if any(row.resumed for row in rows):
        yield "\n\\* A tuning was interrupted and went on; its time is left out."


def _row_notes(
    settings: ExperimentSettings, system: ExperimentSystem, row: ExperimentRow
) -> Iterator[str]:
    if system.not_run and not row.texts:
        yield f"{system.name}: not run; {system.not_run}."
        return
    if system.not_run:
        yield f"{system.name}: from an earlier call, whose results are kept; {system.not_run} now."
    yield from _model_notes(settings, system)
    if settings.has_seeds(system) and len(row.seeds) < len(settings.seeds):
        yield f"{system.name}: {len(row.seeds)} of {len(settings.seeds)} seeds are done."
    if system.rerank:
        yield (
            f"{system.name}: {settings.rerank_size}-best lists of the tuned system, rescored by "
            f"{', '.join(system.rerank)}; all weights once more by "
            f"{settings.rerank.optimizer.upper()} on dev, with the seed of the tuning. Its time is "
            "that of the tuning, and of lists, scores and weights on dev."
        )


def _model_notes(settings: ExperimentSettings, system: ExperimentSystem) -> Iterator[str]:
    if system.translate:
        yield f"{system.name}: {', '.join(system.translate)} without a system; nothing is tuned" + (
            "." if settings.has_seeds(system) else ", so there is one run and no deviation."
        )
    if anew := [name for name in system.all_models if settings.model(name).per_seed]:
        yield f"{system.name}: with another {', '.join(anew)} for each seed."
    if asked := ", ".join(system.language_models):
        yield f"{system.name}: the decoder asks {asked} while it searches."
