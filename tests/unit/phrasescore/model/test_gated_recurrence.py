"""The gated unit over a sequence: its gradient, and compiled passes compared with plain torch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from phrasescore.model import kernels
from phrasescore.model.units import run_gated_unit

L, B, H = 4, 3, 5


def problem(dtype: torch.dtype, hidden: int = H) -> list[Tensor]:
    """Return random inputs, start, gate weight and candidate weight with gradients."""
    generator = torch.Generator().manual_seed(7)
    shapes = [(L, B, 3 * hidden), (B, hidden), (hidden, 2 * hidden), (hidden, hidden)]
    tensors = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return [tensor.to(dtype).requires_grad_() for tensor in tensors]


def test_the_gradient_equals_finite_differences() -> None:
    """The hand-written gradient agrees with numerical differentiation in float64."""
    assert torch.autograd.gradcheck(run_gated_unit, problem(torch.float64))


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)], ids=["fp32", "bf16"]
)
def test_compiled_passes_equal_plain_torch(
    dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States and gradients of the compiled passes equal those of torch in float64."""

    def results(kind: torch.dtype) -> list[Tensor]:
        arguments = problem(kind, hidden=37)  # not a multiple of any vector width
        states = run_gated_unit(*arguments)
        weights = torch.linspace(-1, 1, states.numel()).view(states.shape).to(kind)
        gradients = torch.autograd.grad((states * weights).sum(), arguments)
        return [states, *gradients]

    compiled = results(dtype)
    with monkeypatch.context() as patch:
        patch.setattr(kernels, "can_compile", lambda tensor: False)
        exact = results(torch.float64)
    for found, expected in zip(compiled, exact, strict=True):
        scale = expected.abs().max()
        torch.testing.assert_close(found.double() / scale, expected / scale, rtol=0, atol=tolerance)
