"""Computes soft alignments: matrices of the attention alpha of target words to source words."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.errors import CorpusError
from phrasescore.model.device import Cores, choose_device
from phrasescore.model.networks.attention_model import AttentionModel
from phrasescore.model.sequence_model import END, Batch
from phrasescore.scoring.prefix_trie import cut_by_area
from phrasescore.words.token_sequences import TokenSequences, as_matrix
from phrasescore.words.vocabulary import Vocabulary

Rows = NDArray[np.int64]
# alpha of each target word and </s> (rows) to each source word and </s> (columns)
Alignment = NDArray[np.float32]

_PAIRS = 64  # maximum number of pairs in a batch
_AREA = 1 << 16  # maximum number of elements in the matrices of a batch
_MAX_AREA = 20_000_000  # maximum number of elements for one pair; each takes about 20 bytes


class SoftAlignments:
    """Aligns pairs of id sequences.

    Args:
        models: Models with attention, on any device. The result is the mean of their alignments.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
    """

    def __init__(self, models: Sequence[AttentionModel], device: str = "auto") -> None:
        self._device = choose_device(device)
        self._models = [copy.deepcopy(model).to(self._device).eval() for model in models]
        self._cores = Cores(self._device)

    def align(self, sources: TokenSequences, targets: TokenSequences) -> list[Alignment]:
        """Return the alignment of N pairs, ``(T + 1, S + 1)`` each, in their order.

        Args:
            sources: N sequences of ids of the side that the models read, without </s>.
            targets: N sequences of ids of the side that they predict, without </s>.

        Raises:
            CorpusError: A pair is too long.
        """
        S, T = sources.lengths, targets.lengths
        if (S * T).max(initial=0) > _MAX_AREA:
            longest = int(np.argmax(S * T))
            raise CorpusError(
                f"a sentence of {S[longest]:,} words and its translation of {T[longest]:,}: their "
                "alignment would not fit into memory",
                remedy="split the sentence",
            )
        # pairs of similar lengths form a batch, so that there is little padding
        order = np.lexsort((T, S))
        # the batches do not depend on the number of cores, so digits do not depend on it either
        cuts = cut_by_area((S[order] + 1) * (T[order] + 1), _PAIRS, _AREA)
        found: dict[int, Alignment] = {}

        def work(rows: Rows) -> list[tuple[int, Alignment]]:
            padded = self._batch(sources.select(rows), targets.select(rows))
            return [
                (row, padded[at, : T[row] + 1, : S[row] + 1].copy())
                for at, row in enumerate(rows.tolist())
            ]

        groups = [order[c] for c in cuts]
        for _, aligned in itertools.chain.from_iterable(self._cores.each(work, groups)):
            found.update(aligned)
        return [found[row] for row in range(len(S))]

    def _batch(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float32]:
        """Return the alignments of a batch, ``(B, T + 1, S + 1)``, padded."""
        (read, read_lengths), (written, written_lengths) = (
            map(torch.from_numpy, as_matrix(side, END)) for side in (sources, targets)
        )
        words = int(written_lengths.sum()) + len(written)
        batch = Batch(read, written, (read_lengths, written_lengths), words).to(self._device)
        with torch.inference_mode():
            total = self._models[0].alignments(batch)
            for model in self._models[1:]:
                total = total + model.alignments(batch)
        mean: NDArray[np.float32] = (total / len(self._models)).float().cpu().numpy()
        return mean


def between_words(
    alignments: Sequence[Alignment],
    sides: tuple[TokenSequences, TokenSequences],
    vocabularies: tuple[Vocabulary, Vocabulary],
) -> list[Alignment]:
    """Turn alignments between pieces of words into alignments between words; rows still sum to 1.

    The alpha of a source word is the sum over its pieces. The alpha of a target word is the mean
    over its pieces.

    Args:
        alignments: N alignments, ``(T + 1, S + 1)``.
        sides: Source and target ids of the N pairs.
        vocabularies: The source and the target vocabulary.
    """
    if vocabularies[0].byte_pairs is None:
        return list(alignments)
    found = []
    for pair, alignment in enumerate(alignments):
        read, written = (
            np.insert(np.flatnonzero(vocabulary.word_ends(ids[pair])) + 1, 0, 0)
            for vocabulary, ids in zip(vocabularies, sides, strict=True)
        )
        pieces = np.diff(written, append=len(alignment))
        sums = np.add.reduceat(np.add.reduceat(alignment, read, axis=1), written, axis=0)
        found.append((sums / pieces[:, None]).astype(np.float32))
    return found
