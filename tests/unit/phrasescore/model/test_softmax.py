"""Compares the factored softmax in chunks with the plain formula: values, loss, gradient."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from phrasescore.model import softmax
from phrasescore.model.softmax import gathered_log_softmax, log_normalisers, summed_cross_entropy

N, R, V = 40, 6, 23


def problem(dtype: torch.dtype, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return features, words and bias with gradients, and target words."""
    generator = torch.Generator().manual_seed(3)
    features = (scale * torch.randn(N, R, generator=generator)).to(dtype).requires_grad_()
    words = torch.randn(V, R, generator=generator).to(torch.promote_types(dtype, torch.float32))
    bias = torch.randn(V, generator=generator).to(words.dtype)
    wanted = torch.randint(0, V, (N,), generator=generator)
    return features, words.requires_grad_(), bias.requires_grad_(), wanted


def plain_loss(
    features: Tensor,
    words: Tensor,
    bias: Tensor,
    wanted: Tensor,
    smoothing: float = 0.0,
    normaliser_weight: float = 0.0,
) -> Tensor:
    logits = features.double() @ words.double().t() + bias.double()
    loss = torch.nn.functional.cross_entropy(
        logits, wanted, reduction="sum", label_smoothing=smoothing
    )
    return loss + normaliser_weight * logits.logsumexp(1).square().sum()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the chunk size to 16 rows, so that N rows take three chunks, the last one short."""
    monkeypatch.setattr(softmax, "_CHUNK_BYTES", {"cpu": 1})


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 3e-2)],
    ids=["float64", "float32", "bfloat16"],
)
@pytest.mark.parametrize(
    ("smoothing", "normaliser_weight"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.3), (0.1, 0.3)]
)
@pytest.mark.parametrize("masked", [False, True])
def test_loss_and_gradient_are_those_of_cross_entropy(
    dtype: torch.dtype, tolerance: float, smoothing: float, normaliser_weight: float, masked: bool
) -> None:
    """Chunked loss and gradients equal torch's own cross-entropy on the whole matrix."""
    arguments = problem(dtype)
    counted = torch.arange(N) % 3 > 0 if masked else None
    found = summed_cross_entropy(*arguments, counted, smoothing, normaliser_weight)
    features, words, bias, wanted = arguments
    rows = slice(None) if counted is None else counted
    expected = plain_loss(features[rows], words, bias, wanted[rows], smoothing, normaliser_weight)
    assert found.item() == pytest.approx(expected.item(), rel=tolerance)
    wrt = arguments[:3]
    for mine, theirs in zip(
        torch.autograd.grad(2 * found, wrt), torch.autograd.grad(2 * expected, wrt), strict=True
    ):
        scale = theirs.abs().max()
        torch.testing.assert_close(mine / scale, theirs / scale, rtol=0, atol=tolerance)


def test_normalisers_are_what_logits_have_more_than_ln_p() -> None:
    """Normalisers equal logits minus ln p in each row."""
    features, words, bias, _ = problem(torch.float64)
    expected = (features @ words.t() + bias).logsumexp(1)
    torch.testing.assert_close(log_normalisers(features, words, bias), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gathered_values_are_log_softmax(dtype: torch.dtype) -> None:
    """The value of each target word equals the log-softmax of the whole row."""
    features, words, bias, wanted = problem(dtype)
    expected = (features.double() @ words.double().t() + bias.double()).log_softmax(1)
    with torch.no_grad():
        found = gathered_log_softmax(features, words, bias, wanted)
    torch.testing.assert_close(found.double(), expected[torch.arange(N), wanted], rtol=0, atol=2e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_extreme_logits_stay_finite(dtype: torch.dtype) -> None:
    """Large logits, with which exp overflows or underflows, give finite losses and gradients."""
    arguments = problem(dtype, scale=300.0)
    loss = summed_cross_entropy(*arguments)
    assert loss.item() == pytest.approx(plain_loss(*arguments).item(), rel=1e-2)
    assert all(g.isfinite().all() for g in torch.autograd.grad(loss, arguments[:3]))
