"""Copies a system with all its files into one folder, whose paths are relative to the folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from moses_integration.ini.model_files import find_model_file, named_paths
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.rescoring_file import carry_rescoring
from moses_integration.tables.filtering import INI_NAME
from moses_integration.text.preparation import carry_settings
from phrasescore.errors import InputError, SettingsError
from phrasescore.model.folder import copy_model
from phrasescore.runs.file_kinds import refuse_pipe
from phrasescore.runs.final_names import file_name, scratch_folder, write_atomically


def pack_system(ini: MosesIni, folder: Path) -> dict[str, Path]:
    """Copy a system into a new folder, which appears when it is complete.

    Args:
        ini: The system. If it was read from a folder, what rescores is copied, too.
        folder: The new folder.

    Returns:
        The original of each file and model that the ini names, by its name in the new folder.

    Raises:
        SettingsError: Something has the name of the folder.
        InputError: A file is missing, or has a form of several files.
    """
    if os.path.lexists(folder):
        raise SettingsError("the name is taken", path=folder, remedy="name a new folder")
    ini.refuse_rewriting()
    packed, originals = ini, dict[str, Path]()
    with scratch_folder(folder, 0o777) as part:
        for line, key, named in named_paths(ini):
            found = find_model_file(named, line.kind)
            name = file_name(
                ".".join([line.name, *([key] if key != "path" else []), found.name]), ""
            )
            _copy(found, part / name)
            originals[name] = found
            # Moses adds the ending of a binary form to the path in the ini
            ending = found.name.removeprefix(Path(named).name) if found.suffix != ".gz" else ""
            packed = packed.with_feature_option(line.name, key, name.removesuffix(ending))
        for index, named in enumerate(ini.values("weight-file")):
            found, name = find_model_file(ini.resolved(named)), f"weights{index}"
            _copy(found, part / name)
            originals[name] = found
            packed = packed.with_value("weight-file", index, name)
        carry_settings(ini.path, part)
        carry_rescoring(ini.base, part)
        write_atomically(part / INI_NAME, packed.to_bytes())
        part.rename(folder)
    return originals


def _copy(found: Path, copy: Path) -> None:
    if found.is_dir():
        copy_model(found, copy)
        return
    if found.name.endswith(".idx"):
        raise InputError(
            "a binary table of several files, which is not copied",
            path=found,
            remedy="name the text table in the moses.ini, or its compact form (.minphr, .minlexr)",
        )
    refuse_pipe(found)
    shutil.copyfile(found, copy)
