"""``phrasescore score``: append model scores to a phrase table."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

import click

from phrasescore.commands.declarations import argument, command, flag, option
from phrasescore.commands.options import (
    COLUMN,
    PAIRS,
    Computing,
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
    from phrasescore.cluster import Cluster


def _scheduler(text: str) -> str:
    """Check that the text can be an address or a file name; `Cluster` connects to the address."""
    if not text or not text.isprintable():
        raise click.BadParameter("name the scheduler file, or the address tcp://HOST:PORT")
    return text


class ScoreOptions(Computing, Result):
    """Options of ``score``."""

    one_of = ("models", "scores")

    table: str = argument(INPUT)
    models: tuple[str, ...] = model_folders(
        "A model folder; may be repeated: each model writes a score, in this order.", required=False
    )
    scores: str | None = option(
        INPUT,
        "Instead of a model: a file from another program, plain or gzip, with one number for each "
        "line of TABLE.",
        excludes=(
            "models", "average", "unknown_column", "unknown", "factor", "accept_unknown",
            "precision", "batch_size", "device", "threads", "cluster",
        ),
    )  # fmt: skip
    scores_are: Literal["ln", "log10", "probability"] = option(
        ["ln", "log10", "probability"],
        "The numbers are natural logarithms, logarithms to base 10, or probabilities.",
        default="ln",
        needs=("scores",),
    )
    output: str = output_file("the table")
    average: bool = flag(
        "Merge the models into one score, the geometric mean of the probabilities."
    )
    unknown_column: bool = flag(
        "Append exp(n) as the last score, where n is the number of words of the pair outside the "
        "first model's shortlists."
    )
    unknown: Unknown = option(
        ["whole", "share"],
        "The probability of a predicted word outside a model's shortlist: whole is p(<unk>), the "
        "sum over all such words; share is the word's part of p(<unk>), in proportion to its count "
        "in training.",
        default="whole",
    )
    replace_column: int | None = option(
        COLUMN, "Replace score N, N+1 and so on, counted from 1, instead of appending scores."
    )
    factor: int | None = factor("the models'")
    accept_unknown: bool = flag(
        "Score even if a model knows less than half of the words at the beginning of the table."
    )
    precision: Literal["auto", "fp32", "bf16"] = option(
        ["auto", "fp32", "bf16"],
        "The precision of large matrix products; sums are in fp32 or better. auto chooses bf16 if "
        "bf16 is faster and if, on a sample of the table, ln p per word differs from fp32 by at "
        "most 0.01 on average and 0.05 at worst.",
        default="auto",
    )
    batch_size: int | None = PAIRS
    cluster: str | None = option(
        _scheduler,
        "Compute on the workers of a Dask cluster. Name the scheduler file, or the scheduler's "
        "address, tcp://HOST:PORT or tls://HOST:PORT.",
        metavar="FILE|ADDRESS",
        excludes=("threads",),  # --threads is for this machine, but the workers compute
    )


@command("score", ScoreOptions)
def score(options: ScoreOptions) -> None:
    """Append one score for each model, p(target | source), to every line of TABLE.

    TABLE is plain, .gz, or - for standard input. All other bytes of the lines and their order stay
    the same. The scores that the table already has are kept, unless --replace-column is given. If
    the command is interrupted, even by kill -9, the same command continues where it stopped.

    With --scores, the probabilities of another program become the score.
    """
    if options.scores is not None:
        _append_given(options, options.scores)
        return
    from phrasescore.scoring.block_scoring import ComputeSettings, ScoringSettings
    from phrasescore.scoring.table_rescoring import Rescoring, described

    if options.cluster is None:
        options.use_threads()
    with resumable([options.table], [options.output]), _cluster(options) as cluster:
        rescoring = Rescoring(
            options.table,
            options.output,
            options.models,
            options.settings(ComputeSettings),
            options.settings(ScoringSettings, factor=options.factor or 0),
            factor=options.factor,
            accept_unknown=options.accept_unknown,
            cluster=cluster,
        )
        ready = rescoring.ready
        for note in ready.notes:
            click.echo(note, err=True)
        figures = rescoring.figures(rescoring.run())
    click.echo(described(figures), err=True)
    used = {
        "settings": vars(rescoring.settings),
        "numerics": ready.numerics,
        "bf16_checks": [vars(check) for check in ready.checks],
    }
    options.show({**figures, "provenance": provenance(settings=used)})


def _append_given(options: ScoreOptions, scores: str) -> None:
    """Append the numbers of a file."""
    from phrasescore.scoring.table_rescoring import append_given_scores

    output, scale = options.output, options.scores_are
    done = append_given_scores(options.table, scores, output, scale, options.replace_column)
    counts = done.counts
    click.echo(
        f"{counts.lines:,} pairs: mean ln p {counts.ln_p_sums[0] / counts.lines:.4f}, "
        f"{counts.floor_hits[0]:,} at Moses's floor of -100",
        err=True,
    )
    used = provenance(inputs=[scores], settings={"scores_are": scale})
    options.show({**done.to_json(), "provenance": used})


def _cluster(options: ScoreOptions) -> contextlib.AbstractContextManager[Cluster | None]:
    """Return the cluster to open, if ``--cluster`` is given."""
    if options.cluster is None:
        return contextlib.nullcontext()
    from phrasescore.cluster import Cluster

    return Cluster(options.cluster)
