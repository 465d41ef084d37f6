"""Compares units with torch.nn.RNN and torch.nn.LSTM; finished phrases keep their state."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from phrasescore.model.kinds import UnitName
from phrasescore.model.units import UNITS


def random_unit(name: UnitName, E: int, H: int) -> Any:
    """Return a unit in float64 with random weights."""
    unit = UNITS[name](E, H, H).double()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in unit.parameters():
            parameter.normal_(0.0, 0.5, generator=generator)
    return unit


def in_torch_order(columns: torch.Tensor) -> torch.Tensor:
    """Reorder (..., 4H) candidate, input, forget, output to input, forget, candidate, output."""
    candidate, admit, keep, show = columns.chunk(4, dim=-1)
    return torch.cat([admit, keep, candidate, show], dim=-1)


@pytest.mark.parametrize("name", ["tanh", "lstm"])
def test_units_are_those_of_torch_with_their_gradients(name: UnitName) -> None:
    """States and all gradients equal those of torch.nn.RNN and torch.nn.LSTM within 1e-12."""
    E, H, L, B = 5, 7, 6, 4
    unit, is_lstm = random_unit(name, E, H), name == "lstm"
    order = in_torch_order if is_lstm else torch.Tensor.clone
    theirs = (torch.nn.LSTM if is_lstm else torch.nn.RNN)(E, H).double()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(order(unit.input_weight).t())
        theirs.weight_hh_l0.copy_(order(unit.recurrent_weight).t())
        theirs.bias_ih_l0.copy_(order(unit.input_bias))
        theirs.bias_hh_l0.zero_()
    words = torch.randn(L, B, E, dtype=torch.float64)
    start = torch.randn(B, unit.carries * H, dtype=torch.float64)
    hidden, last = unit.states(unit.inputs(words), start)
    parts = tuple(part.contiguous() for part in start[None].chunk(unit.carries, dim=2))
    expected, end = theirs(words, parts if is_lstm else parts[0])
    torch.testing.assert_close(hidden[1:], expected, rtol=0, atol=1e-12)
    end = torch.cat([*end], dim=-1).view(last.shape)
    torch.testing.assert_close(last, end, rtol=0, atol=1e-12)
    weighting = torch.randn(L, B, H, dtype=torch.float64)
    (hidden[1:] * weighting).sum().backward()
    (expected * weighting).sum().backward()
    for mine, their in (
        (unit.input_weight.grad, theirs.weight_ih_l0.grad.t()),
        (unit.recurrent_weight.grad, theirs.weight_hh_l0.grad.t()),
        (unit.input_bias.grad, theirs.bias_ih_l0.grad),
    ):
        torch.testing.assert_close(order(mine), their, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", list(UNITS))
def test_a_waiting_state_stays(name: UnitName) -> None:
    """A finished phrase keeps its state, whatever its input."""
    unit = random_unit(name, 3, 4)
    words, start = torch.randn(4, 2, 3).double(), torch.randn(2, 4 * unit.carries).double()
    waiting = torch.tensor([[False, False], [False, True], [True, True], [False, True]])
    states, last = unit.states(unit.inputs(words), start, waiting)
    free, _ = unit.states(unit.inputs(words), start)
    torch.testing.assert_close(states[:2], free[:2], rtol=0, atol=1e-12)
    # a closed gate leaves a rounding error
    torch.testing.assert_close(states[2:, 1], states[1, 1].expand(3, -1), rtol=0, atol=1e-12)
    torch.testing.assert_close(states[3, 0], states[2, 0], rtol=0, atol=1e-12)
    assert (states[4, 0] - states[3, 0]).abs().max() > 0.01
    # carried values are kept too, and equal those of a phrase read alone
    alone = unit.states(unit.inputs(words[:1, 1:]), start[1:])[1]
    torch.testing.assert_close(last[1:], alone, rtol=0, atol=1e-12)
