"""``phrasescore score``: append model scores to a phrase table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from phrasescore.errors import SettingsError

if TYPE_CHECKING:
    from phrasescore.scoring.block_scoring import ScoringModel
    from phrasescore.scoring.table_rescoring import RescoringReport

Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["auto", "fp32", "bf16"]


@click.command("score")
@click.argument("table")
@click.option(
    "--model",
    "folders",
    multiple=True,
    required=True,
    metavar="FOLDER",
    help="A model folder; may be repeated, one column each in this order.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Where to write the table; gzip if the name ends in .gz; - is standard output.",
)
@click.option(
    "--average",
    is_flag=True,
    help="Merge the models into one column: the mean of their ln p (geometric mean of p).",
)
@click.option(
    "--unknown-column",
    is_flag=True,
    help="Append exp(number of words outside the first model's shortlists) after all else.",
)
@click.option(
    "--replace-column",
    type=click.IntRange(min=1),
    metavar="N",
    help="Replace score N (counted from 1) and, for further columns, N+1 ... instead of appending.",
)
@click.option(
    "--factor",
    type=click.IntRange(min=0),
    help="The factor of a token surface|tag to score, from 0.  [default: the models' own]",
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
@click.option(
    "--precision",
    type=click.Choice(["auto", "fp32", "bf16"]),
    default="auto",
    help="Of the large matrix products; sums are in fp32 or better. auto is fp32.",
)
@click.option(
    "--batch-size", type=click.IntRange(min=1), metavar="PAIRS", help="Pairs scored at a time."
)
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="CPU threads.")
@click.option(
    "--report", "report_path", metavar="FILE", help="Write the closing report as JSON, too."
)
def score(
    table: str,
    folders: tuple[str, ...],
    output: str,
    average: bool,
    unknown_column: bool,
    replace_column: int | None,
    factor: int | None,
    device: Device,
    precision: Precision,
    batch_size: int | None,
    threads: int | None,
    report_path: str | None,
) -> None:
    """Append the models' probabilities to TABLE (plain, .gz, or - for standard input).

    Every other byte and the order of the lines stay as they are. If it is interrupted, even by
    kill -9, the same command goes on where it stopped.
    """
    from phrasescore.scoring.block_scoring import ScoringSettings
    from phrasescore.scoring.table_rescoring import rescore_table

    models, factors, numerics = _load_models(folders, device, precision, batch_size, threads)
    chosen = _factor(factor, factors)
    settings = ScoringSettings(average, unknown_column, replace_column, chosen)
    try:
        report = rescore_table(table, output, models, settings, numerics=numerics)
    except KeyboardInterrupt:
        if "-" not in (table, output):
            click.echo("stopped; the same command goes on from here", err=True)
        raise
    click.echo(str(report), err=True)
    if report_path is not None:
        _write_report(report_path, report, {"settings": vars(settings), "numerics": numerics})


def _load_models(
    folders: tuple[str, ...],
    device: Device,
    precision: Precision,
    batch_size: int | None,
    threads: int | None,
) -> tuple[list[ScoringModel], dict[str, int], dict[str, Any]]:
    """Return the models, the factors they read, and what of their arithmetic decides the digits."""
    import torch

    from phrasescore.model.folder import load_model
    from phrasescore.scoring.block_scoring import ScoringModel
    from phrasescore.scoring.scorer import Scorer

    if threads is not None:
        torch.set_num_threads(threads)
    models = []
    # not the number of threads: a batch is computed by one, so they do not change a digit
    factors: dict[str, int] = {}
    numerics: dict[str, Any] = {"batch_size": batch_size}
    for folder in folders:
        loaded = load_model(folder)
        scorer = Scorer(loaded.model, device, precision, batch_size)
        models.append(
            ScoringModel(
                folder,
                loaded.source_vocabulary,
                loaded.target_vocabulary,
                loaded.direction,
                loaded.digest,
                scorer,
            )
        )
        factors[folder] = loaded.model.settings.factor
        numerics.update(device=str(scorer.device), precision=str(scorer.precision))
    return models, factors, numerics


def _factor(asked: int | None, factors: dict[str, int]) -> int:
    """Return the factor to score: the one asked for, or the one that all models read."""
    if asked is not None:
        return asked
    if len(set(factors.values())) > 1:
        which = ", ".join(f"{folder} reads factor {factor}" for folder, factor in factors.items())
        raise SettingsError(
            f"the models read different factors: {which}", remedy="choose one with --factor"
        )
    return next(iter(factors.values()))


def _write_report(path: str, report: RescoringReport, settings: dict[str, Any]) -> None:
    from phrasescore.provenance import provenance, write_json

    write_json(path, {**report.to_json(), "provenance": provenance(settings=settings)})
