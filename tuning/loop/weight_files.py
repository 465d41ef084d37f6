"""Reads weights: JSON of tuning, a ``run*.dense`` of mert-moses.pl, or a moses.ini."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from moses_integration.ini.moses_ini import MosesIni, parse_weights
from phrasescore.errors import InputError, located
from phrasescore.runs.json_files import parse_json
from phrasescore.table.input_files import read_whole
from tuning.loop.weights import WeightPlan

# the first line of a run*.dense of mert-moses.pl
_DENSE = re.compile(rb"\s*[^\s=\[#]+= ")


def read_weights_file(path: str | Path) -> dict[str, tuple[float, ...]]:
    """Read the weights of a JSON file.

    Args:
        path: A file with ``{"weights": {"LM0": [0.5], ...}, ...}``, as tuning writes it, or with
            the inner object alone; a single weight needs no brackets.

    Raises:
        InputError: The file is not JSON of this form.
    """
    return _parsed(read_whole(path), path)


def _parsed(data: bytes, path: str | Path) -> dict[str, tuple[float, ...]]:
    """Return the weights in the content of a JSON file."""
    try:
        content: Any = parse_json(data)
    except ValueError as error:
        raise _not_weights(path, f"it is not JSON ({error})") from None
    if isinstance(content, dict) and isinstance(content.get("weights"), dict):
        content = content["weights"]
    if not isinstance(content, dict) or not content:
        raise _not_weights(path, "it has no object of weights by name")
    weights = {}
    for name, values in content.items():
        numbers = values if isinstance(values, list) else [values]
        # the type of true and false is bool, a subclass of int
        if not numbers or not all(type(number) in (int, float) for number in numbers):
            raise _not_weights(path, f"the weights of {name} are not numbers")
        weights[name] = tuple(float(number) for number in numbers)
    return weights


def _not_weights(path: str | Path, reason: str) -> InputError:
    return InputError(
        f"not a weights file: {reason}",
        path=path,
        remedy='expected JSON such as {"weights": {"LM0": [0.5]}}',
    )


def read_plan(path: str) -> WeightPlan:
    """Read start weights from JSON, a ``run*.dense`` of mert-moses.pl, or a moses.ini.

    JSON of weights begins with ``{``, and no moses.ini does. A file whose name ends in ``.json`` is
    never read as a moses.ini. A ``run*.dense`` begins with ``LM0= 0.5``, and has a line for each
    component of the features in n-best lists.

    Raises:
        InputError: The file is none of these.
    """
    data = read_whole(path)
    if path.endswith(".json") or data.lstrip().startswith(b"{"):
        return WeightPlan.from_weights(_parsed(data, path))
    if not _DENSE.match(data):
        return WeightPlan.from_ini(MosesIni.parse(data, path))
    weights: dict[str, tuple[float, ...]] = {}
    with located(path):
        for line in filter(str.strip, data.decode("utf-8", "surrogateescape").split("\n")):
            name, values = parse_weights(line)
            weights[name] = (*weights.get(name, ()), *values)
    return WeightPlan.from_weights(weights)


def read_weights(path: str) -> tuple[dict[str, tuple[float, ...]], tuple[str, ...]]:
    """Read the weights of a file that `read_plan` reads.

    Returns:
        The weights of the features that n-best lists show, and of single sparse features such as
        ``TranslationModel0_name``; and notes for the user.

    Raises:
        InputError: The file has no weights, or has unknown names.
    """
    plan = read_plan(path)
    sparse = {name: (weight,) for name, weight in plan.sparse_weights.items()}
    return {**plan.shown, **sparse}, plan.notes
