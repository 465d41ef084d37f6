"""Paths on the command line: they are declared as inputs or outputs, and checked.

Each option or argument whose value is a path has one of the types below. A path is compared with
the earlier paths of the same call, so that no output replaces an input or another output. Whether
outputs can be written is also checked before the work begins.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import click

from phrasescore.errors import STANDARD_OUTPUT, SettingsError, refusal
from phrasescore.runs.file_kinds import STANDARD_STREAM, can_be_read_again, is_stream
from phrasescore.runs.final_names import scratch_folder

# A key of the attribute `meta` of a click context. If this key is present, the command is only
# planned, not run, and the value is a list that collects the paths.
PLANNED = "phrasescore.commands.paths: planned"


class Use(Enum):
    """The way in which a command uses a path."""

    READ = "reads"
    READ_FOLDER = "reads from"
    WRITE = "writes"
    WRITE_FOLDER = "writes into"

    @property
    def writes(self) -> bool:
        """Whether the command may replace the file, or files in the folder."""
        return self in (Use.WRITE, Use.WRITE_FOLDER)


@dataclass(frozen=True)
class _Named:
    """A path of this call.

    Args:
        path: The path as the user wrote it.
        use: The use of the path.
        label: The option or argument that names the path.
        may_replace: The label of an input that this path may replace, or of an output with which it
            may share standard output.
    """

    path: str
    use: Use
    label: str
    may_replace: str = ""

    @functools.cached_property
    def found(self) -> os.stat_result | None:
        """The ``os.stat`` of the file or of a standard stream's file; ``None`` if that fails."""
        with contextlib.suppress(OSError):
            if self.path == STANDARD_STREAM and self.use in (Use.READ, Use.WRITE):
                return os.fstat(1 if self.use.writes else 0)
            return Path(self.path).stat()
        return None


class PathName(click.Path):
    """The name of a file or folder, which a shell can complete.

    Args:
        use: The use of the path; for a file, ``-`` is standard input or output.
        kind: The type of the value that is passed to the command.
        may_replace: The label of an input of the call that this path may replace, or of an output
            with which it may share standard output.
    """

    def __init__(
        self, use: Use, kind: type[str] | type[Path] = str, *, may_replace: str = ""
    ) -> None:
        is_folder = use in (Use.READ_FOLDER, Use.WRITE_FOLDER)
        super().__init__(file_okay=not is_folder)
        self._use, self._kind, self._may_replace = use, kind, may_replace
        self.metavar = "FOLDER" if is_folder else "FILE"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | Path:
        """Check the path by itself and against the earlier paths of the call.

        Raises:
            InputError: The current folder does not exist.
            SettingsError: An output cannot be written, or would replace another file of the call.
        """
        text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
        label = label_of(param)
        if text.startswith("--"):  # a file of this name can be written ./--name
            raise SettingsError(f"a file is missing for {label}, which is followed by {text}")
        if ctx is not None and PLANNED in ctx.meta:
            ctx.meta[PLANNED].append((text, self._use))
        elif ctx is not None and not ctx.resilient_parsing:
            _refuse_impossible(text, label, self._use)
            named = _Named(text, self._use, label, self._may_replace)
            _add(named, ctx)
            if self._use.writes:
                _refuse_unwritable(named)
        return self._kind(text)


INPUT = PathName(Use.READ)
INPUT_FOLDER = PathName(Use.READ_FOLDER)
OUTPUT = PathName(Use.WRITE)
OUTPUT_FOLDER = PathName(Use.WRITE_FOLDER)


