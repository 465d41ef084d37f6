"""Compiled decoder steps of many target prefixes, and their readouts and normalisers.

A child is a prefix with one word more than its parent. The inputs of a child are the state of its
parent, the products of that state with the recurrent weights, the row of its word in a table of
projections, and the projections of its source. Matrices are float32, or bfloat16 as bit patterns
(see ``fast_math``); sums and carried states are float32. ``torch_steps`` has the same functions in
torch.

The passes are fused: one loop reads each input once and applies all operations of the unit, because
separate passes over large matrices would be limited by memory, not by arithmetic.

A row of the table has the columns candidate (H), update (H), reset (H) and readout (2M), and so do
the projections of a source. H is the size of a state, M the size of the readout after maxout.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from phrasescore.compiled import compiled_fast
from phrasescore.model.fast_math import LOWEST_KEY, exp, load, order, sigmoid, store, tanh, unorder
from phrasescore.model.kernels import Array

# for B children: (B, 3) their parents, words and sources; the table (V, 3H or more) of projections
# of words; the projections of sources (S, 3H or more)
Children: TypeAlias = tuple[Array, Array, Array]
# `add_panel` sets a new shift if a logit exceeds the shift by more than this. The value is safe
# because e^40 times the number of words of any vocabulary is a finite float32.
_HEADROOM = np.float32(40.0)


@compiled_fast
def open_gates(
    products: Array, first: int, children: Children, carried: Array, update: Array, resets: Array
) -> None:
    """Compute the gates z and r of children, and r * h, where h is the state of the parent.

    Args:
        products: ``(P, 2H)``, states of parents times the recurrent weights of the gates.
        first: The index in ``carried`` of the parent in row 0 of ``products``.
        children: The children.
        carried: ``(parents, H)`` float32 states.
        update: ``(B, H)``, z on return.
        resets: ``(B, H)``, r * h on return.
    """
    nodes, table, context = children
    B, H = update.shape
    for b in range(B):
        parent = nodes[b, 0]
        g, h = products[parent - first], carried[parent]  # (2H,), (H,)
        x, c = table[nodes[b, 1]], context[nodes[b, 2]]  # candidate | update | reset | ...
        z, rh = update[b], resets[b]
        # two loops: each is one stream of loads, which vectorises
        for j in range(H):
            store(z, j, sigmoid(load(g, j) + load(x, H + j) + load(c, H + j)))
        for j in range(H):
            r = sigmoid(load(g, H + j) + load(x, 2 * H + j) + load(c, 2 * H + j))
            store(rh, j, r * h[j])


@compiled_fast
def take_step(
    products: Array, children: Children, carried: Array, update: Array, states: Array
) -> None:
    """Compute the states h' of children: k = tanh(...), h' = z h + (1 - z) k.

    Args:
        products: ``(B, H)``, r * h times the recurrent weights of the candidate.
        children: The children.
        carried: ``(parents, H)`` float32.
        update: ``(B, H)``, z.
        states: ``(B, H)`` float32, h' on return.
    """
    nodes, table, context = children
    B, H = update.shape
    for b in range(B):
        h, x, c = carried[nodes[b, 0]], table[nodes[b, 1]], context[nodes[b, 2]]
        g, z, new = products[b], update[b], states[b]
        for j in range(H):
            k = tanh(load(g, j) + load(x, j) + load(c, j))
            new[j] = k + load(z, j) * (h[j] - k)  # equals z h + (1 - z) k


@compiled_fast
def keep_states(states: Array, places: Array, kept: Array) -> None:
    """Copy states ``(B, H)`` to the rows ``places`` of ``kept``, in its type; -1 is no row."""
    B, H = states.shape
    for b in range(B):
        if places[b] >= 0:
            s, row = states[b], kept[places[b]]
            for j in range(H):
                store(row, j, s[j])


@compiled_fast
def maxout(products: Array, children: Children, out: Array) -> None:
    """Add the contributions of word and source to the readout; keep each pair's larger unit.

    Args:
        products: ``(B, 2M)``, states times O_h.
        children: The children; the table has 3H + 2M columns.
        out: ``(B, M)``, filled.
    """
    nodes, table, context = children
    B, M = out.shape
    at = table.shape[1] - 2 * M  # the readout is the last 2M columns
    for b in range(B):
        q, x, c, o = products[b], table[nodes[b, 1]], context[nodes[b, 2]], out[b]
        for m in range(M):
            i = 2 * m
            left = load(q, i) + load(x, at + i) + load(c, at + i)
            right = load(q, i + 1) + load(x, at + i + 1) + load(c, at + i + 1)
            # arithmetic instead of max(), which LLVM compiles to a branch for floats
            store(o, m, np.float32(0.5) * (left + right + abs(left - right)))


@compiled_fast
def add_panel(logits: Array, bias: Array, first: int, shift: Array, total: Array) -> None:
    """Add e^(logit - shift) of a panel of words to each row's total: a running log-sum-exp.

    ln Z of a row is shift + ln(total). One pass usually suffices, because the shift need not be the
    exact maximum. If a logit exceeds the shift by more than ``_HEADROOM``, the maximum of the panel
    becomes the new shift, the old total is scaled, and the panel is summed again.

    Args:
        logits: ``(B, W)`` of words ``first`` to ``first + W - 1``, without the bias.
        bias: ``(V,)`` float32.
        first: The id of the word of column 0; the id 0 begins a new sum.
        shift: ``(B,)`` float32, near the largest logit so far.
        total: ``(B,)`` float32.
    """
    B, W = logits.shape
    b = bias[first : first + W]  # (W,)
    for n in range(B):
        row = logits[n]
        if first == 0:
            shift[n], total[n] = load(row, 0) + b[0], 0.0
        top, added = shift[n], np.float32(0.0)
        highest = LOWEST_KEY  # integers, because a maximum of floats does not vectorise, due to NaN
        for v in range(W):
            x = load(row, v) + b[v]
            key = order(x)
            highest = key if key > highest else highest
            added += exp(x - top)
        peak = unorder(highest)
        # the negated comparison is also true for NaN, so that NaN reaches the total
        if not peak <= top + _HEADROOM:
            added = np.float32(0.0)
            for v in range(W):
                added += exp(load(row, v) + b[v] - peak)
            total[n] *= exp(top - peak)  # the old sum in units of the new shift
            shift[n] = peak
        total[n] += added


@compiled_fast
def pick_logits(
    logits: Array, bias: Array, first: int, rows: Array, words: Array, out: Array
) -> None:
    """Set ``out`` to the logits of those wanted words that are in ``first .. first + W - 1``.

    Args:
        logits: ``(B, W)``.
        bias: ``(V,)``.
        first: The word of column 0.
        rows: ``(K,)`` the row of each wanted word.
        words: ``(K,)`` the wanted words.
        out: ``(K,)`` float32.
    """
    W = logits.shape[1]
    for k in range(len(words)):
        v = words[k] - first
        if v >= 0 and v < W:
            out[k] = load(logits[rows[k]], v) + bias[words[k]]


@compiled_fast
def refine(
    features: Array,
    output_words: Array,
    bias: Array,
    rows: Array,
    words: Array,
    shift: Array,
    total: Array,
    picked: Array,
) -> None:
    """Replace rounded (bfloat16) logits by exact ones, in ``picked`` and in the rows' totals.

    Args:
        features: ``(B, R)`` float32.
        output_words: ``(V, R)`` float32.
        bias: ``(V,)`` float32.
        rows: ``(K,)`` the row of each word; the words of a row are distinct.
        words: ``(K,)`` the words.
        shift: ``(B,)``, as in :func:`add_panel`.
        total: ``(B,)``, as in :func:`add_panel`; changed.
        picked: ``(K,)``, rounded logits on entry, exact logits on return.
    """
    R = features.shape[1]
    for k in range(len(words)):
        row = rows[k]
        f, w = features[row], output_words[words[k]]  # (R,), (R,)
        logit = bias[words[k]]
        for i in range(R):
            logit += f[i] * w[i]
        exact = exp(logit - shift[row])
        # rounding must not make the sum over the other words negative
        total[row] = max(total[row] - exp(picked[k] - shift[row]), np.float32(0.0)) + exact
        picked[k] = logit


@compiled_fast
def normalise(picked: Array, rows: Array, shift: Array, total: Array) -> None:
    """Turn the logits ``picked``, ``(K,)``, into ln p, in place; ``rows`` holds their rows."""
    for k in range(len(picked)):
        row = rows[k]
        picked[k] -= shift[row] + np.log(total[row])  # minus ln Z
