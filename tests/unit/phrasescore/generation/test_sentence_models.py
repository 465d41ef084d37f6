"""The models that can translate, alone or together."""

from __future__ import annotations

from pathlib import Path

import pytest

from phrasescore.errors import ModelError
from phrasescore.generation.sentence_models import Ensemble, load_sentence_models
from tests.support.random_models import save_random_model

ENGLISH, FRENCH = [b"a", b"b"], [b"A", b"B"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models of all kinds."""
    folder = tmp_path_factory.mktemp("models")
    save_random_model(folder / "search", ENGLISH, FRENCH, kind="search")
    save_random_model(folder / "encdec", ENGLISH, FRENCH, kind="encdec")
    save_random_model(folder / "backwards", FRENCH, ENGLISH, "target-source", kind="search")
    save_random_model(folder / "less", ENGLISH[:1], FRENCH, kind="search")
    save_random_model(folder / "more", ENGLISH, [*FRENCH, b"C"], kind="search")
    save_random_model(folder / "phrases", ENGLISH, FRENCH)
    return folder


def test_one_or_several(folder: Path) -> None:
    """One model is used directly, several as an ensemble; members with attention align."""
    names = [str(folder / name) for name in ("search", "encdec", "search")]
    alone, together = load_sentence_models(names[:1]), load_sentence_models(names)
    assert alone.asked is alone.loaded[0].model
    assert isinstance(together.asked, Ensemble)
    assert [each.path.name for each in together.loaded] == ["search", "encdec", "search"]
    assert len(together.aligning) == 2
    together.must_align("a picture")
    with pytest.raises(ModelError, match="a model of kind encdec aligns no words, but a picture"):
        load_sentence_models(names[1:2]).must_align("a picture")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["phrases"], "a model of kind phrase does not translate sentences. Name one trained"),
        (["search", "phrases"], "phrases: a model of kind phrase does not"),
        (["search", "backwards"], "backwards: the direction is not that of .*search"),
        (["search", "less"], "less: the source vocabulary is not that of"),
        (["encdec", "more"], "more: the target vocabulary is not that of .*encdec"),
    ],
)
def test_models_that_cannot(folder: Path, names: list[str], message: str) -> None:
    """Unusable models are errors with name and reason."""
    with pytest.raises(ModelError, match=message):
        load_sentence_models([str(folder / name) for name in names])
