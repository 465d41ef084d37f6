"""Compares the compiled and plain optimisers with torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from phrasescore.training.optimization import flat_weights
from phrasescore.training.optimization.flat_weights import adadelta, adam

_N = 101  # not a multiple of any vector width


@pytest.mark.parametrize(
    ("ours", "theirs", "rate"),
    [
        (adam, lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.9, 0.99)), 0.01),
        (adadelta, lambda p: torch.optim.Adadelta(p, lr=1.0, rho=0.95, eps=1e-6), 1.0),
    ],
    ids=["adam", "adadelta"],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_weights_go_where_torch_takes_them(
    ours: Callable[..., None],
    theirs: Callable[[list[nn.Parameter]], torch.optim.Optimizer],
    rate: float,
    compiled: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After thirty updates with equal gradients, weights are equal except for rounding."""
    if not compiled:
        monkeypatch.setattr(flat_weights, "can_compile", lambda tensor: False)
    generator = torch.Generator().manual_seed(5)
    values, moments = torch.randn(_N, generator=generator), torch.zeros(2, _N)
    parameter = nn.Parameter(values.clone())
    optimizer: Any = theirs([parameter])
    for update in range(30):
        parameter.grad = torch.randn(_N, generator=generator)
        ours(values, parameter.grad.clone(), moments, rate, update + 1)
        optimizer.step()
    torch.testing.assert_close(values, parameter.detach(), rtol=0, atol=2e-6)
