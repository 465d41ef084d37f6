"""What table and model prefer for some sources, and what the model writes for them itself.

Tables 2 and 3 of Cho et al. (2014): the best targets by p(target | source) of the table, the best
of the same candidates by the model, and the best of the targets that were sampled from the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.targets.source_drawing import DrawnSource
from phrasescore.errors import ModelError
from phrasescore.generation.phrase_output import phrase_texts
from phrasescore.generation.sampling import Sampling
from phrasescore.generation.target_generator import TargetGenerator
from phrasescore.generation.targets import SampleSettings, TargetSettings
from phrasescore.model.folder import LoadedModel
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.words.token_sequences import TokenSequences, from_lists


@dataclass(frozen=True)
class PreferenceSettings:
    """How much to show.

    Args:
        best: Targets by the table and by the model.
        samples: How many targets of a source are drawn.
        best_samples: Distinct ones of them to show.
        seed: For the samples.
        unknown: Whether a sample may have ``<unk>``.
    """

    best: int = 3
    samples: int = 50
    best_samples: int = 5
    seed: int = 1
    unknown: bool = True


@dataclass(frozen=True)
class Preferred:
    """One target in a list.

    Args:
        target: Its tokens, a blank between them.
        value: What it is ranked by: p in the list of the table, ln p in those of the model.
        times: How often it was drawn; 1 in other lists.
    """

    target: bytes
    value: float
    times: int = 1


@dataclass(frozen=True)
class Preferences:
    """The lists of one source, the best target first.

    Args:
        source: The source, with all its candidates.
        by_table: The best candidates by p(target | source) of the table.
        by_model: The best candidates by ln p(target | source) of the model.
        samples: The best distinct samples by ln p(target | source) of the model.
    """

    source: DrawnSource
    by_table: tuple[Preferred, ...]
    by_model: tuple[Preferred, ...]
    samples: tuple[Preferred, ...]


def find_preferences(
    loaded: LoadedModel,
    sources: Sequence[DrawnSource],
    settings: PreferenceSettings,
    device: str = "auto",
) -> tuple[Preferences, ...]:
    """Rank the candidates of some sources, and let a model write targets of its own.

    Candidates of equal values stay in the order of the table. The samples of a source depend on the
    seed and on its place among the sources.

    Args:
        loaded: A model that reads sources.
        sources: Drawn or given ones.
        settings: How much to show.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        ModelError: The model gives something that is not a log-probability.
    """
    if not sources:
        return ()
    encode = loaded.source_vocabulary.encode
    ids = from_lists([encode(source.words) for source in sources])
    ln_p = _candidates(loaded, sources, ids, device)
    samples = _samples(loaded, ids, settings, device)
    return tuple(
        Preferences(
            source,
            _best(source, [candidate.p for candidate in source.candidates], settings.best),
            _best(source, of_model.tolist(), settings.best),
            drawn,
        )
        for source, of_model, drawn in zip(sources, ln_p, samples, strict=True)
    )


def _candidates(
    loaded: LoadedModel, sources: Sequence[DrawnSource], ids: TokenSequences, device: str
) -> list[NDArray[np.float64]]:
    """Return ln p of the candidates of each source."""
    counts = [len(source.candidates) for source in sources]
    encode = loaded.target_vocabulary.encode
    targets = from_lists([encode(each.words) for source in sources for each in source.candidates])
    rows = np.repeat(np.arange(len(sources)), counts)
    ln_p = SharedScorer(loaded.model, device).score(ids.select(rows), targets)
    if np.isnan(ln_p).any():
        raise ModelError(
            "the model gives no numbers for a source",
            remedy="train it again; its parameters are not finite",
        )
    return np.split(ln_p, np.cumsum(counts)[:-1])


def _samples(
    loaded: LoadedModel, ids: TokenSequences, settings: PreferenceSettings, device: str
) -> list[tuple[Preferred, ...]]:
    """Return the best samples of each source."""
    drawn = SampleSettings(settings.samples, settings.seed, best=settings.best_samples)
    method = Sampling(drawn, TargetSettings(unknown=settings.unknown))
    targets = TargetGenerator(loaded.model, method, device).targets(ids)
    texts = phrase_texts(targets.words, loaded.target_vocabulary)
    rows = zip(texts, targets.ln_p.tolist(), targets.counts.tolist(), strict=True)
    preferred = list(itertools.starmap(Preferred, rows))
    return [tuple(preferred[a:b]) for a, b in itertools.pairwise(targets.offsets.tolist())]


def _best(source: DrawnSource, values: list[float], most: int) -> tuple[Preferred, ...]:
    """Return the candidates of the greatest values, of equal ones those that come first."""
    order = sorted(range(len(values)), key=lambda row: -values[row])[:most]
    return tuple(Preferred(source.candidates[row].target, values[row]) for row in order)
