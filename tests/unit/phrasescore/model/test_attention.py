"""Compares the compiled attentive unit with plain torch, including gradients."""

from __future__ import annotations

import pytest
import torch

from phrasescore.model import kernels
from phrasescore.model.attention import Attended, AttentiveWeights, attend, run_attentive_unit

B, J, H, A, D = 3, 4, 6, 5, 7
LENGTHS = torch.tensor([4, 1, 3])
Parts = dict[str, torch.Tensor]


def random_parts(L: int, dtype: torch.dtype) -> Parts:
    """Return inputs and parameters with gradients."""
    generator = torch.Generator().manual_seed(5)
    shapes = {
        "inputs": (L, B, 3 * H),
        "start": (B, H),
        "keys": (B * J, A),
        "values": (B * J, D),
        "gates": (H, 2 * H),
        "candidate": (H, H),
        "context": (D, 3 * H),
        "query": (H, A),
        "vector": (A,),
    }
    return {
        name: torch.randn(*shape, generator=generator).to(dtype).requires_grad_()
        for name, shape in shapes.items()
    }


def run(parts: Parts, looks: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Run the unit; return a number that depends on all results, and the results."""
    seen = Attended(parts["keys"], parts["values"], torch.arange(B) * J, LENGTHS)
    weights = AttentiveWeights(
        *(parts[name] for name in ("gates", "candidate", "context", "query", "vector"))
    )
    return run_attentive_unit(parts["inputs"], parts["start"], seen, weights, looks)


def mixed(states: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
    """Return a number that depends differently on each state and context."""
    return sum(
        (part * torch.linspace(-1, 1, part.numel(), dtype=part.dtype).view(part.shape)).sum()
        for part in (states, contexts)
    )


@pytest.mark.parametrize(("L", "looks"), [(5, 5), (5, 6), (0, 1)])
def test_the_compiled_run_equals_the_plain_one(L: int, looks: int) -> None:
    """States, contexts, alignments and the gradients of all inputs agree in float32."""
    fast, plain = random_parts(L, torch.float32), random_parts(L, torch.float64)
    found, expected = run(fast, looks), run(plain, looks)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=0, atol=2e-5)
    mixed(*found[:2]).backward()
    mixed(*expected[:2]).backward()
    for name, part in fast.items():
        assert part.grad is not None
        # without a step, some parameters have no effect
        other = plain[name].grad
        other = torch.zeros_like(plain[name]) if other is None else other
        torch.testing.assert_close(part.grad.double(), other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("L", "looks"), [(2, 2), (2, 3)])
def test_the_gradient_is_the_numerical_one(L: int, looks: int) -> None:
    """The gradient of the plain run is that of finite differences."""
    parts = random_parts(L, torch.float64)

    def states_and_contexts(*values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return run(dict(zip(parts, values, strict=True)), looks)[:2]

    assert torch.autograd.gradcheck(states_and_contexts, tuple(parts.values()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_may_share_positions_in_any_order(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positions are stored flat, and rows may be repeated and reordered."""
    generator = torch.Generator().manual_seed(2)
    keys = torch.randn(9, A, generator=generator).to(dtype)
    values = torch.randn(9, D, generator=generator).to(dtype)
    queries = torch.randn(4, A, generator=generator).to(dtype)
    vector = torch.randn(A, generator=generator)
    begins, lengths = torch.tensor([5, 0, 5, 2]), torch.tensor([4, 2, 4, 3])
    seen = Attended(keys, values, begins, lengths)
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    with torch.inference_mode():
        found, weights = attend(queries, seen, vector, 4)
        monkeypatch.setattr(kernels, "can_compile", lambda _: False)
        expected, plainly = attend(queries, seen, vector, 4)
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)
    torch.testing.assert_close(weights, plainly, rtol=0, atol=tolerance)
