"""Barnes-Hut t-SNE (van der Maaten, 2013): vectors to places in two dimensions."""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import MissingDependencyError, SettingsError, counted
from phrasescore.runs.progress import Progress

FEWEST = 10  # of which there can be a map
PERPLEXITY = 30.0
# van der Maaten's own program begins so, too: fewer dimensions, found by their variance
_DIMENSIONS = 50
_ITERATIONS = 1000
# From so many on threads do more than wait for each other: for 5,000 points two take 76 s of
# processor time where one takes 53, and on a busy machine longer.
_POINTS_FOR_THREADS, _FEWEST_THREADS = 1000, 4
_SAID = re.compile(r"Iteration (\d+)")

Vectors = NDArray[np.float32]


def check_layout() -> None:
    """Find out before the work begins whether a map can be laid out.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingDependencyError.extra("scikit-learn", "report") from None


def lay_out(vectors: Vectors, seed: int, threads: int, perplexity: float = PERPLEXITY) -> Vectors:
    """Return places, ``(N, 2)``; the same for the same vectors, seed and machine.

    Args:
        vectors: ``(N, D)``, of at least ten things.
        seed: For what is random in it.
        threads: CPU threads.
        perplexity: About how many neighbours of each count; fewer where there are few points.

    Raises:
        SettingsError: There are too few, or all are the same.
        MissingDependencyError: scikit-learn is not installed.
    """
    check_layout()
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    N, D = vectors.shape
    if N < FEWEST:
        raise SettingsError(
            f"a map needs at least {FEWEST} points, and here {counted(N, 'point')} would be in it",
            remedy="name a larger table or model, or ask for shorter phrases with --min-words",
        )
    if not np.ptp(vectors, axis=0).any():
        raise SettingsError(
            "all the vectors are the same, so there is nothing to lay out",
            remedy="name a model that was trained",
        )
    wide = np.pad(vectors, ((0, 0), (0, max(0, 2 - D))))
    most = min(_DIMENSIONS, N, wide.shape[1])
    narrow = PCA(most, svd_solver="full", random_state=seed % (1 << 32)).fit_transform(wide)
    method = TSNE(
        2,
        method="barnes_hut",
        init="pca",
        learning_rate="auto",
        perplexity=min(perplexity, (N - 1) / 3),
        random_state=seed % (1 << 32),
        n_jobs=threads,
        verbose=2,
    )
    many = N >= _POINTS_FOR_THREADS and threads >= _FEWEST_THREADS
    with (
        Progress("laying out the map", _ITERATIONS, "iterations") as progress,
        contextlib.redirect_stdout(_Listener(progress)),
        # scikit-learn's own limit leaves out the loop over the points
        threadpool_limits(threads if many else 1),
    ):
        return np.asarray(method.fit_transform(narrow), np.float32)


class _Listener(io.TextIOBase):
    """Hears what scikit-learn prints of its iterations, which is all that it tells."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done = progress, 0

    def writable(self) -> bool:
        return True

    def write(self, text: Any) -> int:
        for number in _SAID.findall(text):
            # the last ones are counted from where exaggeration ended
            self._progress.advance(max(0, int(number) + 1 - self._done))
            self._done = max(self._done, int(number) + 1)
        return len(text)
