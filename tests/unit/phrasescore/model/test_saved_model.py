"""Saving a model loses no other file, whenever it is killed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from phrasescore.errors import SettingsError
from phrasescore.model.folder import load_model, refuse_foreign, save_model
from phrasescore.model.kinds import EncoderDecoderSettings
from phrasescore.model.sequence_model import build
from phrasescore.words.vocabulary import Vocabulary
from tests.support.killed import killed_at

SETTINGS = EncoderDecoderSettings(
    source_vocabulary=3, target_vocabulary=3, hidden=2, embedding=2, maxout=1, rank=1
)


def save(folder: Path, seed: int) -> None:
    """Write the model with a seed."""
    model = build(SETTINGS)
    model.initialise(torch.Generator().manual_seed(seed), "paper")
    words = Vocabulary.from_words([b"a"])
    save_model(folder, model, (words, words), {"seed": seed})


def test_a_kill_of_a_first_model_leaves_none(tmp_path: Path) -> None:
    """A first model gets its name only when it is complete."""
    for moment in range(1000):
        folder = tmp_path / str(moment) / "model"
        folder.parent.mkdir()
        if not killed_at(moment, lambda folder=folder: save(folder, 1)):  # type: ignore[misc]
            break
        if folder.exists():
            load_model(folder)  # it is complete
        else:
            save(folder, 1)
        assert [path.name for path in folder.parent.iterdir()] == ["model"]
    assert moment > 10


@pytest.mark.parametrize("what", ["folder", "file", "link", "loop", "guest"])
def test_what_is_no_model_stays(tmp_path: Path, what: str) -> None:
    """Anything but a model with this name is refused and unchanged."""
    folder, elsewhere = tmp_path / "model", tmp_path / "elsewhere"
    save(elsewhere, 1)
    if what == "folder":
        folder.mkdir()
        (folder / "thesis.tex").write_text("do not lose me")
    elif what == "file":
        folder.write_text("do not lose me")
    elif what in ("link", "loop"):
        folder.symlink_to("elsewhere" if what == "link" else "model")
    else:
        save(folder, 1)
        (folder / "notes.txt").write_text("do not lose me")
    before = sorted((path, path.is_symlink()) for path in tmp_path.rglob("*"))
    problem = r"the name is taken, but not by a model|contains notes\.txt"
    with pytest.raises(SettingsError, match=problem) as error:
        refuse_foreign(folder)
    assert error.value.path == folder
    with pytest.raises(SettingsError, match="the name is taken"):
        save(folder, 2)
    assert sorted((path, path.is_symlink()) for path in tmp_path.rglob("*")) == before
