"""``phrasescore evaluate``: scores of translations against references."""

from __future__ import annotations

import click

from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import INPUT
from tuning.commands.options import (
    parse_scoring,
    parse_selection,
    scoring_options,
    selection_options,
    show_notes,
)


@click.command("evaluate", context_settings={"show_default": True})
@click.argument("translations", nargs=-1, required=True, type=INPUT, metavar="TRANSLATION...")
@scoring_options
@selection_options
@json_options
def evaluate(
    translations: tuple[str, ...],
    references: tuple[str, ...],
    picture: str | None,
    as_json: bool,
    json_file: str | None,
    **options: object,
) -> None:
    """Score translations: BLEU, chrF, TER and length.

    Spaces separate words, because the text of Moses is tokenised; --tokenize 13a is
    for plain text. Scores are printed times 100, with the signatures of sacrebleu; in JSON they
    are 0 to 1.
    """
    selection = parse_selection({**options, "picture": picture})
    from phrasescore.pictures.figure_files import check_figure
    from tuning.metrics.evaluation import evaluate as score

    if picture is not None:
        check_figure(picture)
    found = score(translations, references, parse_scoring(options), selection)
    show_notes(found.notes)
    if picture is not None:
        found.draw_by_length(picture)
    if not as_json:
        click.echo(found.to_text(), nl=False)
    print_result(found.to_json(), as_json, json_file)
