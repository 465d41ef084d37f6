"""A small system in a folder with relative paths, whose models rescore the candidates."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from moses_integration.ini.rescoring_file import Rescoring, place_model
from tests.support.random_models import save_random_model
from tests.support.random_system import write_random_system

SOURCE = [b"s%d" % number for number in range(5)]
TARGET = [b"t%d" % number for number in range(10)]
# of the features of the search: they differ from the weights of the ini
_WEIGHTS = {
    "LexicalReordering0": (0.1, 0.1, 0.1, 0.1, 0.1, 0.1),
    "Distortion0": (0.1,),
    "LM0": (0.3,),
    "WordPenalty0": (-0.2,),
    "PhrasePenalty0": (0.1,),
    "TranslationModel0": (0.1, 0.1),
}
# name of the feature -> the kind and direction of its model, and its weight
MODELS = {
    "There": ("search", "source-target", 0.8),
    "Back": ("search", "target-source", 0.6),
    "Phrases": ("phrase", "source-target", 0.3),
}


def write_system_folder(
    folder: Path, names: tuple[str, ...] = tuple(MODELS), *, candidates: int = 20
) -> Rescoring | None:
    """Write a system whose models of these names rescore, and save the models beside it."""
    folder.mkdir()
    ini = write_random_system(folder, 3, limit=3)
    ini.write_text(ini.read_text().replace(f"path={folder}/", "path="))
    placed, weights = [], dict(_WEIGHTS)
    for number, name in enumerate(names, 1):
        kind, direction, weight = MODELS[name]
        model = save_random_model(
            folder.with_name(name), SOURCE, TARGET, direction, seed=number, kind=kind
        )  # type: ignore[arg-type]
        placed.append(place_model(model, name, folder))
        weights[name] = (weight,)
    if not names:
        return None
    rescoring = Rescoring(candidates=candidates, weights=weights, models=tuple(placed))
    rescoring.write(folder)
    return rescoring


def with_scorer(folder: Path, name: str, weight: float) -> None:
    """Add a feature that a program computes."""
    before = Rescoring.read(folder)
    weights = {**(before.weights if before else _WEIGHTS), name: (weight,)}
    if before is None:
        Rescoring(candidates=20, weights=weights, scorers=(name,)).write(folder)
        return
    scorers = (*before.scorers, name)
    dataclasses.replace(before, weights=weights, scorers=scorers).write(folder)
