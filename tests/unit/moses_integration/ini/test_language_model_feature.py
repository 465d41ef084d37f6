"""Adding a language model to a moses.ini, and removing a feature, change no other byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.ini.edits import next_name, with_language_model, without_feature
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import IniError, SettingsError

INI = b"""\
# a system
[mapping]
0 T 0
[weight]
TM= 0.3
LM0= 0.50  # tuned

[feature]
PhraseDictionaryMemory name=TM num-features=1 input-factor=0 output-factor=0 path=table
UnknownWordPenalty
KENLM name=LM0 path=lm factor=0   # five-grams
Distortion

[distortion-limit]
6
"""


def added(
    ini: MosesIni, path: str, name: str | None = None, **options: str
) -> tuple[MosesIni, str]:
    """Add a neural model."""
    return with_language_model(ini, "FeedForwardLM", name, {"path": path, **options})


def parsed(data: bytes = INI) -> MosesIni:
    """Parse an ini with these bytes."""
    return MosesIni.parse(data, "moses.ini")


def test_its_lines_stand_last_in_their_sections() -> None:
    """One line is added to [feature] and one to [weight]; all other bytes are unchanged."""
    ini, summary = added(parsed(), "/models/lm7")
    expected = INI.replace(
        b"Distortion\n", b"Distortion\nFeedForwardLM name=NeuralLM0 path=/models/lm7\n"
    ).replace(b"# tuned\n", b"# tuned\nNeuralLM0= 0.2\n")
    assert ini.to_bytes() == expected
    assert summary == "NeuralLM0: path=/models/lm7, with the weight 0.2"


def test_several_models_and_names() -> None:
    """The next name that no feature or weight uses is chosen; another name may be given."""
    ini = parsed(INI.replace(b"TM= 0.3", b"TM= 0.3\nNeuralLM1= 1"))
    first, _ = added(ini, "a")
    second, _ = added(first, "b", normalised="false")
    third, _ = added(second, "c", "CSLM")
    names = [ini.features[-1].name for ini in (first, second, third)]
    assert names == ["NeuralLM0", "NeuralLM2", "CSLM"]
    assert third.feature("NeuralLM2").options["normalised"] == "false"
    assert third.weights["NeuralLM0"] == (0.2,)


@given(
    crlf=st.booleans(),
    end=st.sampled_from([b"", b"\n", b"\n\n# end"]),
    swapped=st.booleans(),
    count=st.integers(1, 3),
)
def test_what_was_added_is_taken_out_again(
    crlf: bool, end: bytes, swapped: bool, count: int
) -> None:
    """Removing the feature restores all bytes, for all line ends and orders of sections."""
    weights, features = b"[weight]\nTM= 0.3\n# none\n", b"[feature]\nDistortion\nWordPenalty # w"
    data = features + b"\n" + weights if swapped else weights + features
    data = (data + end).replace(b"\n", b"\r\n" if crlf else b"\n").replace(b"TM", b"WordPenalty0")
    ini = parsed(data)
    for number in range(count):
        ini = added(ini, f"model{number}")[0]
    for number in range(count):
        ini = without_feature(ini, f"NeuralLM{number}")
    assert ini.to_bytes() == data


def test_every_weight_of_a_feature_goes_with_it() -> None:
    """Repeated, added and sparse weights of the removed feature are removed too."""
    data = INI.replace(b"LM0= 0.50  # tuned\n", b"LM0= 0.5\nLM0_x= 1\nLM0= 0.2\nLM10= 3\n")
    data += b"[weight-add]\nLM0= 4\n"
    data = data.replace(b"Distortion\n", b"Distortion\nKENLM name=LM10 path=b\n")
    gone = without_feature(parsed(data), "LM0")
    assert b"LM0" not in gone.to_bytes()
    assert gone.weights == {"TM": (0.3,), "LM10": (3.0,)}
    FeatureLayout.from_ini(gone).read_weights(gone)


@pytest.mark.parametrize(
    ("old", "new", "name", "problem"),
    [
        (b"", b"", "LM1", r"there is no feature LM1 \(did you mean LM0\?\)"),
        (b"", b"", "TM", "TM is a translation step, which"),
        (b"", b"", "UnknownWordPenalty0", "moses.ini:10: UnknownWordPenalty0 is needed"),
        (b"Distortion\n", b"WordPenalty\nWordPenalty\n", "WordPenalty0",
         "has no name=, and without it WordPenalty1 would get another name"),
        (b"[mapping]", b"[weight-overwrite]\nLM0= 1\n[mapping]", "LM0",
         r"moses.ini:3: \[weight-overwrite\] names LM0, too"),
    ],
)  # fmt: skip
def test_features_that_others_need(old: bytes, new: bytes, name: str, problem: str) -> None:
    """Removing a feature that others need is refused with the line."""
    with pytest.raises(IniError, match=problem):
        without_feature(parsed(INI.replace(old, new)), name)


def test_a_last_feature_without_a_name() -> None:
    """Of unnamed features only the last can be removed, so that the others keep their numbers."""
    ini = parsed(INI.replace(b"Distortion\n", b"WordPenalty\nWordPenalty\n"))
    names = [line.name for line in without_feature(ini, "WordPenalty1").features]
    assert names == ["TM", "UnknownWordPenalty0", "LM0", "WordPenalty0"]


def test_names_and_paths_that_cannot_be() -> None:
    """Used names, names that are not tuned, and paths with blanks are refused."""
    with pytest.raises(IniError, match=r"there is a feature LM0 already.*such as NeuralLM0"):
        added(parsed(), "a", "LM0")
    with pytest.raises(SettingsError, match="cannot be called 'neural lm'"):
        added(parsed(), "a", "neural lm")
    with pytest.raises(IniError, match="values have no blanks"):
        added(parsed(), "a b")
    assert next_name(["NeuralLM1"]) == "NeuralLM0"
