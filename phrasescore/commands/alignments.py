"""``phrasescore alignments``: pictures of what a model looks at."""

from __future__ import annotations

import re

import click

from phrasescore.commands.device_option import device_option
from phrasescore.commands.numbers import THREADS
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT_FOLDER
from phrasescore.errors import counted


class Numbers(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """Numbers from 1 with commas between them."""

    name = "numbers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers, each once, in their order."""
        if isinstance(value, tuple):
            return value
        parts = str(value).split(",")
        if not all(re.fullmatch("[0-9]{1,18}", part) and int(part) for part in parts):
            self.fail(
                f"{str(value)[:30]!r} is not a list of numbers from 1; write 3,17", param, ctx
            )
        return tuple(sorted(set(map(int, parts))))


@click.command("alignments")
@click.option(
    "--model",
    "folder",
    required=True,
    type=INPUT_FOLDER,
    metavar="FOLDER",
    help="A model with attention (train --kind search).",
)
@click.option("--source", required=True, type=INPUT, metavar="FILE", help="The source text.")
@click.option(
    "--target",
    required=True,
    type=INPUT,
    metavar="FILE",
    help="The target text, line by line its translation.",
)
@click.option(
    "--sentences",
    required=True,
    type=Numbers(),
    metavar="N,N",
    help="Which lines to draw, from 1.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT_FOLDER,
    metavar="FOLDER",
    help="Where the pictures go; made if need be.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["png", "svg", "pdf"]),
    default="png",
    show_default=True,
    help="Of the pictures.",
)
@device_option
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
def alignments(
    folder: str,
    source: str,
    target: str,
    sentences: tuple[int, ...],
    output: str,
    form: str,
    device: str,
    threads: int | None,
) -> None:
    """Draw the soft alignments of sentence pairs, as in figure 3 of Bahdanau et al. (2014).

    Each pair becomes a picture, FOLDER/3.png for line 3: from left to right the words that the
    model reads, from top to bottom those that it is given to predict, both with </s>. A row says
    how much the model looks at each word it reads when it predicts the row's word: dark is little,
    light is much, and the scale beside the picture says how much. A model trained with --direction
    target-source reads the target text.

    Needs the extra report: pip install 'phrasescore[report]'
    """
    from pathlib import Path

    import torch

    from phrasescore.generation.alignment_pictures import draw_alignments
    from phrasescore.generation.sentence_models import load_sentence_models

    if threads is not None:
        torch.set_num_threads(threads)
    models = load_sentence_models([folder])
    models.must_align("a picture")
    paths = draw_alignments(models, source, target, sentences, Path(output), form, device)
    click.echo(f"{counted(len(paths), 'picture')} in {output}", err=True)
