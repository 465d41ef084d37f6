"""``phrasescore score``: append model scores to a phrase table."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Literal

import click

from phrasescore.commands.device_option import device_option
from phrasescore.commands.numbers import BATCH, COLUMN, FACTOR, THREADS
from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT
from phrasescore.provenance import provenance
from phrasescore.words import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from phrasescore.scoring.model_loading import ComputeSettings, ReadyModels
    from phrasescore.table.block import TableBlock

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
@partial(json_options, old_names=("--report",))
def score(
    table: str,
    folders: tuple[str, ...],
    output: str,
    average: bool,
    unknown_column: bool,
    unknown: Unknown,
    replace_column: int | None,
    factor: int | None,
    device: str,
    precision: Precision,
    batch_size: int | None,
    no_sharing: bool,
    threads: int | None,
    as_json: bool,
    json_file: str | None,
) -> None:
    """Append the models' probabilities to TABLE (plain, .gz, or - for standard input).

    Every other byte and the order of the lines stay as they are. If it is interrupted, even by
    kill -9, the same command continues where it stopped.
    """
    from phrasescore.resuming.interruption import interruptible
    from phrasescore.scoring.block_scoring import BlockScorer, ScoringSettings
    from phrasescore.scoring.model_loading import ComputeSettings
    from phrasescore.scoring.table_rescoring import rescore_table

    _use_threads(threads)
    compute = ComputeSettings(device, precision, batch_size, not no_sharing)
    ready, blocks = _load_models(table, folders, compute, factor)
    for note in ready.notes:
        click.echo(note, err=True)
    settings = ScoringSettings(average, unknown_column, replace_column, ready.factor, unknown)
    # what comes or goes through a pipe cannot be gone on with
    keeps = "-" not in (table, output)
    with interruptible(output) if keeps else contextlib.nullcontext():
        scorer = BlockScorer(ready.models, settings, ready.processor)
        report = rescore_table(table, output, scorer, numerics=ready.numerics, blocks=blocks)
    click.echo(str(report), err=True)
    checks = [vars(check) for check in ready.checks]
    used = {"settings": vars(settings), "numerics": ready.numerics, "bf16_checks": checks}
    result = {**report.to_json(), "provenance": provenance(settings=used)}
    print_result(result, as_json, json_file)


def _use_threads(threads: int | None) -> None:
    import torch

    if threads is not None:
        torch.set_num_threads(threads)


def _load_models(
    table: str, folders: tuple[str, ...], compute: ComputeSettings, factor: int | None
) -> tuple[ReadyModels, Iterator[TableBlock] | None]:
    """Load the models, trying bfloat16 on the table's beginning; blocks if that used up a pipe."""
    import itertools

    from phrasescore.files.pipes import can_be_read_again
    from phrasescore.scoring.model_loading import load_models
    from phrasescore.scoring.table_rescoring import read_table
    from phrasescore.table.block import read_blocks

    if not compute.wants_sample:
        return load_models(folders, compute, factor, None), None
    if can_be_read_again(table):
        return load_models(folders, compute, factor, next(read_blocks(table), None)), None
    blocks = read_table(table)
    begun = list(itertools.islice(blocks, 1))
    ready = load_models(folders, compute, factor, begun[0] if begun else None)
    return ready, itertools.chain(begun, blocks)
