"""The decoder's reading of feature lines in an ini, and the numbers that it refuses."""

from __future__ import annotations

import pytest

from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.features.features import FeatureSet
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import IniError

INI = (
    "[mapping]\n{mapping}\n[feature]\n"
    "PhraseDictionaryMemory name=T num-features=2 input-factor=0 output-factor=0 path=x "
    "table-limit={limit}\n"
    "LexicalReordering name=R type=wbe-msd-bidirectional-fe-allff input-factor=0 output-factor=0 "
    "path=x default-scores={scores}\n"
)
SCORES = "1,1,1,1,1,1"


def parsed(
    mapping: str = "0 T 0", limit: str = "20", scores: str = SCORES, more: str = ""
) -> MosesIni:
    text = INI.format(mapping=mapping, limit=limit, scores=scores) + more
    return MosesIni.parse(text.encode())


def features(**values: str) -> FeatureSet:
    return FeatureSet.from_ini(parsed(**values))


def test_numbers_of_an_ini() -> None:
    """Limits, tables and default scores are read from the lines."""
    found = features(limit="0", scores="1,1,1,1,1,.5")
    assert found.tables[0].limit == 0
    assert len(found.tables) == 1
    assert found.reorderings[0].default_ln[:5] == (0,) * 5


@pytest.mark.parametrize("number", ["\u00b2", "1_0", "-1", "1e2", "10000000000", "9" * 5000])
def test_wrong_numbers(number: str) -> None:
    """Non-ASCII digits and numbers too large for arrays are refused with their place."""
    with pytest.raises(IniError, match=r"moses.ini:4: table-limit of T is .* expected a whole"):
        features(limit=number)
    if not number.isascii() or "_" in number:
        return  # in a mapping, Moses reads such words as 0
    for mapping in (f"0 T {number}", f"{number} T 0"):
        with pytest.raises(IniError, match=r"\[mapping\] has .*, expected 'path T table'"):
            features(mapping=mapping)


@pytest.mark.parametrize("score", ["nan", "inf", "0", "-1", "1_0", "\u00b2", "", "1e999"])
def test_default_scores(score: str) -> None:
    """Default scores must be probabilities."""
    with pytest.raises(IniError, match=r"default-scores of R is .*, expected positive numbers"):
        features(scores=f"{score},1,1,1,1,1")


def test_many_tables() -> None:
    """More decoding paths than eight bits can number are refused."""
    line = "PhraseDictionaryMemory name=T{} num-features=1 input-factor=0 output-factor=0 path=x"
    lines = [line.format(n) for n in range(128)]
    for most, fits in ((127, True), (128, False)):
        mapping = "\n".join(f"{number} T {number}" for number in range(most))
        text = "\n".join(["[mapping]", mapping, "[feature]", *lines])
        ini = MosesIni.parse(text.encode())
        if fits:
            assert len(FeatureSet.from_ini(ini).tables) == most
        else:
            with pytest.raises(IniError, match=r"\[mapping\] has 128 tables on 128"):
                FeatureSet.from_ini(ini)


@pytest.mark.parametrize("weight", ["1e308", "-1e308", "1000001", "1e40"])
def test_weights_that_sums_cannot_hold(weight: str) -> None:
    """Scores are summed in single precision, so larger weights would leave no translation."""
    with pytest.raises(IniError, match=r"moses.ini: a weight of T is not a number from -1,000,000"):
        Decoder(parsed(more=f"[weight]\nT= 1 {weight}\n"))


@pytest.mark.parametrize(
    "kind", ["Distortion", "WordPenalty", "PhrasePenalty", "UnknownWordPenalty"]
)
@pytest.mark.parametrize("count", [0, 2, 10_000])
def test_features_of_one_component(kind: str, count: int) -> None:
    """Features that fill in one value must have exactly one component."""
    expected = f"moses.ini:6: num-features of {kind}0 is {count}, but the feature has 1"
    with pytest.raises(IniError, match=expected):
        features(more=f"{kind} num-features={count}\n")


def test_phrases_of_each_table() -> None:
    """A phrase penalty for each table has exactly one component for each table."""
    with pytest.raises(IniError, match="PhrasePenalty0 is 2, but the feature has 1"):
        features(more="PhrasePenalty num-features=2 per-phrase-table=true\n")
    features(more="PhrasePenalty num-features=1 per-phrase-table=true\n")
