"""Maps of phrases or words in two dimensions: selection, layout and clusters.

Points that are close in the map are close in the model; long distances and directions mean nothing.
The layout is Barnes-Hut t-SNE (van der Maaten, 2013), as in figures 4 and 5 of the paper.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.vectors import Vectors, WordVectors
from phrasescore.errors import CorpusError, MissingDependencyError, SettingsError, counted
from phrasescore.pictures.figure_files import COLOURS
from phrasescore.runs.progress import Progress
from phrasescore.table.block import read_blocks
from phrasescore.words.distinct_phrases import phrase_digests
from phrasescore.words.vocabulary import SPECIALS, Vocabulary

if TYPE_CHECKING:
    from phrasescore.analysis.phrases import PhraseSummaries, TablePhrases

MIN_POINTS = 10
PERPLEXITY = 30.0
NO_CLUSTER = "#8a8f98"  # a grey that is visible on white and on black pages
# without black, the last colour, which is invisible on a dark page
_CLUSTER_COLOURS = COLOURS[:-1]
# Moses's escapes; the ampersand comes last because all the other escapes contain it
_ESCAPED = (
    *((b"&bar;", b"|"), (b"&#124;", b"|"), (b"&lt;", b"<"), (b"&gt;", b">"), (b"&bra;", b"[")),
    *((b"&ket;", b"]"), (b"&quot;", b'"'), (b"&apos;", b"'"), (b"&#91;", b"["), (b"&#93;", b"]")),
    (b"&amp;", b"&"),
)
# van der Maaten's own program also begins with a principal component analysis
_DIMENSIONS = 50
# With fewer points or threads, the threads mostly wait for each other: on 5,000 points two threads
# take 76 s of processor time where one takes 53 s, and even longer on a busy machine.
_POINTS_FOR_THREADS, _MIN_THREADS = 1000, 4
_MIN_CLUSTER = 5  # points
_MIN_SHARE = 200  # a cluster has at least one in this many of all points
_MAX_CLUSTERS = 24
_WORDS = 3  # in a cluster's name
_INSIDE = (0.05, 0.95)  # quantiles of a cluster's box: a few points stray far


# -- points ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MapPoints:
    """The phrases or words of a map, and their vectors.

    Args:
        texts: N phrases or words, with Moses's escapes undone.
        vectors: ``(N, D)``.
        noun: ``phrase`` or ``word``.
        among: Number of phrases or words that the N were chosen from.
    """

    texts: tuple[str, ...]
    vectors: Vectors
    noun: str
    among: int

    def __len__(self) -> int:
        return len(self.texts)


def random_phrases(
    phrases: TablePhrases,
    vocabulary: Vocabulary,
    summaries: PhraseSummaries,
    count: int,
    seed: int,
) -> MapPoints:
    """Draw a uniform sample of the distinct phrases of a table, in one pass.

    Each phrase is hashed with the seed, and the phrases with the lowest hashes are taken, so the
    sample does not depend on where or how often a phrase occurs.

    Args:
        phrases: The phrases of the table.
        vocabulary: The words that the model reads.
        summaries: Computes the vectors of the phrases.
        count: Maximum number of phrases to draw.
        seed: Seed of the draw.

    Raises:
        CorpusError: The model knows no phrase.
    """
    from phrasescore.analysis.phrases import joined
    from phrasescore.generation.phrase_output import phrase_texts

    swap, spread = np.random.default_rng(seed).integers(1 << 63, size=2, dtype=np.uint64)
    ids, keys = joined([]), np.empty(0, np.uint64)
    seen = np.empty(0, np.uint64)
    for block in phrases.blocks():
        digests = phrase_digests(block.tokens, block.offsets)[:, 0]
        seen = np.union1d(seen, digests)
        ids = joined([ids, block])
        keys = np.concatenate([keys, (digests ^ swap) * (spread | np.uint64(1))])
        # unique sorts the keys
        keys, rows = np.unique(keys, return_index=True)
        keys, ids = keys[:count], ids.select(rows[:count])
    if not len(ids):
        raise phrases.no_phrase_error()
    texts = tuple(map(shown, phrase_texts(ids, vocabulary)))
    return MapPoints(texts, summaries.encode(ids), "phrase", len(seen))


def frequent_words(
    known: WordVectors, count: int, table: str | Path | None, factor: int
) -> MapPoints:
    """Take a model's most frequent words, or the most frequent words of a table.

    Args:
        known: Words and their vectors, the most frequent first.
        count: Maximum number of words.
        table: Phrase table that must contain the words, or ``None``.
        factor: The factor of factored tokens that is the word.

    Raises:
        CorpusError: The model knows no word of the table.
    """
    rows = np.arange(len(known.words))
    if table is not None:
        rows = rows[_in_table(table, known, factor)]
        if not len(rows):
            raise CorpusError(
                f"the {known.side} side of this table has no word that the model knows",
                path=table,
                remedy="name a table of the languages that the model was trained on",
            )
    texts = tuple(shown(known.words[row]) for row in rows[:count].tolist())
    return MapPoints(texts, known.vectors[rows[:count]], "word", len(rows))


def _in_table(path: str | Path, known: WordVectors, factor: int) -> NDArray[np.bool_]:
    vocabulary = Vocabulary.from_words(known.words)
    there = np.zeros(len(vocabulary), np.bool_)
    with Progress("reading the phrase table", unit="lines") as progress:
        for block in read_blocks(path):
            there[vocabulary.encode_spans(block.token_spans(known.side, factor)).tokens] = True
            progress.advance(len(block))
    return there[len(SPECIALS) :]


def shown(text: bytes) -> str:
    """Return a text with Moses's escapes undone.

    >>> shown(b"don &apos;t &amp;lt;")
    "don 't &lt;"
    """
    for code, letter in _ESCAPED:
        text = text.replace(code, letter)
    return text.decode("utf-8", "backslashreplace")


# -- layout ------------------------------------------------------------------------------------


def check_layout() -> None:
    """Check before the work begins that a map can be laid out.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingDependencyError.extra("scikit-learn", "report") from None


