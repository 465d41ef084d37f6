"""The choice, layout and clusters of phrases on a map, for points with known clusters."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from phrasescore.analysis.maps import find_clusters, lay_out, shown, write_map_page
from phrasescore.analysis.phrases import sample_phrases
from phrasescore.errors import CorpusError, SettingsError
from phrasescore.generation.phrase_output import phrase_texts
from phrasescore.model.folder import LoadedModel, load_model
from tests.support.random_models import save_random_model

WORDS = [b"w%d" % number for number in range(20)]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    """Return a model."""
    return load_model(save_random_model(tmp_path_factory.mktemp("maps") / "model", WORDS, WORDS))


def table_of(path: Path, sources: list[bytes]) -> Path:
    """Write a phrase table, in random order."""
    path.write_bytes(gzip.compress(b"".join(b"%s ||| x ||| 1\n" % each for each in sources)))
    return path


def test_each_phrase_is_drawn_alike(loaded: LoadedModel, tmp_path: Path) -> None:
    """Each phrase has the same chance, except phrases that are too short or have unknown words."""
    known = [b"w%d w%d w%d" % (a, b, a) for a in range(20) for b in range(10)]
    sources = [*known, known[3], known[3], known[3], b"w1 w2", b"w1 w2 stranger", known[7]]
    table = table_of(tmp_path / "t", sources)
    turned = table_of(tmp_path / "turned", sources[::-1])
    drawn = Counter[bytes]()
    for seed in range(200):
        ids, among = sample_phrases(table, loaded, 3, 20, seed)
        texts = phrase_texts(ids, loaded.source_vocabulary)
        assert len(set(texts)) == 20
        assert among == 200
        drawn.update(texts)
        if seed < 5:  # the order of the table does not matter
            again, _ = sample_phrases(turned, loaded, 3, 20, seed)
            assert phrase_texts(again, loaded.source_vocabulary) == texts
    assert set(drawn) <= {*known}
    # 4,000 draws of 200 phrases, so 20 per phrase, even for the phrase that occurs four times
    assert 5 < drawn[b"w0 w3 w0"] < 40
    assert max(drawn.values()) < 45
    assert len(drawn) > 195


def test_a_page_has_no_random_ids(tmp_path: Path) -> None:
    """Equal data give equal bytes, although bokeh draws random ids."""
    write_map_page(tmp_path / "map.html", "m", ["a", "b", "c"], np.eye(3, 2))
    page = (tmp_path / "map.html").read_text("utf-8")
    assert not re.search("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-", page)
    assert page.count("map-0") == 2 and page.count("map-2") == 2


def test_a_table_without_any(loaded: LoadedModel, tmp_path: Path) -> None:
    """The error for a table without usable phrases states the numbers."""
    table = table_of(tmp_path / "t", [b"no word of it", b"w1"])
    with pytest.raises(
        CorpusError, match=r"no source phrase of at least 2 words .*\(1 phrase with"
    ):
        sample_phrases(table, loaded, 2, 5, 1)


def test_the_layout_keeps_groups_together(
    rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four distant groups become four clusters, named by their own words."""
    pytest.importorskip("sklearn")
    middles = rng.normal(size=(4, 60)) * 10
    groups = np.repeat(np.arange(4), 40)
    vectors = (middles[groups] + rng.normal(size=(160, 60))).astype(np.float32)
    places = lay_out(vectors, 3, 1)
    assert places.shape == (160, 2)
    assert (places == lay_out(vectors, 3, 1)).all()
    texts = [f"the {'abcd'[group]}{n % 3} of group{group} ." for n, group in enumerate(groups)]
    clusters = find_clusters(places, texts)
    for cluster in clusters:
        of = set(groups[cluster.members].tolist())
        assert len(of) == 1
        assert f"group{of.pop()}" in cluster.name.split(" · ")
        assert "the" not in cluster.name.split(" · ")[:1]
    assert {groups[cluster.members[0]] for cluster in clusters} == {0, 1, 2, 3}
    assert capsys.readouterr().out == ""


def test_words_are_called_by_the_most_frequent(rng: np.random.Generator) -> None:
    """Cluster names have each word once, the most frequent first."""
    pytest.importorskip("sklearn")
    places = np.concatenate([rng.normal(0, 0.1, (30, 2)), rng.normal(9, 0.1, (30, 2))])
    texts = [",", *(f"word{number}" for number in range(59))]
    names = {cluster.name for cluster in find_clusters(places.astype(np.float32), texts)}
    assert ", · word0 · word1" in names


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.zeros((9, 4)), "at least 10 points, but this map would have 9 points"),
        (np.ones((20, 4)), "all the vectors are the same"),
    ],
)
def test_no_map_of_nothing(vectors: np.ndarray, message: str) -> None:
    """Too few points, or points in one place, are refused."""
    pytest.importorskip("sklearn")
    with pytest.raises(SettingsError, match=message):
        lay_out(vectors.astype(np.float32), 1, 1)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (b"don &apos;t", "don 't"),
        (b"&lt;script&gt; &#124; &#91;x&#93;", "<script> | [x]"),
        (b"&amp;lt; caf\xe9", "&lt; caf\\xe9"),
    ],
)
def test_what_a_reader_sees(text: bytes, seen: str) -> None:
    """Moses's escapes are undone, once."""
    assert shown(text) == seen
