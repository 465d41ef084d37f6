"""A model becomes a folder: under its name there is the old one or the new one, whatever happens.

The new folder is written beside it under a hidden name. Then the old one moves aside, the new one
takes its name, and the old one is removed, file by file, and only what a model consists of. What a
kill leaves of that, the next one that saves or trains puts right: :func:`put_right`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phrasescore.errors import ModelError, SettingsError, visible
from phrasescore.model.folder_digests import read_digests, write_digests
from phrasescore.model.folder_names import (
    ALL,
    CONFIG,
    CURVES,
    DIGESTS,
    FORMAT,
    PROVENANCE,
    SOURCE_VOCABULARY,
    TARGET_OUTSIDE,
    TARGET_VOCABULARY,
    WEIGHTS,
    is_model_folder,
    replaced,
)
from phrasescore.model.kinds import kind_named
from phrasescore.runs.byte_streams import write_atomically
from phrasescore.runs.parts import part_path, remove
from phrasescore.runs.provenance import write_json
from phrasescore.words.outside_words import NO_OUTSIDE_WORDS, OutsideWords
from phrasescore.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from phrasescore.model.sequence_model import SequenceModel


def save_model(
    folder: Path,
    model: SequenceModel,
    vocabularies: tuple[Vocabulary, Vocabulary],
    provenance: dict[str, Any],
    *,
    curves: Path | None = None,
    outside: OutsideWords = NO_OUTSIDE_WORDS,
) -> None:
    """Write a model folder; it gets its name when it is whole, and replaces an older one.

    Args:
        folder: Its name.
        model: On any device.
        vocabularies: Source and target; only the target's is written where it reads no source.
        provenance: Where it comes from.
        curves: A learning curve to keep beside it.
        outside: The words outside the target vocabulary.

    Raises:
        SettingsError: Something else is there than a model.
    """
    from safetensors import torch as torch_files

    put_right(folder)
    refuse_others(folder)
    part = part_path(folder)
    part.mkdir(parents=True)
    try:
        weights = {name: value.cpu().contiguous() for name, value in model.state_dict().items()}
        write_atomically(part / WEIGHTS, torch_files.save(weights))
        write_json(part / CONFIG, {"format": FORMAT, **dataclasses.asdict(model.settings)})
        if kind_named(model.settings.kind).reads_source:
            vocabularies[0].write(part / SOURCE_VOCABULARY)
        vocabularies[1].write(part / TARGET_VOCABULARY)
        outside.write(part / TARGET_OUTSIDE)
        write_json(part / PROVENANCE, provenance)
        if curves is not None and curves.exists():
            write_atomically(part / CURVES, curves.read_bytes())
        write_digests(part)
        _give_name(part, folder)
    except BaseException:
        put_right(folder)
        remove(part)
        raise
    put_right(folder)


def put_right(folder: Path) -> None:
    """Undo or end what a kill interrupted while one model took the place of another."""
    before = replaced(folder)
    if before.is_symlink() or not before.is_dir():
        return
    if not os.path.lexists(folder) and is_model_folder(before):
        before.rename(folder)
    else:
        _remove_model(before)


def refuse_others(folder: Path) -> None:
    """See whether a model may be written there: nothing is lost but a model.

    Raises:
        SettingsError: Something else is there, or something else in the folder of a model.
    """
    if os.path.lexists(replaced(folder)):
        raise _something_else(replaced(folder))
    if not os.path.lexists(folder):
        return
    _refuse_others_in(folder)


def _refuse_others_in(folder: Path) -> None:
    if folder.is_symlink() or not is_model_folder(folder):
        raise _something_else(folder)
    others = sorted({path.name for path in folder.iterdir()} - _names(folder))
    if others:
        shown = visible(os.fsencode(others[0]), 80)
        raise SettingsError(
            f"the model's folder has {shown} in it, which training did not write",
            path=folder,
            remedy="move that away, or name another folder",
        )


def _something_else(folder: Path) -> SettingsError:
    return SettingsError("something else is there", path=folder, remedy="name another folder")


def _give_name(part: Path, folder: Path) -> None:
    """Let a whole new folder take the place of an old one, or of nothing."""
    if os.path.lexists(folder):
        folder.rename(replaced(folder))
        try:
            # what came into it meanwhile has moved along, and must move back
            _refuse_others_in(replaced(folder))
        except SettingsError as error:
            replaced(folder).rename(folder)
            error.path = folder
            raise
    try:
        part.rename(folder)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise _something_else(folder) from None
    except OSError:
        if os.path.lexists(folder):
            raise _something_else(folder) from None
        raise


def _names(folder: Path) -> set[str]:
    """The names that the files of a model may have, those of a newer version too."""
    known = set(ALL)
    with contextlib.suppress(ModelError, OSError):
        known |= read_digests(folder).keys()
    return known


def _remove_model(folder: Path) -> None:
    """Remove the files of a model, first what makes it one; a folder with others in it stays."""
    names = _names(folder) - {DIGESTS}
    for name in (DIGESTS, *sorted(names)):
        if os.sep not in name:
            with contextlib.suppress(OSError):
                (folder / name).unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()
