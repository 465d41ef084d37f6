"""``python -I -m moses_integration.ems``: the EMS step that rescores the phrase table.

EMS runs the command in the setting ``custom-phrase-table-pruning`` of ``[TRAINING]``, and appends
the two arguments IN and OUT. The command reads the table ``IN.gz`` and writes ``OUT.gz``, which all
later steps use. EMS takes the number of scores in the moses.ini from its settings, not from the
table. Therefore ``score-settings = "--PhraseCount"`` adds a placeholder score, which is 2.718 in
every line, and this step replaces it with the model's score.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from phrasescore.errors import InputError, PhrasescoreError, SettingsError
from phrasescore.runs.processes import phrasescore_command, run
from phrasescore.runs.progress import with_progress
from phrasescore.table.block import read_blocks
from phrasescore.table.scanning import SCORES_END

_ENDING = ".gz"
# what Moses writes for --PhraseCount
_PLACE_HOLDER = b"2.718"


def place_holder(table: Path) -> int:
    """Return the 1-based index of the last score, and check that this score is a placeholder.

    Raises:
        PhraseTableError: The last score is not 2.718 in every line, so it must not be replaced.
    """
    scores = 0
    for block in with_progress("checking the table", read_blocks(table)):
        scores = block.format.scores
        for row, end in enumerate(block.spans[:, SCORES_END].tolist()):
            # the space before the number excludes longer numbers, such as 12.718
            if block.text[end - 6 : end] != b" " + _PLACE_HOLDER:
                problem = "the last score is not the placeholder 2.718, and must not be replaced"
                remedy = 'in [TRAINING] write: score-settings = "--PhraseCount"'
                raise block.error(row, problem, remedy)
    return scores


def _with_ending(stem: str) -> Path:
    return Path(stem if stem.endswith(_ENDING) else stem + _ENDING)


def _run(*arguments: str) -> None:
    if status := run(phrasescore_command(arguments)).returncode:
        raise SettingsError(
            f"phrasescore {arguments[0]} ended with status {status}",
            remedy="its messages are above; EMS keeps them in steps/*/…STDERR",
        )


@click.command()
@click.argument("stem", metavar="IN")
@click.argument("output", metavar="OUT")
@click.option("--model", required=True, metavar="FOLDER", help="The model; trained if missing.")
@click.option("--train", default="", metavar="OPTIONS", help="Options of phrasescore train.")
@click.option("--score", default="", metavar="OPTIONS", help="Options of phrasescore score.")
def rescoring_step(stem: str, output: str, model: str, train: str, score: str) -> None:
    """Write OUT.gz: the phrase table IN.gz with a model's score in place of the last score."""
    table = _with_ending(stem)
    if not table.is_file():
        problem = "no such file, where EMS should have put the phrase table"
        remedy = "check whether the step TRAINING:build-ttable succeeded"
        raise InputError(problem, path=table, remedy=remedy)
    column = place_holder(table)
    if not Path(model).exists():
        _run("train", str(table), model, *train.split())
    _run(
        *("score", str(table), "--model", model, "-o", str(_with_ending(output))),
        *("--replace-column", str(column), *score.split()),
    )


def main() -> None:
    """Run the step for EMS, which treats any exit status except 0 as a failure."""
    try:
        rescoring_step()
    except PhrasescoreError as error:
        click.echo(f"phrasescore: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
