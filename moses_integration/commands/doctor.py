"""``phrasescore doctor``: find the faults of a system before hours of tuning."""

from __future__ import annotations

import contextlib

import click

from moses_integration.commands.options import INI, read_ini
from phrasescore.commands.declarations import command, flag, option
from phrasescore.commands.options import Result, model_folders
from phrasescore.commands.paths import INPUT
from phrasescore.errors import InputError


class DoctorOptions(Result):
    """Options of ``doctor``."""

    ini: str = INI
    source: str | None = option(INPUT, "The text to tune on, prepared for Moses.")
    reference: tuple[str, ...] = option(
        INPUT,
        "A reference translation of this text; may be repeated.",
        many=True,
        needs=("source",),
    )
    models: tuple[str, ...] = model_folders(
        "A phrase model whose vocabulary to compare with the text; may be repeated.", required=False
    )
    moses: str | None = option(
        INPUT, "A Moses binary, or its folder: check that this Moses can read the moses.ini."
    )
    strict: bool = flag("Count warnings as errors in the exit status.")


@command("doctor", DoctorOptions)
def doctor(options: DoctorOptions) -> None:
    """Find faults that would stop tuning or decoding, or silently make translations worse.

    The command checks SYSTEM against the files that it names, the text to tune on with its
    references, and phrase models. It judges for real Moses and for the embedded decoder: the exit
    status is 1 if errors keep both (with --moses, real Moses) from using the system, or with
    --strict if there is a warning, else 0. Relative paths in the ini start at the current
    directory, as in Moses, or in the folder if SYSTEM is a folder.
    """
    from moses_integration.doctor.examination import examine
    from moses_integration.real_moses import find_moses

    with contextlib.suppress(InputError):  # `examine` reports these
        read_ini(options.ini)
    binary = find_moses(options.moses) if options.moses is not None else None
    ini, source, references = options.ini, options.source, options.reference
    diagnosis = examine(ini, source, references, options.models, moses=binary)
    options.show(diagnosis.to_json(), f"{diagnosis}\n")
    verdicts = diagnosis.usable
    unusable = not (verdicts["moses"] if binary is not None else any(verdicts.values()))
    if unusable or (options.strict and diagnosis.count("warning")):
        raise click.exceptions.Exit(1)
