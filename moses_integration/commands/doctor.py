"""``phrasescore doctor``: what will go wrong with a system, before hours of tuning."""

from __future__ import annotations

import sys

import click

from phrasescore.commands.options import json_file_option, print_result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER

# what --json without a file gives
_NO_FILE = ""


@click.command("doctor")
@click.argument("ini", type=INPUT, metavar="MOSES_INI", required=False)
@click.option("--source", type=INPUT, metavar="FILE", help="The text to tune on, as Moses gets it.")
@click.option(
    "--reference",
    "references",
    multiple=True,
    type=INPUT,
    metavar="FILE",
    help="Its translation; may be repeated, or be the part of several names before 0, 1, ...",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    type=INPUT_FOLDER,
    metavar="FOLDER",
    help="A phrase model, to see which words it knows.",
)
@click.option(
    "--work-dir",
    default="mert-work",
    show_default=True,
    type=INPUT,
    metavar="FOLDER",
    help="The working folder of mert-moses.pl, to see whether it has anything stale.",
)
@click.option(
    "--moses",
    "moses",
    type=INPUT,
    metavar="FILE",
    help="Let this Moses (or the one in this folder) read it.",
)
@click.option(
    "--json",
    "json_form",
    is_flag=False,
    flag_value=_NO_FILE,
    metavar="[FILE]",
    help="Print JSON instead of text; with a FILE, do as --json-file does.",
)
@json_file_option()
@click.option("--strict", is_flag=True, help="Count warnings as errors in the exit status.")
def doctor(
    ini: str | None,
    source: str | None,
    references: tuple[str, ...],
    models: tuple[str, ...],
    work_dir: str,
    moses: str | None,
    json_form: str | None,
    json_file: str | None,
    strict: bool,
) -> None:
    """Look for everything that would fail, or silently make translations worse.

    MOSES_INI, the files it names, the text to tune on with its references, and phrase models are
    compared with one another. The exit status is 1 if there is an error (with --strict, or a
    warning), else 0. Relative paths resolve against the current directory, as in Moses.
    """
    from moses_integration.doctor.examination import Examined, examine
    from moses_integration.real_moses.decoder import find_moses
    from phrasescore.errors import SettingsError

    if ini is None:
        # what stands behind --json is then the ini
        ini, json_form = json_form, _NO_FILE
    if not ini:
        raise click.UsageError("Missing argument 'MOSES_INI'.")
    if json_form and json_file:
        raise click.UsageError("--json FILE and --json-file are the same: give one of them.")
    if references and source is None:
        raise SettingsError("--reference without --source", remedy="give both")
    binary = find_moses(moses) if moses is not None else None
    diagnosis = examine(Examined(ini, source, references, models, work_dir, binary))
    as_json = json_form == _NO_FILE
    if not as_json:
        click.echo(str(diagnosis))
        sys.stdout.flush()
    print_result(diagnosis.to_json(), as_json, json_form or json_file)
    if not diagnosis.is_healthy(strict=strict):
        raise click.exceptions.Exit(1)
