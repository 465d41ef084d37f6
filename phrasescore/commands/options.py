"""Options that several commands share, with the code that uses them, and the types of numbers.

Numbers on the command line are finite and within bounds. Without a maximum, an option could request
more memory or time than there is, or its value might not fit into a machine word. Each option
therefore has a maximum, well above any useful value.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from phrasescore.closed_settings import Between
from phrasescore.commands.declarations import Field, Options, flag, option
from phrasescore.commands.paths import INPUT_FOLDER, OUTPUT, OUTPUT_FOLDER, takes_standard_output
from phrasescore.errors import SettingsError


class BoundedInt(click.IntRange):
    """A whole number within bounds, both included."""

    name, metavar = "whole number", "N"


class BoundedFloat(click.FloatRange):
    """A finite number within bounds."""

    name, metavar = "number", "NUMBER"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number; refuse nan, which click would accept."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return number


def bounded(bounds: Between, *, whole: bool) -> BoundedInt | BoundedFloat:
    """Return the click type of a number that has the bounds of a setting."""
    if whole:
        return BoundedInt(int(bounds.low), int(bounds.high))
    return BoundedFloat(bounds.low, bounds.high, max_open=bounds.below)


THREADS = BoundedInt(1, 256)
# up to 2^53, which stays exact if a JSON reader turns it into a floating-point number
SEED = BoundedInt(0, 1 << 53)
FACTOR = BoundedInt(0, 99)
# number of words of a sentence or phrase
WORDS = BoundedInt(1, 10_000)
# number of pairs, sentences or words, up to the size of a corpus
ITEMS = BoundedInt(1, 10**12)
# number of items that a model computes at a time
BATCH = BoundedInt(1, 10**6)
# number of hypotheses of a neural model for each source
BEAM = BoundedInt(1, 1000)
# position of a score among the scores of a line of a phrase table, counted from 1
COLUMN = BoundedInt(1, 10_000)


def say(line: str) -> None:
    """Print a line for the user to standard error."""
    click.echo(line, err=True)


def show_notes(notes: Iterable[str]) -> None:
    """Print notes for the user."""
    for note in notes:
        say(f"note: {note}")


def output_file(what: str, **attributes: Any) -> Field:
    """Declare ``-o FILE`` for the output of a command."""
    text = f"Where to write {what}; gzip if the name ends in .gz; - is standard output."
    return option(OUTPUT, text, "-o", required=True, **attributes)


def output_folder(text: str) -> Field:
    """Declare ``-o FOLDER``, which is required."""
    return option(OUTPUT_FOLDER, text, "-o", required=True)


def model_folders(text: str, *, required: bool = True) -> Field:
    """Declare ``--model FOLDER``, which may be repeated."""
    return option(INPUT_FOLDER, text, "--model", many=True, required=required)


def factor(owner: str) -> Field:
    """Declare ``--factor N``; the default is the factor of the ``owner``."""
    text = "The factor of tokens such as surface|tag to score, counted from 0."
    return option(FACTOR, f"{text}  [default: {owner} own]")


CORES: Field = option(THREADS, "Cores to use.  [default: all]")
MODEL: Field = option(INPUT_FOLDER, "A model folder.", required=True)
PAIRS: Field = option(BATCH, "The number of pairs to score at a time.", metavar="PAIRS")


def device_name(text: str) -> str:
    """Check the syntax of a device name; `choose_device` checks whether the device exists."""
    if not re.fullmatch(r"auto|cpu|cuda(:(0|[1-9][0-9]{0,3}))?", text):
        raise click.BadParameter(f"{text!r} is not a device; write auto, cpu, cuda or cuda:1")
    return text


class Device(Options):
    """The device that a command computes on."""

    device: str = option(
        device_name,
        "The device to compute on; auto is the first GPU, or else the CPU.",
        default="auto",
        metavar="auto|cpu|cuda|cuda:N",
    )


class Computing(Device):
    """The device and the threads that a command computes with."""

    threads: int | None = option(THREADS, "The number of CPU threads.")

    def use_threads(self) -> None:
        """Set the number of torch's threads if ``--threads`` is given."""
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)


class Result(Options):
    """The forms of a command's result: text, JSON, or both."""

    as_json: bool = flag("Print JSON instead of text.", "--json", callback=takes_standard_output)
    json_file: str | None = option(OUTPUT, "Write the result as JSON to this file, too.")

    def show(self, result: Mapping[str, object], text: str = "") -> None:
        """Print a result as JSON or as text, and write it to a file if requested.

        Args:
            result: JSON values by name, printed in this order; the file has them sorted.
            text: The text, with a final line feed; empty if JSON alone goes to standard output.

        Raises:
            SettingsError: The file cannot be written.
        """
        from phrasescore.runs.json_files import json_bytes, write_json
        from phrasescore.runs.results import VERSION

        context = click.get_current_context()
        kind = context.command_path.removeprefix(context.find_root().command_path).strip()
        result = {"kind": kind, "version": VERSION, **result}
        if self.as_json:
            sys.stdout.buffer.write(json_bytes(result))
        else:
            click.echo(text, nl=False)
        # write standard output first: if this fails, there must be no file that reports success
        sys.stdout.flush()
        if self.json_file is not None:
            write_json(self.json_file, result)


class LengthNormalisation(Options):
    """Length normalisation in a beam search."""

    length_normalisation: bool = flag(
        "Rank targets by ln p divided by the number of words; the end counts as a word."
    )


class Reordering(Options):
    """The reordering table of a phrase table; commands declare ``reordering`` themselves."""

    reordering: str | None
    reordering_output: str | None = option(OUTPUT, "Where to write the reordering table.")

    def reordering_pair(self, output: str) -> tuple[str, str] | None:
        """Return the reordering table to read and the one to write, or ``None`` for neither.

        Args:
            output: The phrase table that is written.

        Raises:
            SettingsError: Only one of the two tables is given, or the output is not a file.
            ResumeError: Another process is writing the new reordering table.
        """
        from phrasescore.runs.final_names import hidden, own_file
        from phrasescore.runs.lock import held
        from phrasescore.runs.stream import keeps_work

        old, new = self.reordering, self.reordering_output
        if (old is None) != (new is None):
            raise SettingsError(
                "--reordering and --reordering-output go together",
                remedy="name the reordering table and where to write it",
            )
        if old is None or new is None:
            return None
        if not keeps_work(output):
            raise SettingsError(
                "with a reordering table, the output must be a file", remedy="name a file with -o"
            )
        if keeps_work(new):
            # the table is written last, but another process that writes it, or a link with the
            # name of a work file, must be noticed before the work begins
            with held(new):
                for work in (hidden(new, "part"), hidden(new, "journal")):
                    if os.path.lexists(work):
                        own_file(work, os.O_APPEND).close()
        return old, new


@contextlib.contextmanager
def resumable(inputs: Iterable[str], outputs: Sequence[str]) -> Iterator[None]:
    """If the user interrupts the block, say how to continue, unless one of the files is a pipe.

    Args:
        inputs: The input files.
        outputs: The output files; the message names the first.
    """
    from phrasescore.runs.file_kinds import can_be_read_again
    from phrasescore.runs.interruption import interruptible
    from phrasescore.runs.stream import keeps_work

    can_continue = all(map(can_be_read_again, inputs)) and all(map(keeps_work, outputs))
    with interruptible(outputs[0]) if can_continue else contextlib.nullcontext():
        yield
