"""Maxout over pairs: values, gradients of equal neighbours, and NaN."""

from __future__ import annotations

import pytest
import torch

from phrasescore.model.networks.maxout_readout import maxout

KINDS = [torch.float64, torch.float32, torch.bfloat16]


@pytest.mark.parametrize("kind", KINDS, ids=["float64", "float32", "bfloat16"])
def test_the_larger_neighbour_has_the_gradient(kind: torch.dtype) -> None:
    """The larger neighbour gets the gradient; equal neighbours get half each."""
    values = torch.tensor([[1.0, 2.0, 4.0, 3.0, 5.0, 5.0]], dtype=kind, requires_grad=True)
    larger = maxout(values)
    assert larger.tolist() == [[2.0, 4.0, 5.0]]
    incoming = torch.tensor([[1.0, 2.0, 8.0]], dtype=kind)
    (gradient,) = torch.autograd.grad(larger, values, incoming)
    assert gradient.tolist() == [[0.0, 1.0, 2.0, 0.0, 4.0, 4.0]]
