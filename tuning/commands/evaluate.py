"""``phrasescore evaluate``: scores of translations against references."""

from __future__ import annotations

from phrasescore.commands.declarations import argument, command
from phrasescore.commands.options import Result
from phrasescore.commands.paths import INPUT
from tuning.commands.options import ScoringOptions, show_notes


class EvaluateOptions(ScoringOptions, Result):
    """Options of ``evaluate``."""

    translations: tuple[str, ...] = argument(INPUT, "TRANSLATION...", nargs=-1, required=True)


@command("evaluate", EvaluateOptions)
def evaluate(options: EvaluateOptions) -> None:
    """Score translations: BLEU, chrF, TER and length.

    Words are separated at spaces, because Moses's texts are already tokenised; give --tokenize 13a
    for raw text. Scores are printed times 100, with sacrebleu's signatures; in JSON they are 0 to
    1.
    """
    selection = options.selection
    from tuning.metrics.system_comparison import evaluate as score

    found = score(options.translations, options.references, options.scoring, selection)
    show_notes(found.notes)
    options.show(found.to_json(), found.to_text())
