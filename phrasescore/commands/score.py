"""``phrasescore score``: append model scores to a phrase table."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

import click

from phrasescore.commands.cluster_option import cluster_option
from phrasescore.commands.device_option import device_option
from phrasescore.commands.numbers import BATCH, COLUMN, FACTOR, THREADS
from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT
from phrasescore.errors import SettingsError
from phrasescore.runs.provenance import provenance
from phrasescore.words import Unknown

if TYPE_CHECKING:
    from phrasescore.scoring.ready_scorers import Asked, ReadyScorer

Precision = Literal["auto", "fp32", "bf16"]


@click.command("score")
@click.argument("table", type=INPUT)
@click.option(
    "--model",
    "folders",
    multiple=True,
    required=True,
    type=INPUT_FOLDER,
    metavar="FOLDER",
    help="A model folder; may be repeated, one column each in this order.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT,
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
    help="Append exp(number of words outside the first model's shortlists) as the last score.",
)
@click.option(
    "--unknown",
    type=click.Choice(["whole", "share"]),
    default="whole",
    show_default=True,
    help="What a predicted word outside a model's shortlist is given: the whole p(<unk>), which is "
    "the sum over all such words, or its share of it, by how often training saw it.",
)
@click.option(
    "--replace-column",
    type=COLUMN,
    metavar="N",
    help="Replace score N (counted from 1) and, for further columns, N+1 ... instead of appending.",
)
@click.option(
    "--factor",
    type=FACTOR,
    help="The factor of a token surface|tag to score, from 0.  [default: the models' own]",
)
@click.option(
    "--accept-unknown",
    is_flag=True,
    help="Score even if a model knows less than half of the words of the table's beginning.",
)
@device_option
@click.option(
    "--precision",
    type=click.Choice(["auto", "fp32", "bf16"]),
    default="auto",
    help="Of the large products; sums are in fp32 or better. auto: bf16 where it is faster "
    "and, on a sample of the table, within 0.01 per word of fp32 on average and 0.05 at worst.",
)
@click.option("--batch-size", type=BATCH, metavar="PAIRS", help="Pairs scored at a time.")
@click.option(
    "--no-sharing",
    is_flag=True,
    help="Compute each pair separately, in fp32: slow, for comparison.",
)
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
@cluster_option
@click.option(
    "--same-hardware",
    is_flag=True,
    help="Refuse workers of a cluster whose processors differ, as last digits may.",
)
@json_options
def score(
    table: str,
    folders: tuple[str, ...],
    output: str,
    average: bool,
    unknown_column: bool,
    unknown: Unknown,
    replace_column: int | None,
    factor: int | None,
    accept_unknown: bool,
    device: str,
    precision: Precision,
    batch_size: int | None,
    no_sharing: bool,
    threads: int | None,
    cluster: str | None,
    same_hardware: bool,
    as_json: bool,
    json_file: str | None,
) -> None:
    """Append the models' probabilities to TABLE (plain, .gz, or - for standard input).

    Every other byte and the order of the lines stay as they are. If it is interrupted, even by
    kill -9, the same command continues where it stopped.
    """
    from phrasescore.runs.interruption import interruptible
    from phrasescore.scoring.block_scoring import ScoringSettings
    from phrasescore.scoring.model_loading import ComputeSettings
    from phrasescore.scoring.ready_scorers import Asked
    from phrasescore.scoring.table_rescoring import rescore_table

    settings = ScoringSettings(average, unknown_column, replace_column, factor or 0, unknown)
    compute = ComputeSettings(device, precision, batch_size, not no_sharing)
    asked = Asked(table, output, folders, compute, settings, factor, accept_unknown)
    # what comes or goes through a pipe cannot be gone on with
    keeps = "-" not in (table, output)
    with contextlib.ExitStack() as stack:
        if keeps:
            stack.enter_context(interruptible(output))
        ready = _ready(asked, cluster, threads, same_hardware, stack)
        for note in ready.notes:
            click.echo(note, err=True)
        report = rescore_table(
            table, output, ready.scorer, numerics=ready.numerics, blocks=ready.blocks
        )
    click.echo(str(report), err=True)
    used = {
        "settings": vars(ready.scorer.settings),
        "numerics": ready.numerics,
        "bf16_checks": ready.checks,
    }
    result = {**report.to_json(), "provenance": provenance(settings=used)}
    print_result(result, as_json, json_file)


def _ready(
    asked: Asked,
    cluster: str | None,
    threads: int | None,
    same_hardware: bool,
    stack: contextlib.ExitStack,
) -> ReadyScorer:
    """Load the models here, or join a cluster that is left with the stack."""
    from phrasescore.scoring.ready_scorers import scorer_here, scorer_on_cluster

    if cluster is None:
        if same_hardware:
            raise SettingsError(
                "--same-hardware is about workers", remedy="leave it out, or give --cluster"
            )
        _use_threads(threads)
        return scorer_here(asked)
    if threads is not None:
        raise SettingsError(
            "--threads is about this machine, and --cluster lets workers compute",
            remedy="leave it out, and start workers with dask worker --nthreads N",
        )
    from phrasescore.cluster.cluster import Cluster

    return scorer_on_cluster(asked, stack.enter_context(Cluster(cluster)), same_hardware)


def _use_threads(threads: int | None) -> None:
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
