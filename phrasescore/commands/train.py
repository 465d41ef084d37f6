"""``phrasescore train``: learn p(target phrase | source phrase) from a phrase table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from phrasescore.commands.options import Duration


@click.command(context_settings={"show_default": True})
@click.argument("table", metavar="PHRASE-TABLE", type=click.Path(path_type=Path))
@click.argument("model", metavar="MODEL/", type=click.Path(path_type=Path))
@click.option(
    "--recipe",
    type=click.Choice(["fast", "paper"]),
    default="fast",
    help="fast: Adam, length-uniform batches, a decaying learning rate. "
    "paper: Adadelta and the rest of section 4.1.1.",
)
@click.option(
    "--max-epochs",
    type=click.IntRange(min=0),
    help="Passes over the pairs; 0 writes the untrained model.  "
    "[default: 10 unless --max-time is given]",
)
@click.option(
    "--max-time", type=Duration(), help="Stop, with the learning rate down, after so long: 45m, 2h."
)
@click.option(
    "--patience",
    type=click.IntRange(min=0),
    default=5,
    help="Evaluations without a better figure on unseen sources before the end; 0: none.",
)
@click.option(
    "--evaluations",
    type=click.IntRange(min=1),
    default=10,
    help="How often the held-out pairs are scored in a run.",
)
@click.option("--hidden", type=click.IntRange(min=1), default=1000, help="Hidden units.")
@click.option("--embedding", type=click.IntRange(min=1), default=100, help="Size of word vectors.")
@click.option(
    "--maxout",
    type=click.IntRange(min=1),
    default=None,
    help="Maxout units.  [default: half of --hidden]",
)
@click.option(
    "--rank",
    type=click.IntRange(min=1),
    default=100,
    help="Inner size of the factored output layer.",
)
@click.option(
    "--formulation",
    type=click.Choice(["code", "appendix"]),
    default="code",
    help="What the authors ran, or the paper's appendix.",
)
@click.option(
    "--direction",
    type=click.Choice(["source-target", "target-source"]),
    default="source-target",
    help="Which side the encoder reads.",
)
@click.option(
    "--source-words",
    type=click.IntRange(min=1),
    default=15000,
    help="Size of the source shortlist.",
)
@click.option(
    "--target-words",
    type=click.IntRange(min=1),
    default=15000,
    help="Size of the target shortlist.",
)
@click.option(
    "--factor",
    type=click.IntRange(min=0),
    default=0,
    help="Which factor of factored tokens to read.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    help="Phrase pairs an update.  [default: by the size of the table; paper: 64]",
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(min=0, min_open=True),
    help="At its highest.  [default: the recipe's]",
)
@click.option(
    "--held-out-sources",
    type=click.IntRange(min=0),
    default=5000,
    help="Pairs to hold out whose sources are in no training pair.",
)
@click.option(
    "--held-out-pairs",
    type=click.IntRange(min=0),
    default=5000,
    help="Pairs to hold out, drawn at random from the rest.",
)
@click.option(
    "--seed", type=int, default=1, help="Of the weights, the order and the held-out pairs."
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "bf16", "fp32"]),
    default="auto",
    help="Of the matrix products; auto: bf16 with recipe fast where the hardware has it.",
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
@click.option("--threads", type=click.IntRange(min=1), help="Cores to use.  [default: all]")
@click.option(
    "--checkpoint-every",
    type=Duration(),
    default="5m",
    help="How often to save the state from which the same command goes on.",
)
@click.option(
    "--tensorboard",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write curves for TensorBoard too (extra: tensorboard).",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Refuse to begin anew: go on with an interrupted run, as the same command does anyway.",
)
@click.option("--overwrite", is_flag=True, help="Begin anew, whatever is there; replaces a model.")
def train(**options: Any) -> None:
    """Learn p(target | source) from PHRASE-TABLE and write the model to the folder MODEL/.

    Each distinct pair counts once, whatever its frequency. While it runs, its state is in
    MODEL.training/; after Ctrl-C or a crash, the same command goes on. Under torchrun, several
    processes share the work.
    """
    from phrasescore.training.session import TrainingRequest, train_model

    requested = {name: value for name, value in options.items() if name != "max_time"}
    train_model(TrainingRequest(max_seconds=options["max_time"], **requested))
