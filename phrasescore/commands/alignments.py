"""``phrasescore alignments``: pictures of a model's attention."""

from __future__ import annotations

import re
from pathlib import Path

import click

from phrasescore.commands.declarations import command, option
from phrasescore.commands.options import Computing, output_folder
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, add_outputs, warn_of_raw_text
from phrasescore.errors import counted


def _line_numbers(text: str) -> tuple[int, ...]:
    """Parse line numbers separated by commas; return them sorted, without repetitions."""
    parts = text.split(",")
    if not all(re.fullmatch("[0-9]{1,18}", part) and int(part) for part in parts):
        raise click.BadParameter(f"{text[:30]!r} is not a list of line numbers; write 3,17")
    return tuple(sorted(set(map(int, parts))))


class AlignmentsOptions(Computing):
    """Options of ``alignments``."""

    model: str = option(
        INPUT_FOLDER, "A model with attention (train --kind search).", required=True
    )
    source: str = option(INPUT, "The source text.", required=True)
    target: str = option(INPUT, "The translation of each line of the source.", required=True)
    sentences: tuple[int, ...] = option(
        _line_numbers,
        "The numbers of the lines to draw, counted from 1.",
        required=True,
        metavar="N,N",
    )
    output: str = output_folder("The folder for the pictures, created if missing.")
    format: str = option(["png", "svg", "pdf"], "The format of the pictures.", default="png")


@command("alignments", AlignmentsOptions)
def alignments(options: AlignmentsOptions) -> None:
    """Draw the soft alignments of sentence pairs, as in figure 3 of Bahdanau et al. (2014).

    Each pair becomes a picture, such as FOLDER/3.png for line 3. Each column is a word that the
    model reads, and each row a word that it predicts; the end of the sentence counts as a word on
    both sides. A row shows the attention that each read word gets when the model predicts the row's
    word: the lighter, the more attention, as on the scale beside the picture. A model trained with
    --direction target-source reads the target text.

    Needs optional packages: pip install 'phrasescore[report]'
    """
    from phrasescore.generation.sentence_models import load_sentence_models
    from phrasescore.generation.soft_alignments import draw_alignments

    folder = Path(options.output)
    add_outputs("--output", (folder / f"{line}.{options.format}" for line in options.sentences))
    options.use_threads()
    models = load_sentence_models([options.model])
    models.must_align("a picture")
    warn_of_raw_text([options.source, options.target])
    texts, pictures = (options.source, options.target), (folder, options.format)
    paths = draw_alignments(models, *texts, options.sentences, *pictures, options.device)
    click.echo(f"{counted(len(paths), 'picture')} in {options.output}", err=True)
