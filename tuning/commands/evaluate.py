"""``phrasescore evaluate``: scores of translations against references."""

from __future__ import annotations

import click

from tuning.commands.scoring_options import emit, parse_scoring, scoring_options


@click.command("evaluate")
@click.argument("translations", nargs=-1, required=True, metavar="TRANSLATION...")
@scoring_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON; scores are then 0 to 1.")
def evaluate(
    translations: tuple[str, ...],
    references: tuple[str, ...],
    as_json: bool,
    **options: object,
) -> None:
    """Score translations: BLEU, chrF, TER and length.

    Spaces separate words, because the text of Moses is tokenised; --tokenize 13a is
    for plain text. Scores are printed times 100, with the signatures of sacrebleu.
    """
    from tuning.metrics.evaluation import evaluate as score

    found = score(translations, references, parse_scoring(options))
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    emit(found.to_json() if as_json else found.to_text())
