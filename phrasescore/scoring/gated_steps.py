"""Computes gated units along tries of prefixes: one state and one normaliser for each prefix.

A :class:`GatedSteps` allocates its memory once, for all groups of pairs: for the states of two
levels of a trie, the projections of the sources, and the results for a chunk of prefixes. A chunk
is so small that the results of one pass are still in the cache when the next pass reads them.

Weights are packed side by side. The contribution of a word to the gates and to the readout depends
only on the word, so it is a row of a precomputed table. All contributions of a source come from one
product: its summary c times packed weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model import kernels
from phrasescore.model.device import Cores
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.sequence_model import END
from phrasescore.model.units import GatedUnit
from phrasescore.scoring import gated_kernels, torch_steps
from phrasescore.scoring.prefix_trie import PrefixTrie, build_trie
from phrasescore.words.token_sequences import TokenSequences

# The number of rows in bfloat16 products is rounded up to a multiple of this number, because the
# library of matrix products takes 10 ms to compile code for each number of rows.
_ROWS = 16
_TABLE_ROWS = 1024  # number of rows of a word table that are computed at a time


@dataclass(frozen=True)
class PackedUnit:
    """The weights of gated units that read words, with a table of the words' contributions.

    Args:
        table: (V, 3H) or more columns: the contributions of each word to candidate, update, reset
            and, in further columns, the readout.
        gate_weight: (H, 2H): recurrent weights of update and reset.
        candidate_weight: (H, H): recurrent weights of the candidate.
    """

    table: Tensor
    gate_weight: Tensor
    candidate_weight: Tensor


@dataclass(frozen=True)
class PackedWeights:
    """The weights of a model.

    Args:
        encoder: The encoder's units; the table has 3H columns.
        context_weight: (H, 3H + 2M + H): weights from c to candidate, update, reset, readout and
            the first state.
        start_bias: (H,) float32, bias of the first state.
        decoder: The decoder's units. The table has 3H + 2M columns, which include the readout's
            bias. Its last row is for the missing word before word 1.
        readout_weight: (H, 2M), O_h.
        inner_weight: (M, R) float32, G_r.
        panels: The output layer in pieces of up to ``panel`` words, (R, words) each, in order.
        output_words: (V, R) float32, G_l; ``None`` if the panels are float32.
        output_bias: (V,) float32.
    """

    encoder: PackedUnit
    context_weight: Tensor
    start_bias: Tensor
    decoder: PackedUnit
    readout_weight: Tensor
    inner_weight: Tensor
    panels: tuple[Tensor, ...]
    output_words: Tensor | None
    output_bias: Tensor


def pack(
    model: EncoderDecoder, device: torch.device, dtype: torch.dtype, panel: int
) -> PackedWeights:
    """Pack a model's weights.

    Args:
        model: A float32 model with gated units in the formulation ``code``, on any device.
        device: The device for the packed weights.
        dtype: Type of the large products, float32 or bfloat16.
        panel: Maximum number of words in a panel of the output layer.
    """
    with torch.inference_mode():
        encoder, decoder = model.encoder, model.decoder
        assert isinstance(encoder, GatedUnit)
        assert isinstance(decoder, GatedUnit)
        source = model.source_embedding + model.source_embedding_bias  # (V_source, E)
        target = model.target_embedding + model.target_embedding_bias
        # e(y_0) = 0: the row for "no word" has no embedding bias either
        target = torch.cat([target, target.new_zeros(1, target.shape[1])])  # (V + 1, E)
        H, M2 = model.readout_state.shape
        # without a context at every step, c only sets the first state
        contexts: tuple[Tensor, ...] = target.new_zeros(H, 3 * H), target.new_zeros(H, M2)
        if model.settings.context == "every-step":
            contexts = decoder.context_weight, model.readout_context
        contexts = *contexts, model.start_weight  # columns 3H | 2M | H

        def placed(weight: Tensor) -> Tensor:
            return weight.to(device, dtype).contiguous()

        def exact(weight: Tensor) -> Tensor:
            return weight.to(device, torch.float32).contiguous()

        def packed(words: Tensor, unit: GatedUnit, *further: Tensor) -> PackedUnit:
            weight = torch.cat([unit.input_weight, *further[:1]], dim=1)  # (E, 3H) or (E, 3H + 2M)
            gates = unit.input_bias.new_zeros(2 * len(unit.input_bias))  # the gates have no bias
            bias = torch.cat([unit.input_bias, gates, *further[1:]])
            rows = torch.empty(len(words), len(bias), dtype=dtype, device=device)
            _project(words, weight, bias, rows)
            return PackedUnit(rows, placed(unit.gate_weight), placed(unit.candidate_weight))

        return PackedWeights(
            encoder=packed(source, encoder),
            context_weight=placed(torch.cat(contexts, dim=1)),
            start_bias=exact(model.start_bias),
            decoder=packed(target, decoder, model.readout_word, model.readout_bias),
            readout_weight=placed(model.readout_state),
            inner_weight=exact(model.output_inner),
            panels=tuple(placed(rows.t()) for rows in torch.split(model.output_words, panel)),
            output_words=None if dtype == torch.float32 else exact(model.output_words),
            output_bias=exact(model.output_bias),
        )


def _project(words: Tensor, weight: Tensor, bias: Tensor, rows: Tensor) -> None:
    """Fill a table in parts of fixed size, so that scores do not depend on ``--threads``."""

    def project(part: NDArray[np.int64]) -> None:
        there = slice(part[0], part[-1] + 1)
        with torch.inference_mode():
            rows[there].copy_(torch.addmm(bias, words[there], weight))  # (rows, E) x (E, columns)

    cores = Cores(words.device)
    parts = np.split(np.arange(len(words)), range(_TABLE_ROWS, len(words), _TABLE_ROWS))
    list(cores.each(project, parts))
    cores.rest()


@dataclass(frozen=True)
class _Level:
    """States of the prefixes of a level; a prefix without children has no state here."""

    carried: Tensor  # (group + 1, H) float32; the last row receives states that are not needed
    narrow: Tensor  # a copy in the products' type; ``carried`` itself if this type is float32


class GatedSteps:
    """Encodes source prefixes and computes ln p along target prefixes, for up to ``group`` pairs.

    Args:
        weights: The packed weights of the model.
        group: The maximum number of pairs in a group.
        chunk: The number of prefixes to compute at a time.
    """

    def __init__(self, weights: PackedWeights, group: int, chunk: int) -> None:
        self._weights, self._chunk = weights, chunk
        like = weights.context_weight
        H, M2 = weights.readout_weight.shape
        R = weights.inner_weight.shape[1]
        panel = weights.panels[0].shape[1]

        self._multiple = 1 if like.dtype == torch.float32 else _ROWS

        def narrow(rows: int, *columns: int) -> Tensor:  # with spare rows: `_multiply` rounds up
            return like.new_zeros(rows + self._multiple - 1, *columns)

        def exact(*shape: int) -> Tensor:
            return like.new_zeros(shape, dtype=torch.float32)

        def level() -> _Level:
            carried = exact(group + 1, H)
            return _Level(carried, carried if like.dtype == torch.float32 else narrow(group + 1, H))

        self._levels = level(), level()
        self._contexts = narrow(group + 1, H)  # c of each source; the last row is never read
        # c times all its weights, once for each source
        self._projections = narrow(group, like.shape[1])
        self._no_context = like.new_zeros(1, 3 * H)
        self._products = narrow(chunk, 2 * H)  # the state times the gates' weights
        self._update, self._resets, self._candidates = (narrow(chunk, H) for _ in range(3))
        self._states, self._narrow_states = exact(chunk, H), narrow(chunk, H)
        # (chunk, 2M), (chunk, M)
        self._readout, self._maxout = narrow(chunk, M2), exact(chunk, M2 // 2)
        self._features, self._narrow_features = exact(chunk, R), narrow(chunk, R)  # (chunk, R)
        # one panel at a time, which stays in the cache until it is summed
        self._logits = narrow(chunk, panel)
        self._shift, self._total = exact(chunk), exact(chunk)
        self._compiled = kernels.can_compile(like)
        self._passes: Any = _CompiledSteps() if self._compiled else torch_steps

    # -- source side ---------------------------------------------------------------------------

    def _encode(self, sources: TokenSequences) -> None:
        """Compute the summaries c of sorted, distinct sources; each prefix is read once."""
        tokens = np.insert(sources.tokens, sources.offsets[1:], END)  # the encoder reads </s>, too
        ended = TokenSequences(tokens, sources.offsets + np.arange(len(sources) + 1))
        trie = build_trie(ended, np.zeros(len(sources), np.int64))
        nodes = self._nodes(trie)
        owners = np.full(len(trie), -1, np.int64)
        owners[trie.ends] = np.arange(len(trie.ends))  # the source that ends at a node
        ranks, summaries = self._index(trie.ranks), self._index(owners)
        here, there = self._levels
        here.carried[0] = 0
        here.narrow[0] = 0
        for level in range(1, trie.depth + 1):
            for a, b in self._chunks(trie, level):
                # first and last: parents are in order
                parents = trie.ranks[trie.parents[[a, b - 1]]].tolist()
                states = self._step(
                    self._weights.encoder, parents, nodes[a:b], self._no_context, here
                )
                self._keep(states, ranks[a:b], there)
                self._passes.keep_states(states, summaries[a:b], self._contexts)
            here, there = there, here  # the children's states are the next level's parents

    # -- target side ---------------------------------------------------------------------------

    def decode(
        self, sources: TokenSequences, trie: PrefixTrie
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """See :meth:`phrasescore.scoring.shared_scorer.ModelSteps.decode`."""
        self._encode(sources)
        parents_of, words_of = self._index(trie.parents), self._index(trie.words)
        edges = torch.zeros(len(trie), dtype=torch.float32, device=words_of.device)  # (nodes,)
        at_ends = torch.zeros_like(edges)
        nodes, ranks = self._nodes(trie), self._index(trie.ranks)
        here, there = self._levels
        self._start(int(trie.levels[1]), here)
        for level in range(trie.depth + 1):
            for a, b in self._chunks(trie, level):
                if level:
                    parents = trie.ranks[trie.parents[[a, b - 1]]].tolist()
                    states = self._step(
                        self._weights.decoder, parents, nodes[a:b], self._projections, here
                    )
                    self._keep(states, ranks[a:b], there)
                    if self._narrow_states.dtype != states.dtype:
                        self._narrow_states[: b - a].copy_(states)
                        states = self._narrow_states
                else:  # word 1 is predicted from the first state, without a step
                    states = here.narrow[a:]
                # compute ln p of the last words of the children, and of </s> after each prefix
                children = slice(*trie.first_children[[a, b]].tolist())  # of the nodes a to b - 1
                own = torch.arange(b - a, device=words_of.device)
                # (K,) the state that predicts each
                rows = torch.cat([parents_of[children] - a, own])
                words = torch.cat([words_of[children], torch.full_like(own, END)])
                ln_p = self._predict(states, nodes[a:b], rows, words)  # (K,)
                # the last b - a are </s>
                edges[children], at_ends[a:b] = ln_p[: a - b], ln_p[a - b :]
            if level:
                here, there = there, here
        # only these copies wait for a GPU
        return edges.cpu().numpy(), at_ends.cpu().numpy()

    def _start(self, sources: int, level: _Level) -> None:
        """Project the summaries and set the decoder's first states."""
        H = level.carried.shape[1]
        for a, b in _even(0, sources, self._chunk):
            weight = self._weights.context_weight
            projections = self._multiply(self._contexts[a:], b - a, weight, self._projections[a:])
            start = level.carried[a:b]
            # s_0 = tanh(c V' + b)
            torch.add(projections[:, -H:], self._weights.start_bias, out=start)
            torch.tanh(start, out=start)
            if level.narrow is not level.carried:
                level.narrow[a:b].copy_(start)

    def _predict(self, states: Tensor, nodes: Tensor, rows: Tensor, words: Tensor) -> Tensor:
        """Return ln p of some words after some prefixes.

        Args:
            states: (B, H) or more rows, the states after the prefixes.
            nodes: (B, 3) the prefixes.
            rows: (K,) the prefix that each word follows.
            words: (K,) the words.
        """
        B, weights = len(nodes), self._weights
        features = self._output_features(states, nodes)
        ln_p = self._shift.new_zeros(len(words))
        bias, shift, total = weights.output_bias, self._shift[:B], self._total[:B]
        first = 0
        for panel in weights.panels:
            logits = self._multiply(features, B, panel, self._logits)  # (B, R) x (R, W)
            self._passes.add_panel(logits, bias, first, shift, total)
            self._passes.pick_logits(logits, bias, first, rows, words, ln_p)
            first += panel.shape[1]
        if weights.output_words is not None:
            exact = self._features[:B], weights.output_words, bias
            self._passes.refine(*exact, rows, words, shift, total, ln_p)
        self._passes.normalise(ln_p, rows, shift, total)
        return ln_p

    def _output_features(self, states: Tensor, nodes: Tensor) -> Tensor:
        """Return the input of the output layer, ``(B, R)``; later rows have no meaning."""
        B, weights = len(nodes), self._weights
        readout = self._multiply(states, B, weights.readout_weight, self._readout)
        maxout = self._maxout[:B]
        self._passes.maxout(readout, (nodes, weights.decoder.table, self._projections), maxout)
        features = torch.mm(maxout, weights.inner_weight, out=self._features[:B])  # (B, M) x (M, R)
        if self._narrow_features.dtype == features.dtype:
            return features
        self._narrow_features[:B].copy_(features)
        return self._narrow_features

    # -- the gated unit ------------------------------------------------------------------------

    def _step(
        self, unit: PackedUnit, parents: list[int], nodes: Tensor, context: Tensor, before: _Level
    ) -> Tensor:
        """Return the states of B children, ``(B, H)``; ``parents``: the first and last rank."""
        B, (first, last) = len(nodes), parents
        states, carried = self._states[:B], before.carried
        # the recurrent products of the gates depend only on the parent, so they are computed for
        # each parent and not for each child
        products = self._multiply(
            before.narrow[first:], last + 1 - first, unit.gate_weight, self._products
        )
        update, resets = self._update[:B], self._resets[:B]
        children = nodes, unit.table, context
        self._passes.open_gates(products, first, children, carried, update, resets)
        # (B, H) x (H, H)
        candidates = self._multiply(self._resets, B, unit.candidate_weight, self._candidates)
        self._passes.take_step(candidates, children, carried, update, states)
        return states

    def _multiply(self, states: Tensor, rows: int, weight: Tensor, out: Tensor) -> Tensor:
        """Return the first ``rows`` of ``states`` times a weight, in the memory of ``out``."""
        computed, columns = rows + -rows % self._multiple, weight.shape[1]
        product = out.view(-1)[: computed * columns].view(computed, columns)
        return torch.mm(states[:computed], weight, out=product)[:rows]

    def _keep(self, states: Tensor, places: Tensor, level: _Level) -> None:
        self._passes.keep_states(states, places, level.carried)
        if level.narrow is not level.carried:
            self._passes.keep_states(states, places, level.narrow)

    # -- indices -------------------------------------------------------------------------------

    def _index(self, numbers: NDArray[np.int64]) -> Tensor:
        found, device = torch.from_numpy(numbers), self._products.device
        if device.type != "cuda":
            return found.to(device)
        # from pinned memory, a copy to a GPU does not wait for the work before it
        return found.pin_memory().to(device, non_blocking=True)

    def _nodes(self, trie: PrefixTrie) -> Tensor:
        """Return (nodes, 3): row of the parent's state, word, and source of each node."""
        nodes = np.empty((len(trie), 3), np.int64)  # parent's row | word | source
        nodes[:, 0] = trie.ranks[trie.parents]
        nodes[:, 1], nodes[:, 2] = trie.words, trie.roots
        roots = int(trie.levels[1])
        no_word = len(self._weights.decoder.table) - 1  # for the missing word before word 1
        nodes[:roots, 0], nodes[:roots, 1] = np.arange(roots), no_word
        placed = self._index(nodes)
        # in memory, compiled passes need the three numbers of a node side by side; torch needs
        # contiguous columns
        return placed if self._compiled else placed.t().contiguous().t()

    def _chunks(self, trie: PrefixTrie, level: int) -> Iterator[tuple[int, int]]:
        """Cut a level into parts of at most ``_chunk`` prefixes with at most ``_chunk`` parents."""
        begin, end = trie.levels[level : level + 2].tolist()
        for a, b in _even(begin, end, self._chunk):
            if level == 1:  # roots without children are part of the range of parents, too
                while trie.parents[b - 1] - trie.parents[a] >= self._chunk:
                    end_of_parents = trie.parents[a] + self._chunk
                    cut = a + int(np.searchsorted(trie.parents[a:b], end_of_parents))
                    yield a, cut
                    a = cut
            yield a, b


def _even(begin: int, end: int, max_size: int) -> Iterator[tuple[int, int]]:
    """Cut a range into parts of nearly the same size."""
    parts = -(-(end - begin) // max_size)
    borders = [begin + (end - begin) * part // parts for part in range(parts + 1)] if parts else []
    return itertools.pairwise(borders)


class _CompiledSteps:
    """The functions of ``gated_kernels``, as functions of tensors."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        kernel = getattr(gated_kernels, name)
        return lambda *tensors: kernel(*map(_as_arrays, tensors))


def _as_arrays(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_as_arrays, value))
    return kernels.array_of(value) if isinstance(value, Tensor) else value
