"""Files that others may have damaged, moved or not finished: read, or a sentence why not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from phrasescore.errors import PhrasescoreError
from phrasescore.files.json_files import parse_object

# what reading the content of a file of ours may raise if it is none
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, OverflowError)


def why_not(path: Path, error: Exception) -> str:
    """Say in a sentence why a file is left out of the report."""
    if isinstance(error, PhrasescoreError):
        return str(error)
    if isinstance(error, OSError):
        return f"{path}: it cannot be read ({error.strerror or error})."
    return f"{path}: not what phrasescore writes ({type(error).__name__}: {error}); it is left out."


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects in a file, one a line; a last line that is not whole yet is left out.

    Raises:
        OSError: It cannot be read.
        JsonError: A line is no object.
    """
    for line in path.read_bytes().split(b"\n")[:-1]:
        yield parse_object(line)


def located(path: str, near: Path) -> Path:
    """Return where a file is that a command named, which may have run in another folder.

    A folder of results may have moved: what lies beside it as it lay then is preferred.

    Args:
        path: As the command named it.
        near: The folder of the file that says so.
    """
    return next((found for found in _places(Path(path), near) if found.is_file()), Path(path))


def _places(path: Path, near: Path) -> Iterable[Path]:
    near = near.absolute()
    parts = path.parts[1:] if path.is_absolute() else path.parts
    for begin in range(len(parts)):
        yield near.joinpath(*parts[begin:])
    yield path
    for folder in near.parents if not path.is_absolute() else ():
        yield folder / path


def flat(weights: dict[str, Any]) -> dict[str, float]:
    """Return weights by component: ``LM0``, ``TranslationModel0_0``, ``TranslationModel0_1``."""
    found = {}
    for name, values in weights.items():
        numbers = values if isinstance(values, list) else [values]
        for place, number in enumerate(numbers):
            found[name if len(numbers) == 1 else f"{name}_{place}"] = float(number)
    return found


def optional(value: Any) -> float | None:
    """Return a number, or none where the file has none."""
    return None if value is None else float(value)
