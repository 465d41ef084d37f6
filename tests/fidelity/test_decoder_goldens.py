"""Compares the embedded decoder with the output of real Moses: equal scores, no worse results."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import sacrebleu

from moses_integration.nbest.format import NBestEntry, read_nbest_lists
from tests.conftest import BUNDLED_GOLDEN, Phrasescore
from tests.support.golden_systems import copy_system

# Moses sums in single precision and prints six digits
TOLERANCE = 2e-3


class Setting(NamedTuple):
    """The settings of Moses for one of the lists."""

    ini: str
    options: tuple[str, ...]
    worse_allowed: int = 0


SETTINGS = {
    "default": Setting("moses.ini", ()),
    "wide": Setting("moses.ini", ("--stack", "2000", "--beam-threshold", "0")),
    "monotone": Setting("moses.ini", ("--distortion-limit", "0")),
    "unlimited": Setting("moses.ini", ("--distortion-limit", "-1")),
    "cube": Setting(
        "moses.ini", ("--search-algorithm", "1", "--cube-pruning-pop-limit", "1000"), 2
    ),
    "dropunk": Setting("moses.ini", ("--drop-unknown",)),
    "fivecolumns": Setting("moses.5col.ini", ()),
}


# sentences whose two best translations tie, with "a invité" and "a invités"
TIES = {BUNDLED_GOLDEN: [12]}


@pytest.fixture
def system(golden: Path, tmp_path: Path) -> Path:
    """Copy the small system below the current directory, as its ini expects."""
    return copy_system(golden, tmp_path)


def moses_lists(golden: Path, name: str) -> dict[int, list[NBestEntry]]:
    """Return Moses's n-best lists with one setting, by sentence."""
    return dict(read_nbest_lists(golden / "decode" / f"{name}.nbest.gz"))


def decode(
    phrasescore: Phrasescore, golden: Path, system: Path, name: str
) -> dict[int, list[NBestEntry]]:
    """Decode the input as Moses did for one list; return our n-best lists by sentence."""
    setting = SETTINGS[name]
    size = max(map(len, moses_lists(golden, name).values()))
    phrasescore(
        "decode", system / setting.ini, "-i", golden / "decode" / "input.en", "-o", "best",
        "--nbest", "list", "--nbest-size", str(size), "--include-segmentation-in-n-best",
        "--print-alignment-info-in-n-best", *setting.options,
    ).well()  # fmt: skip
    return dict(read_nbest_lists(system.parent / "list"))


@pytest.mark.parametrize("name", SETTINGS)
def test_search_finds_what_moses_finds(
    phrasescore: Phrasescore, golden: Path, system: Path, name: str
) -> None:
    """With every search setting, our best translation scores at least as high as Moses's."""
    ours = decode(phrasescore, golden, system, name)
    theirs = moses_lists(golden, name)
    assert ours.keys() == theirs.keys()
    gains = [ours[s][0].total - entries[0].total for s, entries in theirs.items()]
    # both are printed with six digits, so a step of the last digit is 1e-3
    assert sum(gain < -1.0001e-3 for gain in gains) <= SETTINGS[name].worse_allowed
    # the score is not much higher either, as it would be if the search ignored its limits
    assert sum(gain > TOLERANCE for gain in gains) <= 2


def test_lists_agree_where_nothing_is_pruned_early(
    phrasescore: Phrasescore, golden: Path, system: Path
) -> None:
    """With large stacks, the ten best derivations of nearly all sentences have Moses's totals."""
    ours = decode(phrasescore, golden, system, "wide")
    theirs = moses_lists(golden, "wide")
    agree = 0
    for sentence, entries in theirs.items():
        pairs = zip(entries[:10], ours[sentence][:10], strict=True)
        agree += all(abs(one.total - other.total) <= TOLERANCE for one, other in pairs)
    assert agree >= 0.95 * len(theirs)


def test_translations_are_moses_s_to_the_byte(
    phrasescore: Phrasescore, golden: Path, system: Path
) -> None:
    """With default settings, all translations equal Moses's, except for exact ties."""
    ours = decode(phrasescore, golden, system, "default")
    theirs = moses_lists(golden, "default")
    expected = (golden / "decode" / "default.1best").read_bytes().split(b"\n")
    found = (system.parent / "best").read_bytes().split(b"\n")
    assert len(found) == len(expected)
    different = [n for n, pair in enumerate(zip(found, expected, strict=True)) if len({*pair}) > 1]
    assert different == TIES.get(golden, [])
    for sentence in different:
        one, other = ours[sentence][0], theirs[sentence][0]
        assert (one.features, one.total) == (other.features, other.total)


def test_list_lines_are_moses_s_to_the_byte(
    phrasescore: Phrasescore, golden: Path, system: Path
) -> None:
    """Most lines equal Moses's; others differ in the last digit of a sum or the order of ties."""
    decode(phrasescore, golden, system, "default")
    with gzip.open(golden / "decode" / "default.nbest.gz") as stream:
        expected = stream.read().split(b"\n")
    ours = (system.parent / "list").read_bytes().split(b"\n")
    assert len(ours) == len(expected)
    same = set(ours) & set(expected)
    assert len(same) > 0.85 * len(expected)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_feature_of_every_line_is_recomputed(
    phrasescore: Phrasescore, golden: Path, system: Path, name: str
) -> None:
    """``force-score`` computes equal features and totals for all of Moses's derivations."""
    setting = SETTINGS[name]
    drop = [option for option in setting.options if option == "--drop-unknown"]
    nbest = golden / "decode" / f"{name}.nbest.gz"
    phrasescore(
        "force-score", system / setting.ini, "-i", golden / "decode" / "input.en",
        "--nbest", nbest, "-o", "recomputed", "--check", TOLERANCE, *drop,
    ).well()  # fmt: skip
    listed = dict(read_nbest_lists(nbest))
    ours = dict(read_nbest_lists(system.parent / "recomputed"))
    assert listed.keys() == ours.keys()
    for sentence, entries in listed.items():
        for entry, other in zip(entries, ours[sentence], strict=True):
            assert other.words == entry.words
            assert other.segmentation == entry.segmentation
            assert other.total == pytest.approx(entry.total, abs=TOLERANCE)
            for feature, values in entry.features.items():
                assert other.features[feature] == pytest.approx(values, abs=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "bleu"), [("val", 57.1), ("test2016", 58.5)])
def test_real_size(
    phrasescore: Phrasescore, multi30k: Path, tmp_path: Path, text: str, bleu: float
) -> None:
    """The tuned Multi30k system translates as well as with real Moses."""
    for file in multi30k.iterdir():
        (tmp_path / file.name).symlink_to(file)
    with (
        gzip.open(multi30k / "lm.5gram.arpa.gz") as packed,
        (tmp_path / "lm.5gram.arpa").open("wb") as lm,
    ):
        shutil.copyfileobj(packed, lm)
    phrasescore("decode", "moses.tuned.ini", "-i", f"{text}.en.gz", "-o", "best").well()
    translations = [line.rstrip(" ") for line in (tmp_path / "best").read_text("utf-8").split("\n")]
    references = gzip.decompress((multi30k / f"{text}.fr.gz").read_bytes()).decode().split("\n")
    metric = sacrebleu.BLEU(tokenize="none", force=True)
    score = metric.corpus_score(translations[:-1], [references[:-1]]).score
    assert score == pytest.approx(bleu, abs=0.15)
