"""The result as text: Markdown to read, LaTeX to print, JSON to compute with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tuning.experiment.experiment_file import ExperimentSettings
from tuning.experiment.report import Row
from tuning.metrics.score_tables import ScoreTable, points
from tuning.metrics.significance import SystemScores

_NOTHING = "–"


def markdown(settings: ExperimentSettings, rows: Sequence[Row], commands: Sequence[str]) -> str:
    """Return the table with what one must know to read it, and every command."""
    header = ["system", "dev BLEU", "test BLEU", "test gain"]
    header += ["95 % interval", "p", "tuning", "paper"]
    table = ScoreTable(header, [_cells(row) for row in rows]).to_markdown()
    lines = [f"# {settings.name}", "", table, *_notes(settings, rows), "", "## Commands", ""]
    lines += [f"Run in `{settings.folder}`:", "", "```", *commands, "```", ""]
    return "\n".join(lines)


def latex(settings: ExperimentSettings, rows: Sequence[Row]) -> str:
    """Return the table for a paper: package booktabs."""
    cells = [_cells(row) for row in rows]
    table = ScoreTable(["System", "dev", "test", "gain", "p"], [[*c[:4], c[5]] for c in cells])
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
        "seeds": list(settings.seeds),
        "systems": [_row_json(row) for row in rows],
    }


def _row_json(row: Row) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": row.system.name,
        "models": list(row.system.models),
        "unknown_column": row.system.unknown_column,
        "not_run": row.system.not_run,
        "seeds": list(row.seeds),
        "tuning_seconds": list(row.tuning_seconds),
        "tuning_cpu_seconds": list(row.tuning_cpu_seconds),
    }
    for text, score in row.scores.items():
        gain = score.difference
        values[text] = {
            "bleu": list(score.runs),
            "mean": score.mean,
            "deviation": score.deviation,
            "gain": gain
            and {
                "bleu": gain.gain,
                "p_value": gain.p_randomization,
                "bootstrap_p_value": gain.p_bootstrap,
                "low": gain.low,
                "high": gain.high,
            },
        }
    return values


def _cells(row: Row) -> list[str]:
    name = row.system.name
    dev, test = row.scores.get("dev"), row.scores.get("test")
    paper = _NOTHING
    if row.system.paper_test:
        paper = f"{row.system.paper_dev:.2f} / {row.system.paper_test:.2f}"
    if dev is None or test is None:
        return [name, "not run", "not run", *[_NOTHING] * 4, paper]
    seconds = sum(row.tuning_seconds) / max(len(row.tuning_seconds), 1)
    cpu = sum(row.tuning_cpu_seconds) / max(len(row.tuning_cpu_seconds), 1)
    time = f"{seconds:,.0f} s ({cpu:,.0f} s CPU)" + ("*" if row.resumed else "")
    return [name, _mean(dev), _mean(test), *_gain(test), time, paper]


def _gain(score: SystemScores) -> list[str]:
    """Return the gain, its interval and its p-value."""
    gain = score.difference
    if gain is None:
        return [_NOTHING] * 3
    p_value = "<0.001" if gain.p_randomization < 0.001 else f"{gain.p_randomization:.3f}"
    interval = f"{points(gain.low, sign=True)} to {points(gain.high, sign=True)}"
    return [points(gain.gain, sign=True), interval, p_value]


def _mean(score: SystemScores) -> str:
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
        f"over {settings.systems[0].name}, with the interval of a bootstrap over sentences and "
        "seeds, and p of approximate randomisation, stratified by sentence over all seeds. "
        f"Tuning: {_how(settings)}; seconds of one seed on average. Paper: dev / test of Cho et "
        "al. (2014), on other data."
    )
    for row in rows:
        if row.system.not_run:
            yield f"\n{row.system.name}: not run; {row.system.not_run}."
        elif len(row.seeds) < len(settings.seeds):
            yield f"\n{row.system.name}: {len(row.seeds)} of {len(settings.seeds)} seeds are done."
    if any(row.resumed for row in rows):
        yield "\n\\* A tuning was interrupted and went on; its time is that of the last part."
