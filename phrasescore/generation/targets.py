"""Generates targets with a model: search settings, results, and the search over many sources."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.errors import ModelError, SettingsError
from phrasescore.model.device import Cores, choose_device
from phrasescore.model.sequence_model import UNKNOWN, State, StepModel
from phrasescore.scoring.prefix_trie import cut_by_area
from phrasescore.words.token_sequences import TokenSequences, as_matrix, concatenated, offsets_of

# without --max-length, a target has at most three times as many words as its source, but 10 words
# are always allowed
_TIMES_SOURCE, _MIN_LIMIT = 3, 10
Rows = NDArray[np.int64]
_GROUP = {"cpu": 128, "cuda": 4096}  # number of sources in a group
# maximum size of a group: its number of sources times the words of its longest source
_AREA = {"cpu": 4096, "cuda": 65536}
_CHUNK = {"cpu": 128, "cuda": 8192}  # number of prefixes at a time


@dataclass(frozen=True)
class TargetSettings:
    """The constraints on targets.

    Args:
        max_length: The maximum number of words of a target, </s> not counted. ``None``: three times
            the words of its source, but at least 10.
        unknown: Whether ``<unk>`` may be one of the words.
        length_bounds: Whether to limit lengths as the program of Bahdanau et al. (2014) does. A
            target then has at least half as many words as its source. Without ``max_length``, it
            has at most three times as many symbols as its source, </s> counted on both sides.
    """

    max_length: int | None = None
    unknown: bool = True
    length_bounds: bool = False

    def limits(self, source_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (N,): the maximum number of words of the targets of each source."""
        if self.max_length is not None:
            return np.full(len(source_lengths), self.max_length, np.int64)
        if self.length_bounds:
            return _TIMES_SOURCE * (source_lengths + 1) - 1
        return np.maximum(_TIMES_SOURCE * source_lengths, _MIN_LIMIT)

    def minimums(self, source_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (N,): the minimum number of words of the targets of each source."""
        if not self.length_bounds:
            return np.zeros(len(source_lengths), np.int64)
        return np.minimum((source_lengths + 1) // 2, self.limits(source_lengths))


@dataclass(frozen=True)
class BeamSettings:
    """Settings of a beam search.

    Args:
        size: The maximum number of hypotheses of a source at a time, finished ones included.
        best: The number of targets to return for each source, at most ``size``.
        length_normalisation: Whether to rank by ln p divided by the number of words, </s> counted.
    """

    size: int = 10
    best: int = 10
    length_normalisation: bool = False

    def __post_init__(self) -> None:
        if self.best > self.size:
            raise SettingsError(
                f"a beam of {self.size} cannot give the {self.best} best targets",
                remedy=f"give a beam of at least {self.best}, or ask for fewer targets",
            )


@dataclass(frozen=True)
class SampleSettings:
    """Settings for drawing targets at random.

    Args:
        count: The number of targets to draw for each source.
        seed: The seed. The random numbers depend only on the seed and the index of the source.
        temperature: Words are drawn from softmax(ln p / temperature); 1 draws them from p.
        best: Number of distinct targets to return for each source; ``None``: all targets drawn.
    """

    count: int
    seed: int = 1
    temperature: float = 1.0
    best: int | None = None


@dataclass(frozen=True)
class Targets:
    """Targets of N sources, in the order of the sources; per source, the highest ranked first.

    Args:
        offsets: (N + 1,) the targets of source n are ``offsets[n]`` to ``offsets[n + 1] - 1``.
        words: The word ids of the targets, without </s>.
        ln_p: (targets,) ln p(target and </s> | source).
        counts: (targets,) how often each target was drawn; 1 for the results of a beam search.
    """

    offsets: NDArray[np.int64]
    words: TokenSequences
    ln_p: NDArray[np.float64]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ln_p)

    @property
    def owners(self) -> list[int]:
        """The source of each target."""
        numbers = np.arange(len(self.offsets) - 1)
        return np.repeat(numbers, np.diff(self.offsets)).tolist()


@dataclass(frozen=True)
class Found:
    """Targets that ended at one step of a search.

    Args:
        owners: (targets,) the source of each target.
        words: (targets, steps) the word ids of each target.
        ln_p: (targets,) ln p, </s> included.
        counts: (targets,) how often each target was drawn.
    """

    owners: NDArray[np.int64]
    words: NDArray[np.int32]
    ln_p: NDArray[np.float64]
    counts: NDArray[np.int64]


def ranking_scores(
    ln_p: NDArray[np.float64], lengths: NDArray[np.int64], length_normalisation: bool
) -> NDArray[np.float64]:
    """Return the scores that rank targets: ln p, or ln p / number of words, </s> counted."""
    return ln_p / (lengths + 1) if length_normalisation else ln_p


class Prefixes(ABC):
    """The prefixes of a search, one in each row; at first, each source has an empty prefix.

    Args:
        allowed: The constraints on targets.
        lengths: (N,) the number of words of each source.
        best: The number of targets to keep for each source; ``None`` for all.
        normalised: Whether to rank by ln p divided by the words, </s> counted.

    Attributes:
        unknown: Whether ``<unk>`` may be a word; otherwise the search sets its ln p to -inf.
    """

    def __init__(
        self, allowed: TargetSettings, lengths: Rows, best: int | None, *, normalised: bool
    ) -> None:
        self.unknown = allowed.unknown
        self._limits, self._minimums = allowed.limits(lengths), allowed.minimums(lengths)
        self._best, self._normalised = best, normalised
        self._found: list[Found] = []
        self._owners = np.arange(len(lengths))
        self._totals = np.zeros(len(lengths), np.float64)
        self._prefixes = np.empty((len(lengths), 0), np.int32)

    @property
    def last_words(self) -> Rows:
        """``(rows,)``: the word that the model reads next for each row."""
        return self._prefixes[:, -1].astype(np.int64)

    def prepare(self) -> None:
        """Allocate arrays for the words that follow each row."""
        length = self._prefixes.shape[1]
        self._ending = self._limits[self._owners] <= length
        self._early = self._minimums[self._owners] > length  # rows that are too short to end

    @abstractmethod
    def choose(self, a: int, b: int, ln_p: Tensor) -> None:
        """Choose words for rows ``a`` to ``b - 1`` by ``ln_p (b - a, V)``; ``ln_p`` is not kept."""

    @abstractmethod
    def extend(self) -> Rows:
        """Select the surviving prefixes and return the parent row of each."""

    def _go_on(self, parents: Rows, words: Rows, totals: NDArray[np.float64]) -> None:
        """Replace the prefixes by the selected continuations."""
        self._owners, self._totals = self._owners[parents], totals
        self._prefixes = np.column_stack([self._prefixes[parents], words.astype(np.int32)])

    def targets(self) -> Targets:
        """Return the targets in the order of the sources; per source, the highest ranked first.

        If ranking scores are equal, the target that ended earlier comes first.
        """
        found, sources = self._found, np.arange(len(self._limits) + 1)
        owners = np.concatenate([each.owners for each in found])
        ln_p = np.concatenate([each.ln_p for each in found])
        counts = np.concatenate([each.counts for each in found])
        lengths = np.concatenate([np.full(len(f.owners), f.words.shape[1]) for f in found])
        tokens = np.concatenate([each.words.ravel() for each in found])
        score = ranking_scores(ln_p, lengths, self._normalised)
        order = np.lexsort((np.arange(len(owners)), -score, owners))
        if self._best is not None:
            ordered = owners[order]
            order = order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < self._best]
        begins = np.searchsorted(owners[order], sources)
        words = TokenSequences(tokens.astype(np.int32), offsets_of(lengths)).select(order)
        return Targets(begins.astype(np.int64), words, ln_p[order], counts[order])


# Creates a `BeamSearch` or `Sampling` that begins with N empty prefixes. The arguments are ``(N,)``
# the indexes of the N sources among all sources, which select random numbers, and ``(N,)`` the
# lengths of the sources.
Method: TypeAlias = Callable[[Rows, Rows], Prefixes]


def search(model: StepModel, sources: TokenSequences, prefixes: Prefixes, chunk: int) -> Targets:
    """Read sources, then search word by word until no prefix is left.

    Args:
        model: A model in evaluation mode, on its device; several threads may share it.
        sources: Ids of the side that the model reads.
        prefixes: The prefixes, which choose among the words that may follow.
        chunk: Number of rows to compute at a time, so small that their ln p stay in the caches.
    """

    def placed(numbers: Rows) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(model.device)

    state: State | None = None
    parents = np.arange(len(sources))
    while len(parents):
        prefixes.prepare()
        kept = []
        for a in range(0, len(parents), chunk):
            rows = parents[a : a + chunk]
            if state is None:
                ids, lengths = as_matrix(sources.select(rows))
                made, ln_p = model.start(placed(ids), placed(lengths), torch.float32)
            else:
                words = prefixes.last_words[a : a + chunk]
                made, ln_p = model.step(state.gathered(placed(rows)), placed(words))
            if not prefixes.unknown:
                ln_p[:, UNKNOWN] = -np.inf
            prefixes.choose(a, a + len(rows), ln_p)
            kept.append(made)
        state = kept[0].followed_by(kept[1:])
        parents = prefixes.extend()
    return prefixes.targets()


class TargetGenerator:
    """Generates targets with one model.

    Args:
        model: A model of any kind, on any device.
        method: Beam search or sampling.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        group: Number of sources in a group, fewer if the sources are long; ``None`` for the default
            of the device.
        chunk: Number of prefixes at a time; ``None`` for the default of the device.

    Attributes:
        device: The device that computes.
        cores: The threads that compute.
    """

    def __init__(
        self,
        model: StepModel,
        method: Method,
        device: str = "auto",
        group: int | None = None,
        chunk: int | None = None,
    ) -> None:
        self.device = choose_device(device)
        kind = self.device.type
        self._model = copy.deepcopy(model).to(self.device).eval()
        self._method = method
        self._group, self._area = group or _GROUP[kind], _AREA[kind]
        self._chunk = chunk or _CHUNK[kind]
        self.cores = Cores(self.device)

    def targets(self, sources: TokenSequences, first: int = 0) -> Targets:
        """Return targets of N sources, in the order of the sources.

        Args:
            sources: Phrases of ids of the side that the model reads, without </s>.
            first: The index of the first source among all sources; it selects random numbers.

        Raises:
            ModelError: A result of the model is not a number.
        """
        # sources of equal length need no padding, and their targets end at about the same step
        order = np.argsort(sources.lengths, kind="stable")
        groups = cut_by_area(order, sources.lengths, self._group, self._area)

        def work(rows: NDArray[np.int64]) -> Targets:
            part = sources.select(rows)
            prefixes = self._method(rows + first, part.lengths)
            with torch.inference_mode():
                return search(self._model, part, prefixes, self._chunk)

        found = [targets for parts in self.cores.each(work, groups) for _, targets in parts]
        targets = _in_order(found, order)
        if (np.diff(targets.offsets) == 0).any() or np.isnan(targets.ln_p).any():
            raise ModelError(
                "the model's scores of a source are not finite",
                remedy="train the model again; its parameters are not finite",
            )
        return targets


def _in_order(parts: Sequence[Targets], order: NDArray[np.int64]) -> Targets:
    """Join targets whose sources are in ``order``; return them in the order of the sources."""
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    rows = np.argsort(np.repeat(order, counts), kind="stable")
    return Targets(
        offsets_of(counts[np.argsort(order)]),
        concatenated([part.words for part in parts]).select(rows),
        np.concatenate([part.ln_p for part in parts])[rows],
        np.concatenate([part.counts for part in parts])[rows],
    )
