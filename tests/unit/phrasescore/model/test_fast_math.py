"""Compares the compiled exp, sigmoid, tanh and bfloat16 conversions with exact ones."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch

from phrasescore.model import fast_math
from phrasescore.model.fast_math import load, store


@numba.njit
def _evaluate(x: Any, exps: Any, sigmoids: Any, tanhs: Any) -> None:
    for i in range(len(x)):
        exps[i] = fast_math.exp(x[i])
        sigmoids[i] = fast_math.sigmoid(x[i])
        tanhs[i] = fast_math.tanh(x[i])


@numba.njit
def _copy(source: Any, target: Any) -> None:
    for i in range(len(source)):
        store(target, i, load(source, i))


def test_functions_are_accurate() -> None:
    """The relative error of exp and the absolute errors of sigmoid and tanh are within bounds."""
    x = np.linspace(-87, 87, 200_001).astype(np.float32)
    exps, sigmoids, tanhs = (np.empty_like(x) for _ in range(3))
    _evaluate(x, exps, sigmoids, tanhs)
    exact = x.astype(np.float64)
    relative = np.abs(exps / np.exp(exact) - 1)
    assert (relative <= 3e-7 + 8e-8 * np.abs(exact)).all()
    np.testing.assert_allclose(sigmoids, 1 / (1 + np.exp(-exact)), rtol=0, atol=5e-7)
    np.testing.assert_allclose(tanhs, np.tanh(exact), rtol=0, atol=5e-7)


def test_bfloat16_rounds_as_torch_does(rng: np.random.Generator) -> None:
    """Like torch, storing rounds to nearest even, and loading is exact."""
    values = np.concatenate(
        [rng.normal(size=5000), [0.0, -0.0, 1.00390625, 1.01171875, 3e38, np.inf, -np.inf]]
    ).astype(np.float32)
    bits = np.empty(len(values), np.uint16)
    _copy(values, bits)
    expected = torch.from_numpy(values).to(torch.bfloat16)
    assert (bits == expected.view(torch.uint16).numpy()).all()
    back = np.empty_like(values)
    _copy(bits, back)
    assert (back == expected.float().numpy()).all()
