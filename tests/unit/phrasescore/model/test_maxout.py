"""Maxout by compiled passes and by torch: the same bits."""

from __future__ import annotations

import pytest
import torch

from phrasescore.model.maxout import maxout, plain_maxout

KINDS = [torch.float64, torch.float32, torch.bfloat16]


@pytest.mark.parametrize("kind", KINDS, ids=["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(3, 5, 14), (1, 1, 2), (0, 4, 6), (7, 202)])
def test_values_and_gradient_are_those_of_torch(shape: tuple[int, ...], kind: torch.dtype) -> None:
    """Few different values make many pairs equal, whose gradient is halved."""
    generator = torch.Generator().manual_seed(4)
    values = torch.randint(-3, 4, shape, generator=generator).to(kind) / 3
    incoming = torch.randn(*shape[:-1], shape[-1] // 2, generator=generator).to(kind)
    found = []
    for function in (maxout, plain_maxout):
        given = values.clone().requires_grad_()
        larger = function(given)
        found.append((larger, *torch.autograd.grad(larger, given, incoming)))
    for ours, theirs in zip(*found, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("kind", KINDS, ids=["float64", "float32", "bfloat16"])
def test_what_is_no_number_stays_so(kind: torch.dtype) -> None:
    """NaN on either side is the result; infinities are compared."""
    nan, inf = float("nan"), float("inf")
    values = torch.tensor([[nan, 1.0, 1.0, nan, nan, nan, inf, 1.0, -inf, 1.0]], dtype=kind)
    expected = torch.tensor([[nan, nan, nan, inf, 1.0]], dtype=kind)
    larger = maxout(values.requires_grad_())
    torch.testing.assert_close(larger, expected, rtol=0, atol=0, equal_nan=True)


def test_a_gradient_that_is_not_contiguous() -> None:
    """Autograd may hand over a view of one number."""
    values = torch.tensor([[1.0, 2.0, 4.0, 3.0]], requires_grad=True)
    maxout(values).sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [[0.0, 1.0, 1.0, 0.0]]
