"""``phrasescore score``: append model scores to a phrase table."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Literal

import click

from phrasescore.commands.declarations import argument, command, flag, option
from phrasescore.commands.numbers import BATCH, COLUMN
from phrasescore.commands.options import (
    Computing,
    OnCluster,
    Result,
    factor,
    model_folders,
    output_file,
    resumable,
)
from phrasescore.commands.paths import INPUT
from phrasescore.runs.identity import provenance
from phrasescore.words import Unknown

if TYPE_CHECKING:
    from phrasescore.cluster.cluster import Cluster


class ScoreOptions(Computing, OnCluster, Result):
    """Options of ``score``."""

    table: str = argument(INPUT)
    models: tuple[str, ...] = model_folders(
        "A model folder; may be repeated, one column each in this order."
    )
    output: str = output_file("the table")
    average: bool = flag(
        "Merge the models into one column: the mean of their ln p (geometric mean of p)."
    )
    unknown_column: bool = flag(
        "Append exp(number of words outside the first model's shortlists) as the last score."
    )
    unknown: Unknown = option(
        ["whole", "share"],
        "What a predicted word outside a model's shortlist is given: the whole p(<unk>), which is "
        "the sum over all such words, or its share of it, by how often training saw it.",
        default="whole",
    )
    replace_column: int | None = option(
        COLUMN,
        "Replace score N (counted from 1) and, for further columns, N+1 ... instead of appending.",
    )
    factor: int | None = factor("the models'")
    accept_unknown: bool = flag(
        "Score even if a model knows less than half of the words of the table's beginning."
    )
    precision: Literal["auto", "fp32", "bf16"] = option(
        ["auto", "fp32", "bf16"],
        "Of the large products; sums are in fp32 or better. auto: bf16 where it is faster and, on "
        "a sample of the table, within 0.01 per word of fp32 on average and 0.05 at worst.",
        default="auto",
    )
    batch_size: int | None = option(BATCH, "Pairs scored at a time.", metavar="PAIRS")
    same_hardware: bool = flag(
        "Refuse workers of a cluster whose processors differ, as last digits may.",
        needs=("cluster",),
    )


@command("score", ScoreOptions)
def score(options: ScoreOptions) -> None:
    """Append the models' probabilities to TABLE (plain, .gz, or - for standard input).

    Every other byte and the order of the lines stay as they are. If it is interrupted, even by
    kill -9, the same command continues where it stopped.
    """
    from phrasescore.scoring.block_scoring import ScoringSettings
    from phrasescore.scoring.model_loading import ComputeSettings
    from phrasescore.scoring.table_rescoring import described, prepare

    with contextlib.ExitStack() as stack:
        stack.enter_context(resumable([options.table], [options.output]))
        cluster = _cluster(options, stack)
        rescoring = prepare(
            options.table,
            options.output,
            options.models,
            options.settings(ComputeSettings),
            options.settings(ScoringSettings, factor=options.factor or 0),
            factor=options.factor,
            accept_unknown=options.accept_unknown,
            cluster=cluster,
            same_hardware=options.same_hardware,
        )
        ready = rescoring.ready
        for note in ready.notes:
            click.echo(note, err=True)
        record = rescoring.run()
    click.echo(described(record), err=True)
    used = {
        "settings": vars(rescoring.settings),
        "numerics": ready.numerics,
        "bf16_checks": [vars(check) for check in ready.checks],
    }
    record = dataclasses.replace(record, provenance=provenance(settings=used))
    options.show(record.to_json())


def _cluster(options: ScoreOptions, stack: contextlib.ExitStack) -> Cluster | None:
    """Join the cluster until the stack closes; without ``--cluster``, set the threads instead."""
    if options.cluster is None:
        options.use_threads()
        return None
    from phrasescore.cluster.cluster import Cluster

    return stack.enter_context(Cluster(options.cluster))
