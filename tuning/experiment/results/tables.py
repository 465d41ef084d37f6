"""The result as text: Markdown to read, LaTeX to print, JSON to compute with."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from tuning.experiment.experiment_settings import DEV, ExperimentSettings, ExperimentSystem
from tuning.experiment.results.report import Row
from tuning.metrics.score_tables import ScoreTable, points
from tuning.metrics.significance import SystemScores

_NOTHING = "–"
# of a test set: BLEU, gain, interval, p
_TEST_CELLS, _INTERVAL = 4, 2


def markdown(settings: ExperimentSettings, rows: Sequence[Row], commands: Sequence[str]) -> str:
    """Return the table with what one must know to read it, and every command."""
    header = ["system", "dev BLEU"]
    for text in settings.data.tests:
        header += [f"{text.name} BLEU", f"{text.name} gain", "95 % interval", "p"]
    cells = [
        [row.system.name, _mean(row.scores.get(DEV)), *_test_cells(settings, row), *_remarks(row)]
        for row in rows
    ]
    table = ScoreTable([*header, "tuning", "paper"], cells).to_markdown()
    lines = [f"# {settings.name}", "", table, *_notes(settings, rows), "", "## Commands", ""]
    lines += [f"Run in `{settings.folder}`:", "", "```", *commands, "```", ""]
    return "\n".join(lines)


def latex(settings: ExperimentSettings, rows: Sequence[Row]) -> str:
    """Return the table for a paper: package booktabs."""
    header = ["System", "dev"]
    for text in settings.data.tests:
        header += [text.name, "gain", "p"]
    cells = []
    for row in rows:
        each = _test_cells(settings, row)
        shown = [cell for place, cell in enumerate(each) if place % _TEST_CELLS != _INTERVAL]
        cells.append([row.system.name, _mean(row.scores.get(DEV)), *shown])
    table = ScoreTable(header, cells)
    return f"% {settings.name}; {_how(settings)}\n{table.to_latex()}"


def as_json(settings: ExperimentSettings, rows: Sequence[Row]) -> dict[str, Any]:
    """Return every number of the table, BLEU as fractions, and the settings."""
    return {
        "name": settings.name,
        "decoder": settings.decoder.kind,
        "sections": dict(settings.decoder.sections),
        "optimizer": settings.tuning.optimizer,
        "rounds": settings.tuning.rounds,
        "nbest_size": settings.tuning.nbest_size,
        "rerank": dataclasses.asdict(settings.rerank),
        "seeds": list(settings.seeds),
        "systems": [_row_json(row) for row in rows],
        "per_seed": [model.name for model in settings.models if model.per_seed],
        "texts": {
            text.name: {
                "source": str(settings.folder / text.source),
                "reference": str(settings.folder / text.reference),
            }
            for text in settings.data.texts
        },
    }


def _row_json(row: Row) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": row.system.name,
        "models": list(row.system.models),
        "unknown_column": row.system.unknown_column,
        "unknown": row.system.unknown,
        "language_models": list(row.system.language_models),
        "rerank": list(row.system.rerank),
        "translate": list(row.system.translate),
        "not_run": row.system.not_run,
        "seeds": list(row.seeds),
        "tuning_seconds": list(row.tuning_seconds),
        "tuning_cpu_seconds": list(row.tuning_cpu_seconds),
    }
    values["texts"] = {text: _score_json(score) for text, score in row.scores.items()}
    return values


def _score_json(score: SystemScores) -> dict[str, Any]:
    gain = score.difference
    return {
        "bleu": list(score.runs),
        "mean": score.mean,
        "deviation": score.deviation,
        "gain": gain
        and {
            "bleu": gain.gain,
            "p_value": gain.p_bootstrap,
            "randomization_p_value": gain.p_randomization,
            "replica_p_value": gain.p_replicas,
            "low": gain.low,
            "high": gain.high,
        },
    }


def _test_cells(settings: ExperimentSettings, row: Row) -> list[str]:
    """Return the four cells of each test set."""
    cells = []
    for text in settings.data.tests:
        score = row.scores.get(text.name)
        cells += [_mean(score), *_gain(score)]
    return cells


def _remarks(row: Row) -> list[str]:
    """Return the time of tuning and the paper's scores."""
    paper, time = _NOTHING, _NOTHING
    if row.system.paper_test:
        paper = f"{row.system.paper_dev:.2f} / {row.system.paper_test:.2f}"
    if row.tuning_seconds and not row.system.translate:
        seconds, cpu = map(statistics.fmean, (row.tuning_seconds, row.tuning_cpu_seconds))
        time = f"{seconds:,.0f} s ({cpu:,.0f} s CPU)"
    return [time + ("*" if row.resumed else ""), paper]


def _gain(score: SystemScores | None) -> list[str]:
    """Return the gain, its interval and its p-value."""
    gain = score.difference if score is not None else None
    if gain is None:
        return [_NOTHING] * 3
    p_value = "<0.001" if gain.p_bootstrap < 0.001 else f"{gain.p_bootstrap:.3f}"
    interval = f"{points(gain.low, sign=True)} to {points(gain.high, sign=True)}"
    return [points(gain.gain, sign=True), interval, p_value]


def _mean(score: SystemScores | None) -> str:
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


def _notes(settings: ExperimentSettings, rows: Sequence[Row]) -> Iterator[str]:
    seeds = ", ".join(map(str, settings.seeds))
    yield (
        f"BLEU on tokens as they stand, mean ± standard deviation over tuning seeds {seeds}. Gain: "
        f"over {settings.systems[0].name}, with interval and two-sided p for other sentences and "
        "other seeds (two-level bootstrap; a system with one run is taken as it is). "
        f"Tuning: {_how(settings)}; seconds of one seed on average. Paper: dev / test of Cho et "
        "al. (2014), on other data."
    )
    yield from (f"\n{note}" for row in rows for note in _row_notes(settings, row))
    if any(row.resumed for row in rows):
        yield "\n\\* A tuning was interrupted and went on; its time is left out."


def _row_notes(settings: ExperimentSettings, row: Row) -> Iterator[str]:
    system = row.system
    if system.not_run and not row.scores:
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
