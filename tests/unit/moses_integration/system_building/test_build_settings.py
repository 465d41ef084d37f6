"""Errors that a build finds before its first step, and the ini of a new system."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.system_building.build_settings import (
    BuildInputs,
    BuildSettings,
    SystemFolder,
    default_ini,
)
from moses_integration.text.preparation import TextSettings
from phrasescore.errors import CorpusError, InputError, ResumeError, SettingsError


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"aligners": ("fast-align",)}, r"did you mean fast_align\?"),
        ({"aligners": ("eflomal", "monotone", "eflomal")}, "eflomal is given twice"),
        ({"max_phrase_length": 0}, "expected 1 to 20"),
        ({"max_phrase_length": 21}, "expected 1 to 20"),
        ({"distortion_limit": -2}, "expected -1 to 10,000"),
        ({"max_sentence_length": 0}, "expected 1 to 2,000"),
        ({"max_sentence_length": 2001}, "expected 1 to 2,000"),
        ({"lm_order": 21}, "lm_order is 21, expected 1 to 20"),
        ({"tokenize": ("english", "fr")}, "is not a language code"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, object], problem: str) -> None:
    """Every setting out of range is refused with the valid range."""
    with pytest.raises(SettingsError, match=problem):
        BuildSettings(**settings)  # type: ignore[arg-type]


def test_text_settings() -> None:
    """Only tokenised text is escaped."""
    french = TextSettings("fr", lowercase=True, tokenizer="unicode", form="NFC", apostrophes=True)
    assert BuildSettings(tokenize=("en", "fr"), case="lower").text.target == french
    text = BuildSettings(tokenize=("en", "luo")).text
    assert (text.source.keeps_apostrophes, text.target.keeps_apostrophes) == (False, True)
    moses = BuildSettings(tokenize=("en", "luo"), tokenizer="moses").text
    assert not moses.target.keeps_apostrophes
    assert BuildSettings().text.source == TextSettings(
        None, tokenize=False, lowercase=False, escape=False, tokenizer="unicode"
    )


def test_inputs(tmp_path: Path) -> None:
    """Missing files, folders, pipes, and one file for both sides are refused."""
    text, other = tmp_path / "text", tmp_path / "other"
    for path in (text, other):
        path.write_text("a\n")
    assert BuildInputs(text, other).paths == (text, other)
    with pytest.raises(InputError, match="no such file"):
        BuildInputs(text, tmp_path / "missing")
    with pytest.raises(InputError, match="a folder"):
        BuildInputs(text, other, (tmp_path,))
    with pytest.raises(SettingsError, match="text is both sides of the parallel text"):
        BuildInputs(text, text)
    with pytest.raises(SettingsError, match="standard input"):
        BuildInputs(Path("-"), text)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_empty_text_of_a_language_model(tmp_path: Path, content: str) -> None:
    """A text without a sentence is refused before the work on the parallel text begins."""
    text, other, empty = tmp_path / "text", tmp_path / "other", tmp_path / "empty"
    for path in (text, other):
        path.write_text("a\n")
    empty.write_text(content)
    with pytest.raises(CorpusError, match="empty: the text contains no sentence"):
        BuildInputs(text, other, language_model_texts=(text, empty))


@pytest.mark.parametrize("name", ["two words", "a#b", "tab\there"])
def test_folder_that_an_ini_cannot_name(tmp_path: Path, name: str) -> None:
    """Folders are refused if Moses could not read their path from an ini."""
    with pytest.raises(SettingsError, match="cannot express"):
        SystemFolder(tmp_path / name)


def test_folder_of_something_else(tmp_path: Path) -> None:
    """Folders with other files, and files, are refused."""
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ResumeError, match=r"the folder is not empty \(thesis\.tex\)"):
        SystemFolder(tmp_path)
    with pytest.raises(ResumeError, match="a file, where a folder was expected"):
        SystemFolder(tmp_path / "thesis.tex")
    (tmp_path / "empty").mkdir()
    assert SystemFolder(tmp_path / "empty").inis[0].name == "moses.ini"


def test_features_and_weights_of_the_ini() -> None:
    """Features, options and weights equal those of train-model.perl for this kind of system."""
    settings = BuildSettings(lm_order=4, distortion_limit=-1)
    ini = MosesIni.parse(default_ini(SystemFolder(Path("/s")), settings))
    assert ini.values("distortion-limit") == ("-1",)
    assert ini.values("mapping") == ("0 T 0",)
    features = {feature.name: feature for feature in ini.features}
    assert features["TranslationModel0"].options["path"] == "/s/phrase-table.gz"
    assert features["TranslationModel0"].options["num-features"] == "4"
    assert features["LexicalReordering0"].options["path"] == "/s/reordering-table.gz"
    assert features["LexicalReordering0"].options["type"] == "wbe-msd-bidirectional-fe-allff"
    assert features["LM0"].kind == "KENLM"
    assert features["LM0"].options == {
        **{"name": "LM0", "factor": "0", "path": "/s/lm.arpa.gz", "order": "4"}
    }
    assert ini.weights == {
        "UnknownWordPenalty0": (1.0,),
        "WordPenalty0": (-1.0,),
        "PhrasePenalty0": (0.2,),
        "TranslationModel0": (0.2,) * 4,
        "LexicalReordering0": (0.3,) * 6,
        "Distortion0": (0.3,),
        "LM0": (0.5,),
    }
