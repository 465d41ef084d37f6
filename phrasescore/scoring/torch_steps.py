"""``gated_kernels`` in plain torch, for any device: the same names, arguments and results.

In `keep_states`, the place -1 is the last row, which is never read. No function waits for a GPU.
Every function adds numbers in a fixed order, so repeated runs give the same bits.
"""

from __future__ import annotations

from typing import TypeAlias

import torch
from torch import Tensor

Children: TypeAlias = tuple[Tensor, Tensor, Tensor]  # see `gated_kernels`


def open_gates(
    products: Tensor,
    first: int,
    children: Children,
    carried: Tensor,
    update: Tensor,
    resets: Tensor,
) -> None:
    """Compute the gates z and r of children, and r * h."""
    H, parents = update.shape[1], children[0][:, 0]
    gates = _outside(children, H, 3 * H).add_(products[parents - first]).sigmoid_()
    update.copy_(gates[:, :H])
    torch.mul(gates[:, H:], carried[parents], out=resets)


def take_step(
    products: Tensor, children: Children, carried: Tensor, update: Tensor, states: Tensor
) -> None:
    """Compute the states of children."""
    k = _outside(children, 0, update.shape[1]).add_(products).tanh_()
    torch.lerp(k, carried[children[0][:, 0]], update.float(), out=states)


def keep_states(states: Tensor, places: Tensor, kept: Tensor) -> None:
    """Copy states to the rows ``places`` of ``kept``, in its type."""
    kept[places] = states.to(kept.dtype)


def maxout(products: Tensor, children: Children, out: Tensor) -> None:
    """Add the contributions of word and source to the readout; keep each pair's larger unit."""
    end = children[1].shape[1]
    units = _outside(children, end - 2 * out.shape[1], end).add_(products)
    torch.maximum(units[:, 0::2], units[:, 1::2], out=out)


def add_panel(logits: Tensor, bias: Tensor, first: int, shift: Tensor, total: Tensor) -> None:
    """Add e^(logit - shift) of some of the words to each row's total."""
    x = logits + bias[first : first + logits.shape[1]]  # float32, like the bias
    # x minus its log-softmax is the logarithm of the sum: one kernel, instead of four passes over x
    mass = x[:, 0] - x.log_softmax(1)[:, 0]
    shift.copy_(torch.logaddexp(shift, mass) if first else mass)
    total.fill_(1.0)


def pick_logits(
    logits: Tensor, bias: Tensor, first: int, rows: Tensor, words: Tensor, out: Tensor
) -> None:
    """Set ``out`` to the logits of those wanted words that are in ``first .. first + W - 1``."""
    columns = words - first
    there = columns.clamp(0, logits.shape[1] - 1)
    found = logits[rows, there].float() + bias[words]
    out.copy_(torch.where(columns == there, found, out))


def refine(
    features: Tensor,
    output_words: Tensor,
    bias: Tensor,
    rows: Tensor,
    words: Tensor,
    shift: Tensor,
    total: Tensor,
    picked: Tensor,
) -> None:
    """Replace rounded (bfloat16) logits by exact ones, in ``picked`` and in the rows' totals."""
    logits = (features[rows] * output_words[words]).sum(1) + bias[words]
    total.index_put_((rows,), -torch.exp(picked - shift[rows]), accumulate=True)
    total.clamp_(min=0).index_put_((rows,), torch.exp(logits - shift[rows]), accumulate=True)
    picked.copy_(logits)


def normalise(picked: Tensor, rows: Tensor, shift: Tensor, total: Tensor) -> None:
    """Turn the logits ``picked`` into ln p, in place; ``rows`` holds their rows."""
    picked.sub_((shift + total.log())[rows])


def _outside(children: Children, begin: int, end: int) -> Tensor:
    """Return the contributions of words and sources to some columns, for each child."""
    nodes, table, context = children
    word = table[:, begin:end][nodes[:, 1]].float()
    return word.add_(context[:, begin:end][nodes[:, 2]])
