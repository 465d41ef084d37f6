"""What ``train`` left: what a model is, and how it learned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phrasescore.files.json_files import read_object
from phrasescore.model.folder_names import CONFIG, CURVES, PROVENANCE
from tuning.report.contents import CurvePoint, Results, Spent, TrainedModel
from tuning.report.readers.reading import DAMAGE, json_lines, optional, why_not

_WORK = ".training"


def read_model(folder: Path, name: str) -> Results:
    """Read the folder of a model, or the work folder of a training that goes on.

    Args:
        folder: ``MODEL/`` or ``MODEL.training/``.
        name: What to call it.
    """
    finished = not folder.name.endswith(_WORK)
    name = name.removesuffix(_WORK)
    try:
        model, provenance = _model(folder, name, finished)
    except (OSError, *DAMAGE) as error:
        return Results(name, notes=(why_not(folder, error),))
    spent = () if model.seconds is None else (Spent(f"training {name}", model.seconds),)
    return Results(
        name,
        models=(model,),
        spent=spent,
        provenances={f"model {name}": provenance} if provenance else {},
        unfinished=() if finished else (f"The training of {name} has not come to its end.",),
    )


def _model(folder: Path, name: str, finished: bool) -> tuple[TrainedModel, dict[str, Any]]:
    config = _if_there(folder / CONFIG)
    provenance = _if_there(folder / PROVENANCE)
    curve = folder / CURVES
    points = tuple(map(_point, json_lines(curve))) if curve.exists() else ()
    training = provenance.get("training", {})
    asked = provenance.get("settings", {})
    of_text = "phrase" not in str(asked.get("learns_from", "phrases"))
    seconds = training.get("seconds", points[-1].seconds if points else None)
    facts = _facts(config, training, provenance.get("held_out", {}))
    model = TrainedModel(name, facts, points, of_text, finished, optional(seconds))
    return model, provenance


def _if_there(path: Path) -> dict[str, Any]:
    return read_object(path) if path.exists() else {}


def _point(line: dict[str, Any]) -> CurvePoint:
    return CurvePoint(
        int(line["updates"]),
        float(line["epoch"]),
        float(line["seconds"]),
        optional(line.get("training_nll")),
        optional(line.get("held_out_sources_nll")),
        optional(line.get("held_out_pairs_nll")),
    )


def _facts(
    config: Mapping[str, Any], training: Mapping[str, Any], held_out: Mapping[str, Any]
) -> dict[str, str]:
    """Return what a reader wants to know first, as words."""
    facts = {}
    if "kind" in config:
        facts["kind"] = str(config["kind"])
    sizes = [
        f"{config[key]:,} {words}"
        for key, words in (("hidden", "hidden units"), ("embedding", "elements of a word"))
        if isinstance(config.get(key), int)
    ]
    if sizes:
        facts["size"] = ", ".join(sizes)
    lists = [
        f"{config[f'{side}_vocabulary']:,} {side}"
        for side in ("source", "target")
        if isinstance(config.get(f"{side}_vocabulary"), int)
    ]
    if lists:
        facts["words in its lists"] = ", ".join(lists)
    if "direction" in config:
        facts["direction"] = str(config["direction"])
    if "words" in training:
        facts["words seen"] = f"{training['words']:,} in {training['updates']:,} updates"
    for key, words in (("held_out_sources", "sources"), ("held_out_pairs", "pairs")):
        if isinstance(held_out.get(key), dict):
            facts[f"unseen {words}"] = f"{held_out[key]['nll']:.3f} nats per word"
    return facts
