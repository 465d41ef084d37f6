"""Files of results, which a stranger may have made: where they may lie, and their typed content."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from moses_integration.system_building.corpus.text_preparation import read_text
from phrasescore.closed_settings import Between, from_mapping
from phrasescore.errors import InputError, PhrasescoreError, SettingsError
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.json_files import JsonError, parse_object

T = TypeVar("T")
# figures have room for numbers within these bounds; results are far within
Number = Annotated[float, Between(-1e9, 1e9)]
Seconds = Annotated[float, Between(0, 1e12)]
Probability = Annotated[float, Between(0, 1)]
Count = Annotated[int, Between(0, 10**15)]
Positive = Annotated[int, Between(1, 10**15)]
_LONGEST_NAME = 4096


class ResultFiles:
    """The files that a report may read: those in its folder, and those that the user named.

    Links are resolved first. So a folder from a stranger shows nothing of the reader's own files,
    whatever it names.

    Args:
        folder: What is reported.
        named: Further folders and files that the user named.
    """

    def __init__(self, folder: Path, named: Sequence[Path] = ()) -> None:
        self._near = [path for path in (folder, *named) if path.is_dir()]
        self._named = [path for path in named if not path.is_dir()]
        self._allowed = [Path(os.path.realpath(path)) for path in (folder, *named)]

    def may_read(self, path: Path) -> bool:
        """Tell whether a path leads to an allowed place."""
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(allowed) for allowed in self._allowed)

    def read(self, kind: type[T], path: Path) -> T:
        """Return the object in a file of JSON as a dataclass; keys that it lacks are left out.

        Raises:
            InputError: The file cannot be read, lies elsewhere, or is not of this kind.
        """
        return typed(kind, self.content(path), path)

    def content(self, path: Path) -> dict[str, Any]:
        """Return the object in a file of JSON.

        Raises:
            InputError: The file cannot be read, lies elsewhere, or has no object.
        """
        return _object(self.bytes(path), path)

    def read_lines(self, kind: type[T], path: Path) -> list[T]:
        """Return the objects in a file, one a line; a last line that is not whole is left out.

        Raises:
            InputError: The file cannot be read, lies elsewhere, or has a line of another kind.
        """
        lines = self.bytes(path).split(b"\n")[:-1] if path.exists() else []
        return [typed(kind, _object(line, path), path) for line in lines]

    def bytes(self, path: Path) -> bytes:
        """Return the content of a file of bounded size.

        Raises:
            InputError: The file cannot be read, or lies elsewhere.
        """
        self._check(path)
        try:
            return read_regular(path)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", path=path) from None

    def text(self, path: Path) -> tuple[str, ...]:
        """Return the lines of a text.

        Raises:
            PhrasescoreError: The file cannot be read, lies elsewhere, or is no text.
        """
        self._check(path)
        if not os.path.isfile(path):  # noqa: PTH113 - it takes a name of any bytes and length
            raise InputError("there is no such file", path=path)
        return tuple(read_text(path))

    def located(self, name: str, near: Path) -> Path:
        """Return where a file is that a command named, which may have run in another folder.

        A folder of results may have moved: what lies beside it as it lay then is preferred.

        Args:
            name: As the command named the file.
            near: The folder of the file that says so.

        Raises:
            InputError: No such file may be read.
        """
        for path in self._places(Path(name), near) if len(name) <= _LONGEST_NAME else ():
            if os.path.isfile(path) and self.may_read(path):  # noqa: PTH113 - as above
                return path
        raise InputError(
            "no such file lies in the results, and others are not read",
            path=name,
            remedy="name the folder where it lies with --data",
        )

    def _places(self, path: Path, near: Path) -> Iterable[Path]:
        parts = path.parts[1:] if path.is_absolute() else path.parts
        for folder in (near.absolute(), *self._near):
            for begin in range(len(parts)):
                yield folder.joinpath(*parts[begin:])
        yield path
        for folder in near.absolute().parents if not path.is_absolute() else ():
            yield folder / path
        yield from (named for named in self._named if named.name == path.name)

    def _check(self, path: Path) -> None:
        if not self.may_read(path):
            raise InputError(
                "a link that leads out of the results, which is not followed",
                path=path,
                remedy="name the folder that it leads to with --data",
            )


def typed(kind: type[T], content: Mapping[str, Any], path: Path) -> T:
    """Return an object of JSON as a dataclass; keys that the dataclass lacks are left out.

    Raises:
        InputError: A value is missing, or of another type.
    """
    try:
        return from_mapping(kind, content, where="not what phrasescore writes", only_known=False)
    except SettingsError as error:
        raise InputError(error.problem, path=path) from None


def left_out(error: PhrasescoreError) -> str:
    """Say in a sentence that a file is left out of the report."""
    return f"{error} It is left out."


def _object(text: bytes, path: Path) -> dict[str, Any]:
    try:
        return parse_object(text)
    except JsonError as error:
        raise InputError(f"not what phrasescore writes: {error}", path=path) from None


def flat(weights: Mapping[str, Sequence[float]]) -> Iterator[tuple[str, float]]:
    """Yield weights by component: ``LM0``, ``TranslationModel0_0``, ``TranslationModel0_1``."""
    for name, values in weights.items():
        for place, number in enumerate(values):
            yield (name if len(values) == 1 else f"{name}_{place}"), number
