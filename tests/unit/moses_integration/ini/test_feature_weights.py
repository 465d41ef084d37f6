"""The weights of features: order, sizes, tuneable components, and errors as in Moses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.ini.feature_kinds import component_count
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni, parse_weights
from moses_integration.nbest.format import read_nbest
from phrasescore.errors import IniError

FEATURES = b"""\
[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=pt.gz
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff path=r
Distortion
KENLM name=LM0 path=lm.arpa order=3
"""


def layout_of(features: bytes) -> FeatureLayout:
    """Return the layout of some feature lines."""
    return FeatureLayout.from_ini(MosesIni.parse(b"[feature]\n" + features))


@pytest.mark.parametrize(
    "code", ["", " ", "=", "LM0", "LM0= ", "LM0= ٣", "LM0= nan", "x" * 100_000]
)
def test_weights_that_are_none(code: str) -> None:
    """Values that are not weights get an error, which quotes only part of a long text."""
    with pytest.raises(IniError) as caught:
        parse_weights(code)
    assert len(str(caught.value)) < 300


def test_frozen_components_are_not_tuned() -> None:
    """tuneable-components excludes single values, which n-best lists do not print."""
    layout = layout_of(
        b"PhraseDictionaryMemory name=T num-features=4 tuneable-components=1,0,Yes,false\n"
        b"WordPenalty tuneable=false\nUnknownWordPenalty tuneable=true\nDistortion\n"
    )
    assert layout.tuneable.tolist() == [True, True, False, True, False, False, True]
    found = [(f.name, f.components) for f in layout.nbest.features]
    assert found == [("Distortion0", 1), ("T", 2), ("UnknownWordPenalty0", 1)]


@pytest.mark.parametrize(
    ("kind", "options", "count"),
    [
        ("PhraseDictionaryMemory", {"num-features": "5"}, 5),
        ("PhraseDictionaryMemory", {}, 1),
        ("KENLM", {}, 1),
        ("KENLM", {"num-features": "3"}, 1),  # Moses ignores it
        ("KENLM", {"oov-feature": "1"}, 2),
        ("LexicalReordering", {"type": "wbe-msd-bidirectional-fe-allff", "num-features": "4"}, 6),
        ("LexicalReordering", {"type": "wbe-mslr-bidirectional-fe-allff"}, 8),
        ("LexicalReordering", {"type": "hier-mslr-bidirectional-fe-collapseff"}, 2),
        ("LexicalReordering", {"type": "msd-backward-f"}, 3),
        ("LexicalReordering", {"type": "phrase-monotonicity-forward-fe"}, 2),
        ("LexicalReordering", {"type": "wbe-leftright-bidirectional-fe"}, 4),
        ("PhrasePenalty", {"num-features": "2"}, 2),
        ("OpSequenceModel", {}, 5),
        ("WordTranslationFeature", {}, 0),
    ],
)
def test_component_counts(kind: str, options: dict[str, str], count: int) -> None:
    """The number of values is found for each class of feature."""
    assert component_count(kind, options) == count


@pytest.mark.parametrize(
    ("features", "problem"),
    [
        (b"KENML name=LM0\n", "unknown feature class KENML (did you mean KENLM?)"),
        (b"PhrasePenalty num-features=two\n", "num-features is 'two'"),
        (b"PhrasePenalty num-features=1_0\n", "num-features is '1_0', expected a whole number up"),
        (b"PhrasePenalty num-features=+1\n", "num-features is '+1'"),
        (b"PhrasePenalty num-features=\xc2\xb2\n", "num-features is '\u00b2'"),
        (b"PhrasePenalty num-features=\xff\n", "num-features is '\\xff'"),
        (b"PhrasePenalty num-features=1000000000\n", "num-features is '1000000000'"),
        (b"PhrasePenalty num-features=1%s\n" % (b"0" * 30), "whole number up to 10,000"),
        (b"PhrasePenalty num-features=%s\n" % (b"9" * 5000), "999...', expected a whole number"),
        (b"LexicalReordering type=wbe-fe\n", "the type 'wbe-fe', which names none of msd"),
        (b"WordPenalty tuneable=maybe\n", "tuneable is 'maybe'"),
        (b"WordPenalty tuneable-components=2\n", "tuneable-components is '2'"),
        (b"PhraseDictionaryMemory name=T num-features=5 tuneable-components=1,1\n",
         "tuneable-components of T has 2 flags, but the feature has 5 components"),
        (b"WordPenalty tuneable=false tuneable-components=1\n",
         "WordPenalty0 has tuneable-components, but is not tuneable"),
    ],
)  # fmt: skip
def test_feature_failures_name_the_line(features: bytes, problem: str) -> None:
    """Feature lines that Moses would refuse are refused with their place."""
    with pytest.raises(IniError) as caught:
        layout_of(b"Distortion\n" + features)
    assert problem in str(caught.value)
    assert caught.value.line == 3


def test_missing_weights_are_one() -> None:
    """Without weights, all components of a feature get 1, as in Moses."""
    ini = MosesIni.parse(FEATURES + b"[weight]\nLM0= 0.5\nTranslationModel0= 1 2 3 4\n")
    weights = FeatureLayout.from_ini(ini).read_weights(ini)
    assert weights == {
        "LexicalReordering0": (1.0,) * 6,
        "Distortion0": (1.0,),
        "LM0": (0.5,),
        "UnknownWordPenalty0": (1.0,),
        "WordPenalty0": (1.0,),
        "TranslationModel0": (1.0, 2.0, 3.0, 4.0),
    }


@pytest.mark.parametrize(
    ("weights", "line", "problem"),
    [
        (b"TranslationModel0= 1 2 3\n", 9, "3 weights for TranslationModel0, which has 4"),
        (b"LM0= 1 2\n", 9, "2 weights for LM0, which has 1 component"),
        (b"LM0= 1\nLM= 0.5\n", 10, "weights for LM, but there is no such feature (did"),
        (b"Nobody_x= 0.5\n", 9, "weights for Nobody_x"),
    ],
)
def test_weights_that_fit_no_feature(weights: bytes, line: int, problem: str) -> None:
    """Moses refuses to load these; the error names the weight line."""
    ini = MosesIni.parse(FEATURES + b"[weight]\n" + weights)
    with pytest.raises(IniError) as caught:
        FeatureLayout.from_ini(ini).read_weights(ini)
    assert problem in str(caught.value)
    assert caught.value.line == line


def test_sparse_weights_are_kept_apart() -> None:
    """A weight called Name_sparse belongs to a sparse feature of Name."""
    ini = MosesIni.parse(FEATURES + b"[weight]\nTranslationModel0_dom= 0.5\nLM0= 2\n")
    layout = FeatureLayout.from_ini(ini)
    assert layout.sparse_weights(ini) == {"TranslationModel0_dom": 0.5}
    assert layout.read_weights(ini)["LM0"] == (2.0,)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"A": [1.0], "B": [1.0, 2.0], "C": [1.0]}, "values for C, but there is no such feature"),
        ({"A": [1.0]}, "no values for the feature B"),
        ({"A": [1.0], "B": [1.0]}, "1 value for B, which has 2 components"),
    ],
)
def test_flatten_takes_exactly_the_features_there_are(
    values: dict[str, list[float]], problem: str
) -> None:
    """Missing and unknown features are errors."""
    with pytest.raises(IniError) as caught:
        FeatureLayout.from_sizes({"A": 1, "B": 2}).flatten(values)
    assert problem in str(caught.value)


@given(st.dictionaries(st.text("ABC", min_size=1), st.integers(0, 4), max_size=6), st.data())
def test_flatten_and_unflatten_are_inverse(sizes: dict[str, int], data: st.DataObject) -> None:
    """Every value keeps its place."""
    layout = FeatureLayout.from_sizes(sizes)
    number = st.floats(allow_nan=False)
    values = {
        name: tuple(data.draw(st.lists(number, min_size=count, max_size=count)))
        for name, count in sizes.items()
    }
    vector = layout.flatten(values)
    assert vector.shape == (layout.size,)
    assert layout.unflatten(vector) == values
    assert len(layout.component_names) == layout.size


def test_goldens_have_the_layout_of_their_nbest_lists(golden: Path) -> None:
    """Names, order and sizes equal the output of real Moses."""
    for ini_name, nbest in (("moses.ini", "default"), ("moses.5col.ini", "fivecolumns")):
        layout = FeatureLayout.from_ini(MosesIni.read(golden / "system" / ini_name)).nbest
        entry = next(read_nbest(golden / "decode" / f"{nbest}.nbest.gz"))
        printed = {name: len(values) for name, values in entry.features.items()}
        assert printed == {f.name: f.components for f in layout.features}
        assert list(printed) == list(layout.slices)


def test_golden_totals_need_the_untuned_penalty(golden: Path) -> None:
    """The total is weights · features + 1 · (-100 for each unknown word), which is not printed."""
    ini = MosesIni.read(golden / "system" / "moses.ini")
    layout = FeatureLayout.from_ini(ini)
    weights = layout.flatten(layout.read_weights(ini))
    shown = weights[layout.tuneable]
    rest = [
        entry.total - float(shown @ layout.nbest.flatten(entry.features))
        for entry in read_nbest(golden / "decode" / "default.nbest.gz")
    ]
    hundreds = np.round(np.array(rest) / -100)
    assert np.abs(np.array(rest) + 100 * hundreds).max() < 1e-3
    assert (hundreds >= 0).all()
    assert (hundreds > 0).any()
