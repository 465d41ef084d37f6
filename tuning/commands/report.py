"""``phrasescore report``: shows the content of a results folder on one page."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from phrasescore.commands.declarations import Options, argument, command, option
from phrasescore.commands.options import show_notes
from phrasescore.commands.paths import PathName, Use
from phrasescore.errors import SettingsError
from phrasescore.runs.file_kinds import STANDARD_STREAM

_FOLDER = "RESULTS/"
_PAGES = (".html", ".htm")


class ReportOptions(Options):
    """Options of ``report``."""

    folder: Path = argument(PathName(Use.READ_FOLDER, Path), _FOLDER)
    output: Path = option(
        # the page itself may lie in the results folder
        PathName(Use.WRITE, Path, may_replace=_FOLDER),
        "The page to write.",
        "-o",
        required=True,
        metavar="FILE.html",
    )


@command("report", ReportOptions)
def report(options: ReportOptions) -> None:
    """Write one page about RESULTS/ of improve, experiment, tune, train, compare or the demo.

    The page is a single file that needs no network. It shows scores with their intervals and
    p-values, curves of training and tuning, weights and versions. Results may be up to five folders
    deep. Only files in RESULTS/ are read, so a page about other people's results never shows yours.

    Needs optional packages: pip install 'phrasescore[report]'.
    """
    folder, output = options.folder, options.output
    to_stream = str(output) == STANDARD_STREAM
    inside = not to_stream and output.absolute().is_relative_to(folder.absolute())
    if inside and output.suffix.lower() not in _PAGES:
        raise SettingsError(
            "the command writes only pages into RESULTS/, and this name does not end in .html",
            path=output,
            remedy="end the name in .html",
        )
    from tuning.report.report_page import check_page, read_results, write_report

    check_page()
    results = read_results(folder)
    show_notes((*results.notes, *results.unfinished))
    click.echo(f"{output}: {results.holds}", err=to_stream)
    # if the message cannot be printed, no page is written
    sys.stdout.flush()
    write_report(output, results)
