"""Weights in files: the JSON that tuning writes, or a plain object; and whether they fit a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import InputError, NBestError, counted, did_you_mean
from phrasescore.runs.json_files import parse_json
from phrasescore.table.input_files import open_input
from tuning.loop.weight_plan import WeightPlan
from tuning.optimizers.optimizer import Weights


def read_weights_file(path: str | Path) -> dict[str, tuple[float, ...]]:
    """Read the weights of a JSON file.

    Args:
        path: ``{"weights": {"LM0": [0.5], ...}, ...}``, as tuning writes it, or the inner object
            alone; the number of a feature with one weight may stand without brackets.

    Raises:
        InputError: It is not such a file.
    """
    with open_input(path) as stream:
        try:
            content: Any = parse_json(stream.read())
        except ValueError as error:
            raise _not_weights(path, f"it is no JSON ({error})") from None
    if isinstance(content, dict) and isinstance(content.get("weights"), dict):
        content = content["weights"]
    if not isinstance(content, dict) or not content:
        raise _not_weights(path, "it has no object of weights by name")
    weights = {}
    for name, values in content.items():
        numbers = values if isinstance(values, list) else [values]
        if not numbers or not all(_is_number(number) for number in numbers):
            raise _not_weights(path, f"the weights of {name} are not numbers")
        weights[name] = tuple(float(number) for number in numbers)
    return weights


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _not_weights(path: str | Path, why: str) -> InputError:
    return InputError(
        f"not a weights file: {why}",
        path=path,
        remedy='expected JSON such as {"weights": {"LM0": [0.5]}}',
    )


@dataclass(frozen=True)
class GivenWeights:
    """The weights of features, dense and sparse ones, as a user gives them.

    Args:
        path: Where they came from.
        values: By feature; a sparse feature, ``TranslationModel0_name``, has one.
        notes: What the user should know about them.
    """

    path: str
    values: Mapping[str, tuple[float, ...]]
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str) -> GivenWeights:
        """Read a weights file, which ends in ``.json``, or else the weights of a moses.ini.

        Raises:
            InputError: It is neither, or names are unknown.
        """
        if path.endswith(".json"):
            return cls(path, read_weights_file(path))
        plan = WeightPlan.from_ini(MosesIni.read(path))
        shown = plan.layout.nbest.unflatten(plan.tuned(plan.start))
        sparse = {name: (weight,) for name, weight in plan.sparse_weights.items()}
        notes = [plan.hidden_note] if plan.hidden else []
        return cls(path, {**shown, **sparse}, tuple(notes))

    @property
    def sparse(self) -> dict[str, float]:
        """The weights that may belong to single sparse features."""
        return {
            name: values[0]
            for name, values in self.values.items()
            if "_" in name and len(values) == 1
        }

    def fitted(self, sizes: Mapping[str, int]) -> Weights:
        """Return (F,) the weights of the dense features of a list, in its order.

        Args:
            sizes: How many values each has in the list.

        Raises:
            NBestError: A feature has no weight, a weight no feature, or their numbers differ.
        """
        for name, values in self.values.items():
            is_sparse = name.partition("_")[0] in sizes and len(values) == 1
            if name not in sizes and not is_sparse:
                raise NBestError(
                    f"the list has no feature {name}, for which {self.path} has "
                    f"{counted(len(values), 'weight')}{did_you_mean(name, sizes)}",
                    remedy="give the list that the weights belong to, or delete this one from them",
                )
        for name, size in sizes.items():
            if name not in self.values:
                raise NBestError(
                    f"the list has a feature {name}, for which {self.path} has no weight"
                    f"{did_you_mean(name, self.values)}",
                    remedy="find weights for all features of the list with phrasescore optimize",
                )
            if (found := len(self.values[name])) != size:
                raise NBestError(
                    f"{counted(size, 'value')} of {name}, for which {self.path} has "
                    f"{counted(found, 'weight')}",
                    remedy="give the weights that were found for such lists",
                )
        return np.array([value for name in sizes for value in self.values[name]], np.float64)