def lay_out(vectors: Vectors, seed: int, threads: int) -> Vectors:
    """Return coordinates, ``(N, 2)``, reproducible for the same vectors, seed and machine.

    Args:
        vectors: ``(N, D)`` with N at least ten.
        seed: Seed of the layout.
        threads: CPU threads.

    Raises:
        SettingsError: There are too few vectors, or all are equal.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    N, D = vectors.shape
    if N < MIN_POINTS:
        raise SettingsError(
            f"a map needs at least {MIN_POINTS} points, and here {counted(N, 'point')} would be "
            "in it",
            remedy="name a larger table or model, or ask for shorter phrases with --min-words",
        )
    if not np.ptp(vectors, axis=0).any():
        raise SettingsError(
            "all the vectors are the same, so there is nothing to lay out",
            remedy="name a model that was trained",
        )
    wide = np.pad(vectors, ((0, 0), (0, max(0, 2 - D))))
    dimensions = min(_DIMENSIONS, N, wide.shape[1])
    random_state = seed % (1 << 32)
    narrow = PCA(dimensions, svd_solver="full", random_state=random_state).fit_transform(wide)
    method = TSNE(
        2,
        method="barnes_hut",
        init="pca",
        learning_rate="auto",
        # roughly the number of neighbours that t-SNE considers for each point
        perplexity=min(PERPLEXITY, (N - 1) / 3),
        random_state=random_state,
        n_jobs=threads,
    )
    many = N >= _POINTS_FOR_THREADS and threads >= _MIN_THREADS
    # n_jobs does not limit the OpenMP loop over the points
    with threadpool_limits(threads if many else 1):
        return np.asarray(method.fit_transform(narrow), np.float32)


# -- clusters ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PointCluster:
    """A dense region of the map.

    Args:
        name: Its most typical words.
        members: Indices of its points, nearest to the centre first.
        centre: Position of the name, x and y.
        box: Left, right, bottom and top of a box around nearly all points.
    """

    name: str
    members: NDArray[np.int64]
    centre: tuple[float, float]
    box: tuple[float, float, float, float]


def find_clusters(places: NDArray[np.float32], texts: Sequence[str]) -> list[PointCluster]:
    """Find the clusters of a map with HDBSCAN, the largest first.

    Args:
        places: ``(N, 2)`` coordinates.
        texts: N phrases, or N words in the order of their frequency.
    """
    from sklearn.cluster import HDBSCAN

    min_size = max(_MIN_CLUSTER, len(places) // _MIN_SHARE)
    if len(places) < 2 * min_size:
        return []
    method = HDBSCAN(min_cluster_size=min_size, cluster_selection_method="leaf", copy=True)
    numbers = method.fit_predict(places)
    groups = [np.flatnonzero(numbers == number) for number in range(numbers.max() + 1)]
    groups.sort(key=lambda rows: -len(rows))
    words = [text.split() for text in texts]
    everywhere = Counter(word for each in words for word in set(each))
    return [_cluster(places, words, everywhere, rows) for rows in groups[:_MAX_CLUSTERS]]


def _cluster(
    places: NDArray[np.float32],
    words: Sequence[Sequence[str]],
    everywhere: Counter[str],
    rows: NDArray[np.int64],
) -> PointCluster:
    there = places[rows]
    centre = np.median(there, axis=0)
    rows = rows[np.argsort(((there - centre) ** 2).sum(axis=1), kind="stable")]
    (left, low), (right, high) = np.quantile(there, _INSIDE, axis=0).tolist()
    name = _name([words[row] for row in np.sort(rows).tolist()], everywhere, len(words))
    x, y = centre.tolist()
    return PointCluster(name, rows, (x, y), (left, right, low, high))


def _name(members: Sequence[Sequence[str]], everywhere: Counter[str], total: int) -> str:
    """Return the most typical words: frequent in the cluster, and less frequent elsewhere.

    In a map of words, where each word occurs once, these are the first words of the cluster.
    """
    here = Counter(word for each in members for word in dict.fromkeys(each))
    weights = {
        word: count * math.log(count * total / (len(members) * everywhere[word]))
        for word, count in here.items()
    }
    return " · ".join(sorted(here, key=lambda word: -weights[word])[:_WORDS])


@dataclass(frozen=True)
class DrawnMap:
    """A laid-out map, ready to be drawn.

    Args:
        title: Title of the picture or page.
        subtitle: Where the points come from, and how the map was made.
        noun: What a point is: ``phrase`` or ``word``.
        texts: The text of each of N points.
        places: ``(N, 2)`` coordinates.
        clusters: Clusters, the largest first.
    """

    title: str
    subtitle: str
    noun: str
    texts: tuple[str, ...]
    places: NDArray[np.float32]
    clusters: tuple[PointCluster, ...]

    def cluster_numbers(self) -> NDArray[np.int64]:
        """Return (N,) the number of each point's cluster, -1 for none."""
        numbers = np.full(len(self.texts), -1, np.int64)
        for number, cluster in enumerate(self.clusters):
            numbers[cluster.members] = number
        return numbers

    def colours(self) -> list[str]:
        """Return (N,) the colour of each point."""
        return [
            NO_CLUSTER if number < 0 else cluster_colour(number)
            for number in self.cluster_numbers().tolist()
        ]


def cluster_colour(number: int) -> str:
    """Return the colour of a cluster; colours repeat, so clusters are numbered, too."""
    return _CLUSTER_COLOURS[number % len(_CLUSTER_COLOURS)]
