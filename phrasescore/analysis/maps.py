"""A map of phrases or words in two dimensions: chosen, laid out and grouped.

Points that are near each other in the map are so in the model; far distances and directions mean
nothing. The layout is Barnes-Hut t-SNE (van der Maaten, 2013), with which the paper drew its
figures 4 and 5.
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
NO_CLUSTER = "#8a8f98"  # of points in none; grey enough on white and on black
# black, the last, is not seen on a dark page
_CLUSTER_COLOURS = COLOURS[:-1]
# how Moses writes characters that mean something to it; the last is the one that the others have
_ESCAPED = (
    *((b"&bar;", b"|"), (b"&#124;", b"|"), (b"&lt;", b"<"), (b"&gt;", b">"), (b"&bra;", b"[")),
    *((b"&ket;", b"]"), (b"&quot;", b'"'), (b"&apos;", b"'"), (b"&#91;", b"["), (b"&#93;", b"]")),
    (b"&amp;", b"&"),
)
# van der Maaten's own program begins so, too: fewer dimensions, found by their variance
_DIMENSIONS = 50
# With fewer points or threads, threads mostly wait for each other: for 5,000 points two take 76 s
# of processor time where one takes 53, and on a busy machine longer.
_POINTS_FOR_THREADS, _MIN_THREADS = 1000, 4
_MIN_CLUSTER = 5  # points
_MIN_SHARE = 200  # a cluster has at least one point in so many
_MAX_CLUSTERS = 24  # the largest
_WORDS = 3  # of a cluster's name
_INSIDE = (0.05, 0.95)  # of a cluster's points, along x and y; a few stray far


# -- points ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MapPoints:
    """The things that a map shows, and their vectors.

    Args:
        texts: N phrases or words, as a reader sees them.
        vectors: ``(N, D)``.
        noun: What one is called.
        of: How many there were to choose from.
    """

    texts: tuple[str, ...]
    vectors: Vectors
    noun: str
    of: int

    def __len__(self) -> int:
        return len(self.texts)


def random_phrases(
    phrases: TablePhrases,
    vocabulary: Vocabulary,
    summaries: PhraseSummaries,
    count: int,
    seed: int,
) -> MapPoints:
    """Draw distinct phrases of a table, each with the same chance.

    Each phrase has a number that depends on it and the seed alone, and those with the lowest ones
    are taken: in one pass, however often a phrase stands there, and wherever.

    Args:
        phrases: Of the table.
        vocabulary: The words that the model reads.
        summaries: Of that model.
        count: How many to draw at most.
        seed: Another one draws others.

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
        # sorted, each once
        keys, rows = np.unique(keys, return_index=True)
        keys, ids = keys[:count], ids.select(rows[:count])
    if not len(ids):
        raise phrases.none()
    texts = tuple(map(shown, phrase_texts(ids, vocabulary)))
    return MapPoints(texts, summaries.of(ids), "phrase", len(seen))


def frequent_words(
    known: WordVectors, count: int, table: str | Path | None, factor: int
) -> MapPoints:
    """Take a model's most frequent words, or those of them that a table has.

    Args:
        known: Words and their vectors, the most frequent first.
        count: How many to take at most.
        table: A phrase table, or ``None``.
        factor: Which factor of a factored token is the word.

    Raises:
        CorpusError: The table has none of them.
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
    """Return a text as a reader sees it, what Moses escaped written out.

    >>> shown(b"don &apos;t &amp;lt;")
    "don 't &lt;"
    """
    for code, letter in _ESCAPED:
        text = text.replace(code, letter)
    return text.decode("utf-8", "backslashreplace")


# -- layout ------------------------------------------------------------------------------------


def check_layout() -> None:
    """Find out before the work begins whether a map can be laid out.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingDependencyError.extra("scikit-learn", "report") from None


def lay_out(vectors: Vectors, seed: int, threads: int) -> Vectors:
    """Return places, ``(N, 2)``; the same for the same vectors, seed and machine.

    Args:
        vectors: ``(N, D)``, of at least ten things.
        seed: For what is random in it.
        threads: CPU threads.

    Raises:
        SettingsError: There are too few, or all are the same.
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
        # about how many neighbours of each count
        perplexity=min(PERPLEXITY, (N - 1) / 3),
        random_state=random_state,
        n_jobs=threads,
    )
    many = N >= _POINTS_FOR_THREADS and threads >= _MIN_THREADS
    # scikit-learn's own limit leaves out the loop over the points
    with threadpool_limits(threads if many else 1):
        return np.asarray(method.fit_transform(narrow), np.float32)


# -- clusters ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PointCluster:
    """A dense place.

    Args:
        name: Its most typical words.
        members: The numbers of its points, those nearest to its middle first.
        middle: Where its name stands.
        box: Left, right, low and high ends of where nearly all of it is.
    """

    name: str
    members: NDArray[np.int64]
    middle: tuple[float, float]
    box: tuple[float, float, float, float]


def find_clusters(places: NDArray[np.float32], texts: Sequence[str]) -> list[PointCluster]:
    """Find the dense places of a map with HDBSCAN, the largest first.

    Args:
        places: ``(N, 2)``.
        texts: N phrases, or words that stand in the order of their frequency.
    """
    from sklearn.cluster import HDBSCAN

    least = max(_MIN_CLUSTER, len(places) // _MIN_SHARE)
    if len(places) < 2 * least:
        return []
    method = HDBSCAN(min_cluster_size=least, cluster_selection_method="leaf", copy=True)
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
    middle = np.median(there, axis=0)
    rows = rows[np.argsort(((there - middle) ** 2).sum(axis=1), kind="stable")]
    (left, low), (right, high) = np.quantile(there, _INSIDE, axis=0).tolist()
    name = _name([words[row] for row in np.sort(rows).tolist()], everywhere, len(words))
    x, y = middle.tolist()
    return PointCluster(name, rows, (x, y), (left, right, low, high))


def _name(members: Sequence[Sequence[str]], everywhere: Counter[str], total: int) -> str:
    """Return the words that are most typical: frequent here, and more so than elsewhere.

    Of words that stand here once each, which is how it is in a map of words, the first ones.
    """
    here = Counter(word for each in members for word in dict.fromkeys(each))
    weights = {
        word: count * math.log(count * total / (len(members) * everywhere[word]))
        for word, count in here.items()
    }
    return " · ".join(sorted(here, key=lambda word: -weights[word])[:_WORDS])


@dataclass(frozen=True)
class DrawnMap:
    """Points and their clusters.

    Args:
        title: What it is a map of.
        subtitle: From what, and how it was made.
        noun: What a point is, e.g. ``phrase``.
        texts: N of them.
        places: ``(N, 2)``.
        clusters: The largest first.
    """

    title: str
    subtitle: str
    noun: str
    texts: tuple[str, ...]
    places: NDArray[np.float32]
    clusters: tuple[PointCluster, ...]

    def cluster_numbers(self) -> NDArray[np.int64]:
        """(N,) the cluster of each point, -1 for none."""
        numbers = np.full(len(self.texts), -1, np.int64)
        for number, cluster in enumerate(self.clusters):
            numbers[cluster.members] = number
        return numbers

    def colours(self) -> list[str]:
        """(N,) the colour of each point."""
        return [
            NO_CLUSTER if number < 0 else cluster_colour(number)
            for number in self.cluster_numbers().tolist()
        ]


def cluster_colour(number: int) -> str:
    """Return the colour of a cluster; they come again, so clusters are told by number, too."""
    return _CLUSTER_COLOURS[number % len(_CLUSTER_COLOURS)]
