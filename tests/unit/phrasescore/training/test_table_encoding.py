"""Encoding a table as arrays of ids: distinct pairs, shortlists, and reuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import InputError, PhraseTableError
from phrasescore.training.encoding import encode
from phrasescore.training.pairs import EncodedPairs, load_pairs
from phrasescore.training.settings import TrainingSettings


def pairs_as_text(pairs: EncodedPairs) -> list[tuple[bytes, bytes]]:
    rows = np.arange(len(pairs))
    sides = []
    for side in (pairs.source, pairs.target):
        flat = side.select(rows)
        words = side.vocabulary.words
        sides.append([b" ".join(words[i] for i in flat[row]) for row in range(len(flat))])
    return list(zip(*sides, strict=True))


def encoded(tmp_path: Path, text: bytes, **options: int) -> EncodedPairs:
    (tmp_path / "table").write_bytes(text)
    settings = TrainingSettings(inputs=(tmp_path / "table",), **options)  # type: ignore[arg-type]
    return encode(settings, tmp_path / "work")


words = st.sampled_from([b"a", b"b", b"a b", b"b  a", b" a  b "])


@given(st.lists(st.tuples(words, words), min_size=1, max_size=30))
def test_distinct_pairs_of_an_unsorted_table(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[bytes, bytes]]
) -> None:
    """Each distinct pair is kept once, at its first place, for all orders of lines."""
    text = b"".join(source + b" ||| " + target + b" ||| 1\n" for source, target in lines)
    pairs = encoded(tmp_path_factory.mktemp("encoding"), text)
    plain = [tuple(b" ".join(side.split()) for side in line) for line in lines]
    assert pairs_as_text(pairs) == list(dict.fromkeys(plain))
    assert pairs.summary.startswith(f"{len(lines):,} lines, ")
    sources = [source for source, _ in dict.fromkeys(plain)]
    same = np.equal.outer(pairs.source.digests, pairs.source.digests)
    assert same.tolist() == [[a == b for b in sources] for a in sources]


def test_distinct_before_unknown_words(tmp_path: Path) -> None:
    """Pairs that differ only in words outside the shortlists are distinct."""
    text = b"a x ||| t ||| 1\na y ||| t ||| 1\na ||| t ||| 1\n"
    pairs = encoded(tmp_path, text, source_words=1)
    assert pairs_as_text(pairs) == [(b"a <unk>", b"t"), (b"a <unk>", b"t"), (b"a", b"t")]
    assert len(set(pairs.source.digests.tolist())) == 3


def test_counts_are_over_distinct_phrases(tmp_path: Path) -> None:
    """Words are counted over distinct phrases, not over pairs and lines."""
    # source phrases: "a", "b c", "b d": b twice, a once although it occurs in four lines
    lines = [b"a ||| 1", b"a ||| 2", b"a ||| 3", b"a ||| 3", b"b c ||| 1", b"b d ||| 1"]
    text = b"".join(line + b" ||| 1\n" for line in lines)
    pairs = encoded(tmp_path, text, source_words=2)
    assert pairs.source.vocabulary.words[2:] == (b"b", b"a")
    # the phrases have 5 tokens, 3 of them known
    assert pairs.source.coverage.tokens == pytest.approx(3 / 5)
    assert (pairs.source.coverage.words, pairs.source.coverage.types) == (2, 4)
    assert "2 of 4 words, which cover 60.00% of the tokens" in pairs.described()[1]


def test_words_outside_are_counted_alike(tmp_path: Path) -> None:
    """Words outside a shortlist keep their counts over distinct phrases."""
    lines = [b"a ||| t", b"a ||| u", b"b b c ||| t", b"d c b ||| t"]
    text = b"".join(line + b" ||| 1\n" for line in lines)
    pairs = encoded(tmp_path, text, source_words=1, target_words=2)
    assert pairs.source.vocabulary.words[2:] == (b"b",)
    outside = pairs.source.outside
    assert (outside.words, outside.counts) == ((b"c", b"a", b"d"), (2, 1, 1))
    assert len(pairs.target.outside) == 0
    assert pairs.in_direction("target-source").target.outside == pairs.source.outside


def test_factors_and_gaps(tmp_path: Path) -> None:
    """Factored tokens and rules are encoded as they are scored."""
    text = b"le|D [X][X] [X] ||| the|D [X][X] [X] ||| 1\n"
    pairs = encoded(tmp_path, text, factor=0)
    assert pairs_as_text(pairs) == [(b"le [X]", b"the [X]")]


def test_reuse_and_renewal(tmp_path: Path) -> None:
    """A second run reuses the arrays; a lost file renews them."""
    text = b"a ||| b ||| 1\n"
    encoded(tmp_path, text)
    manifest = tmp_path / "work" / "pairs.json"
    stamp = manifest.stat().st_mtime_ns
    assert len(encoded(tmp_path, text)) == 1
    assert manifest.stat().st_mtime_ns == stamp
    for name in ("target.digests.npy", "target.outside.txt"):
        (tmp_path / "work" / name).unlink()
        assert len(encoded(tmp_path, text)) == 1
        assert (tmp_path / "work" / name).exists()
    assert not list((tmp_path / "work").glob("*scratch*"))


def test_failed_run_leaves_no_whole_folder(tmp_path: Path) -> None:
    """A truncated table leaves no folder that a later run would use."""
    with pytest.raises(PhraseTableError, match=":2: a blank line"):
        encoded(tmp_path, b"a ||| b ||| 1\n\n")
    with pytest.raises(InputError, match="the encoded pairs are incomplete"):
        load_pairs(tmp_path / "work")
    assert not list((tmp_path / "work").glob("*scratch*"))


def test_empty_targets(tmp_path: Path) -> None:
    """A table with only empty targets is encoded, without target tokens."""
    pairs = encoded(tmp_path, b"a ||| ||| 1\nb ||| ||| 1\n")
    assert pairs_as_text(pairs) == [(b"a", b""), (b"b", b"")]
    assert len(pairs.target.tokens) == 0


def test_real_table(multi30k: Path, tmp_path: Path) -> None:
    """Numbers of sources, words and tokens of the real table equal those of other tools."""
    pairs = encode(TrainingSettings(inputs=(multi30k / "phrase-table.gz",)), tmp_path)
    assert len(pairs) == 839_237
    assert pairs.summary == "839,237 lines, 839,237 distinct pairs"
    assert len(np.unique(pairs.source.digests)) == 630_088
    assert (len(pairs.source.vocabulary), len(pairs.target.vocabulary)) == (10_190, 11_207)
    # 4.35 M source and 4.61 M target steps, including the end of each phrase
    assert len(pairs.source.tokens) + len(pairs) == pytest.approx(4.35e6, rel=0.002)
    assert len(pairs.target.tokens) + len(pairs) == pytest.approx(4.61e6, rel=0.002)
