"""``phrasescore doctor``: what will go wrong with a system, before hours of tuning."""

from __future__ import annotations

import sys

import click


@click.command("doctor")
@click.argument("ini", metavar="MOSES_INI")
@click.option("--source", metavar="FILE", help="The text to tune on, as Moses gets it.")
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="FILE",
    help="Its translation; may be repeated, or be the part of several names before 0, 1, ...",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="FOLDER",
    help="A phrase model, to see which words it knows.",
)
@click.option(
    "--work-dir",
    default="mert-work",
    show_default=True,
    metavar="FOLDER",
    help="The working folder of mert-moses.pl, to see whether it has anything stale.",
)
@click.option(
    "--moses", "moses", metavar="FILE", help="Let this Moses (or the one in this folder) read it."
)
@click.option("--json", "json_path", metavar="FILE", help="Also write the findings as JSON.")
@click.option("--strict", is_flag=True, help="Count warnings as errors in the exit status.")
def doctor(
    ini: str,
    source: str | None,
    references: tuple[str, ...],
    models: tuple[str, ...],
    work_dir: str,
    moses: str | None,
    json_path: str | None,
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
    from phrasescore.provenance import write_json

    if references and source is None:
        raise SettingsError("--reference without --source", remedy="give both")
    binary = find_moses(moses) if moses is not None else None
    diagnosis = examine(Examined(ini, source, references, models, work_dir, binary))
    sys.stdout.buffer.write(f"{diagnosis}\n".encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    if json_path is not None:
        write_json(json_path, diagnosis.to_json())
    if not diagnosis.is_healthy(strict=strict):
        raise click.exceptions.Exit(1)
