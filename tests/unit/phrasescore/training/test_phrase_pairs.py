"""Holding out pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from phrasescore.errors import InputError, SettingsError
from phrasescore.training import pairs as pairs_module
from phrasescore.training.encoding import encode
from phrasescore.training.pairs import EncodedPairs, load_pairs, split
from phrasescore.training.settings import TrainingSettings


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> EncodedPairs:
    """Return 2,000 pairs of 400 sources with 1 to 9 targets each, not grouped by source."""
    folder = tmp_path_factory.mktemp("pairs")
    lines = [b"s%d ||| t%d ||| 1\n" % (i * 7 % 400, i) for i in range(1600)]
    lines += [b"s%d ||| u%d ||| 1\n" % (i % 20, i) for i in range(400)]
    (folder / "table").write_bytes(b"".join(lines))
    return encode(TrainingSettings(inputs=(folder / "table",)), folder / "work")


def test_parts_are_disjoint_and_whole(pairs: EncodedPairs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pair is in exactly one part; held-out sources are in no other part."""
    monkeypatch.setattr(pairs_module, "ROWS_AT_ONCE", 300)
    parts = split(pairs, 100, 150, seed=1)
    rows = np.concatenate([parts.training[:], parts.held_out_sources, parts.held_out_pairs])
    assert np.array_equal(np.sort(rows), np.arange(len(pairs)))
    groups = pairs.source.digests
    others = np.concatenate([parts.training[:], parts.held_out_pairs])
    assert not set(groups[parts.held_out_sources].tolist()) & set(groups[others].tolist())
    assert len(parts.held_out_pairs) == 150
    # whole sources are drawn until there are enough pairs; the largest has 24 pairs
    assert 100 <= len(parts.held_out_sources) < 100 + 24
    for part in (parts.training[:], parts.held_out_sources, parts.held_out_pairs):
        assert np.array_equal(part, np.sort(part))


def test_seed_decides(pairs: EncodedPairs) -> None:
    """Equal seeds draw equal pairs, other seeds draw others."""
    first, again, other = (split(pairs, 100, 150, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.held_out_pairs, again.held_out_pairs)
    assert np.array_equal(first.held_out_sources, again.held_out_sources)
    assert not np.array_equal(first.held_out_pairs, other.held_out_pairs)
    assert not np.array_equal(first.held_out_sources, other.held_out_sources)


def test_nothing_held_out(pairs: EncodedPairs) -> None:
    """Zero held-out pairs of either kind are possible."""
    parts = split(pairs, 0, 0, seed=1)
    assert len(parts.training) == len(pairs)
    assert len(parts.held_out_sources) == len(parts.held_out_pairs) == 0


def test_exact_number_where_sources_are_single(tmp_path: Path) -> None:
    """With one pair per source, exactly the requested number is held out by source."""
    (tmp_path / "table").write_bytes(b"".join(b"s%d ||| t ||| 1\n" % i for i in range(50)))
    pairs = encode(TrainingSettings(inputs=(tmp_path / "table",)), tmp_path / "work")
    assert len(split(pairs, 10, 10, seed=3).held_out_sources) == 10


@pytest.mark.parametrize(("sources", "single"), [(0, 2000), (2000, 0), (5000, 5000), (1000, 1000)])
def test_nothing_left_to_learn_from(pairs: EncodedPairs, sources: int, single: int) -> None:
    """Holding out all pairs is refused, with the numbers and a remedy."""
    with pytest.raises(SettingsError, match=r"2,000 pairs; .*Lower --held-out-pairs"):
        split(pairs, sources, single, seed=1)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("pairs.json", text) for text in (b"", b"[]", b"{}", b"[" * 200_000)),
        *(("target.tokens.npy", text) for text in (b"", b"\x93NUMPY")),
        ("source.vocabulary.txt", b"</s>\n<unk>\n\n"),
    ],
)
def test_a_damaged_folder_is_encoded_again(tmp_path: Path, name: str, content: bytes) -> None:
    """A damaged folder is an error for readers, but is encoded again by training."""
    (tmp_path / "table").write_bytes(b"a ||| b ||| 1\nc ||| d ||| 1\n")
    encode(TrainingSettings(inputs=(tmp_path / "table",)), tmp_path / "work")
    (tmp_path / "work" / name).write_bytes(content)
    with pytest.raises(InputError, match="the encoded pairs are incomplete"):
        load_pairs(tmp_path / "work")
    assert len(encode(TrainingSettings(inputs=(tmp_path / "table",)), tmp_path / "work")) == 2