def takes_standard_output(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    """Reserve standard output for a flag that prints there; this is the callback of the flag.

    Raises:
        SettingsError: Standard output is also an input, or another output is written to it.
    """
    if value and not ctx.resilient_parsing:
        _add(_Named(STANDARD_STREAM, Use.WRITE, label_of(param)), ctx)
    return value


def refuse_replaced_inputs(inputs: Iterable[tuple[str, str | Path]]) -> None:
    """Raise an error if an output would replace an input that no option or argument names.

    Args:
        inputs: For each such input, a label such as ``the phrase table of the ini``, and the path
            of a file or folder.

    Raises:
        SettingsError: An output would replace one of these inputs.
    """
    context = click.get_current_context()
    for label, path in inputs:
        use = Use.READ_FOLDER if Path(path).is_dir() else Use.READ
        for other in context.meta.get(__name__, ()):
            _refuse_clash(_Named(str(path), use, label), other)


def add_outputs(label: str, paths: Iterable[Path]) -> None:
    """Compare files in an output folder with the paths of the call, as if an option named them.

    Raises:
        SettingsError: One of the files is also an input or another output.
    """
    context = click.get_current_context()
    for path in paths:
        _add(_Named(str(path), Use.WRITE, label), context)


def _add(named: _Named, context: click.Context) -> None:
    """Compare a path with the earlier paths, and store it for comparisons with later paths."""
    before = context.meta.setdefault(__name__, [])
    for other in before:
        _refuse_clash(named, other)
    before.append(named)


def label_of(param: click.Parameter | None) -> str:
    """Return the name of a parameter for users: the longest spelling, or an argument's name."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    # click writes optional arguments in brackets
    return param.human_readable_name.strip("[].") if param is not None else "the path"


def _refuse_impossible(text: str, label: str, use: Use) -> None:
    if not text:
        raise SettingsError(f"{label} has an empty name", remedy="name a file or folder")
    # a control character would break a moses.ini, a list or a message
    if use.writes and any(ord(letter) < 32 for letter in text):
        problem = "the name has a control character"
        raise SettingsError(problem, path=text, remedy="choose another name")
    if text != STANDARD_STREAM and not Path(text).is_absolute():
        try:
            Path.cwd()
        except OSError as error:
            raise refusal(error) from None


def _refuse_clash(one: _Named, other: _Named) -> None:
    """Raise an error if an output is also an input or another output, or both use one stream."""
    both_files = one.use is other.use and one.path != STANDARD_STREAM
    if not both_files and (one.may_replace == other.label or other.may_replace == one.label):
        return
    if one.path == other.path == STANDARD_STREAM and one.use is other.use:
        verb = "go to standard output" if one.use.writes else "read standard input"
        is_repeated = one.label == other.label
        labels = f"two values of {one.label}" if is_repeated else f"{other.label} and {one.label}"
        raise SettingsError(f"{labels} would both {verb}", remedy="name a file for one of them")
    if one.use.writes and other.use.writes and _is_same(one, other):
        raise SettingsError(
            f"{other.label} and {one.label} would write the same file",
            path=one.path,
            remedy="name another output",
        )
    if one.use.writes == other.use.writes:
        return
    written, read = (one, other) if one.use.writes else (other, one)
    if _is_same(written, read) or _is_within(written, read):
        raise SettingsError(
            f"{written.label} would replace an input: {read.label}",
            path=STANDARD_OUTPUT if written.path == STANDARD_STREAM else written.path,
            remedy="name another output",
        )


def _is_same(one: _Named, other: _Named) -> bool:
    if one.found is None or other.found is None:
        both_new = one.found is None and other.found is None
        streams = STANDARD_STREAM in (one.path, other.path)
        return both_new and not streams and _absolute(one.path) == _absolute(other.path)
    # a device such as /dev/null takes any number of outputs
    kept = stat.S_ISREG(one.found.st_mode) or stat.S_ISDIR(one.found.st_mode)
    return kept and os.path.samestat(one.found, other.found)


def _is_within(written: _Named, read: _Named) -> bool:
    """Tell whether an output is a file in a folder that is read, at any depth.

    A new file may be in a folder of data, but not in a model folder, which has a list of its files.
    """
    if written.use is not Use.WRITE or read.use is not Use.READ_FOLDER or read.found is None:
        return False
    matters = written.found is not None or Path(read.path, "SHA256SUMS").exists()
    if written.path == STANDARD_STREAM or not matters:
        return False
    with contextlib.suppress(OSError):
        folder = Path(written.path).parent.resolve()
        there = (folder, *folder.parents)
        return any(os.path.samestat(each.stat(), read.found) for each in there)
    return False


def _absolute(text: str) -> Path:
    path = Path(text)
    return path.parent.resolve() / path.name


def _refuse_unwritable(named: _Named) -> None:
    path = Path(named.path)
    if named.use is Use.WRITE_FOLDER:
        refuse_unwritable_folder(path)
        return
    if named.path == STANDARD_STREAM:
        if fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise SettingsError("standard output is closed", remedy="name a file")
        return
    if is_stream(path):
        return
    if named.found is not None and stat.S_ISDIR(named.found.st_mode):
        raise SettingsError("a folder, where a file was expected", path=path, remedy="name a file")
    with scratch_folder(path):
        pass


def refuse_unwritable_folder(path: Path) -> None:
    """Raise an error if a folder for outputs cannot be created or written.

    Raises:
        SettingsError: The folder cannot be created or written; the error states the reason.
    """
    there, problem, remedy = path.absolute(), "", "name another folder"
    while not (there.exists() or there.is_symlink()):
        there = there.parent
    if path.exists() and not path.is_dir():
        problem, remedy = "a file, where a folder was expected", "name a folder"
    elif os.path.realpath(path) == "/":
        problem, remedy = "the root folder cannot be the output folder", "name a folder in it"
    elif not there.exists():
        problem = "this is a broken symbolic link"
    elif not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        problem = "cannot write there"
    if problem:
        raise SettingsError(problem, path=path, remedy=remedy)


def warn_of_raw_text(paths: Iterable[str | Path], advice: str = "preprocess it first") -> None:
    """Warn of each text that looks raw where tokens are needed; a pipe can be read only once."""
    from phrasescore.table.input_files import file_looks_raw  # late: it would slow --help down

    for path in paths:
        if can_be_read_again(path) and file_looks_raw(path):
            click.echo(f"warning: {path} looks like raw text; {advice}", err=True)
