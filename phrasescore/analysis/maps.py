"""Figures 4 and 5 of Cho et al. (2014): maps of words or phrases in two dimensions.

Points that are close in the map are close in the model. Long distances and directions in the map
have no meaning.
The layout is Barnes-Hut t-SNE (van der Maaten, 2013), and clusters are found by HDBSCAN. A map is
an HTML page to browse.
"""

from __future__ import annotations

import html
import importlib.util
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.vectors import Vectors
from phrasescore.errors import MissingDependencyError, SettingsError, counted
from phrasescore.pictures.figure_files import COLOURS
from phrasescore.runs.final_names import write_atomically

_MIN_POINTS = 10
_PERPLEXITY = 30.0
# van der Maaten's own program also begins with a principal component analysis
_DIMENSIONS = 50
# With fewer points or threads than these, the threads mostly wait for each other: for 5,000 points,
# two threads take 76 s of processor time, but one thread takes 53 s. On a busy machine, the threads
# take longer.
_POINTS_FOR_THREADS, _MIN_THREADS = 1000, 4
_MIN_CLUSTER = 5  # minimum number of points in a cluster
_MIN_SHARE = 200  # a cluster has at least one 200th of all points
_MAX_CLUSTERS = 24
_WORDS = 3  # number of words in a cluster's name
_NO_CLUSTER = "#8a8f98"
# The page may not connect to any machine. It may use eval, with which Bokeh runs the search box.
# the ids of elements of the page, in which bokeh uses random numbers
_RANDOM_ID = re.compile(r'(?:(?<= id=")|(?<="docid":"))[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')
_POLICY = """{% block preamble %}
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:; font-src data:">
{% endblock %}"""
# the search of the page marks points whose text contains the words
_SEARCH = """
const wanted = cb_obj.value_input.toLowerCase();
const rows = [...points.data.text.keys()];
points.selected.indices = wanted === "" ? [] :
  rows.filter((row) => points.data.text[row].toLowerCase().includes(wanted));
"""


def check_map_libraries() -> None:
    """Check before the work begins that a map can be made.

    Raises:
        MissingDependencyError: scikit-learn or Bokeh is not installed.
    """
    for module, name in (("sklearn", "scikit-learn"), ("bokeh", "bokeh")):
        if importlib.util.find_spec(module) is None:
            raise MissingDependencyError.extra(name, "report")


def shown(text: bytes) -> str:
    """Return a text with Moses's escapes undone.

    >>> shown(b"don &apos;t &amp;lt;")
    "don 't &lt;"
    """
    return html.unescape(text.decode("utf-8", "backslashreplace"))


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
    if N < _MIN_POINTS:
        raise SettingsError(
            f"a map needs at least {_MIN_POINTS} points, but this map would have "
            f"{counted(N, 'point')}",
            remedy="name a larger table or model, or allow shorter phrases with --min-words",
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
        perplexity=min(_PERPLEXITY, (N - 1) / 3),
        random_state=random_state,
        n_jobs=threads,
    )
    many = N >= _POINTS_FOR_THREADS and threads >= _MIN_THREADS
    # n_jobs does not limit the OpenMP loop over the points
    with threadpool_limits(threads if many else 1):
        return np.asarray(method.fit_transform(narrow), np.float32)


@dataclass(frozen=True)
class PointCluster:
    """A dense region of the map.

    Args:
        name: The most typical words of the cluster.
        members: Indices of its points; the point nearest to the centre comes first.
        centre: Position of the name, x and y.
        colour: The colour of the cluster; colours repeat.
    """

    name: str
    members: NDArray[np.int64]
    centre: tuple[float, float]
    colour: str


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
    clusters = []
    for number, rows in enumerate(groups[:_MAX_CLUSTERS]):
        there = places[rows]
        centre = np.median(there, axis=0)
        nearest = rows[np.argsort(((there - centre) ** 2).sum(axis=1), kind="stable")]
        name = _name([words[row] for row in rows.tolist()], everywhere, len(words))
        colour = COLOURS[number % len(COLOURS)]
        clusters.append(PointCluster(name, nearest, tuple(centre.tolist()), colour))
    return clusters


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


def write_map_page(
    path: str | Path, title: str, texts: Sequence[str], places: Vectors
) -> list[PointCluster]:
    """Write a page with hover, zoom and search: one file that loads nothing from the network.

    Args:
        path: Output file.
        title: The title of the map.
        texts: N phrases, or N words in the order of their frequency.
        places: ``(N, 2)`` coordinates.

    Returns:
        The clusters that the page names, the largest first.

    Raises:
        SettingsError: The file cannot be written.
    """
    from bokeh.embed import file_html
    from bokeh.layouts import column
    from bokeh.models import ColumnDataSource, CustomJS, HoverTool
    from bokeh.models.widgets import TextInput
    from bokeh.plotting import figure
    from bokeh.resources import INLINE

    clusters = find_clusters(places, texts)
    colours = np.full(len(texts), _NO_CLUSTER, np.object_)
    for cluster in clusters:
        colours[cluster.members] = cluster.colour
    x, y = places.T.astype(float).tolist()
    points = ColumnDataSource({"x": x, "y": y, "text": texts, "colour": colours.tolist()})
    plot = figure(
        title=title,
        sizing_mode="stretch_both",
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_scroll="wheel_zoom",
    )
    plot.axis.visible = plot.grid.visible = False
    shown_points = plot.scatter(
        *("x", "y"), source=points, size=6, color="colour", alpha=0.65, nonselection_alpha=0.1
    )
    plot.add_tools(HoverTool(renderers=[shown_points], tooltips="@text", limit=6))
    plot.text(
        x=[cluster.centre[0] for cluster in clusters],
        y=[cluster.centre[1] for cluster in clusters],
        text=[cluster.name for cluster in clusters],
        text_align="center",
        text_baseline="middle",
        text_font_size="12px",
        text_font_style="bold",
    )
    search = TextInput(title=f"Search among {len(texts):,} texts")
    search.js_on_change("value_input", CustomJS(args={"points": points}, code=_SEARCH))
    layout = column(search, plot, sizing_mode="stretch_both")
    page = file_html(layout, INLINE, title="Map of a model", template=_POLICY)
    for number, random in enumerate(dict.fromkeys(_RANDOM_ID.findall(page))):
        page = page.replace(random, f"map-{number}")
    write_atomically(path, page.encode("utf-8", "backslashreplace"))
    return clusters
