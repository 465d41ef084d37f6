"""``phrasescore analyze vectors`` as a user runs it, with real models."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from phrasescore.model.folder import load_model, load_weights
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model

WORDS = [b"a", b"b", b"c", b"<script>", b"caf\xe9"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models of several kinds, and phrases."""
    folder = tmp_path_factory.mktemp("vectors")
    targets = [word.upper() for word in WORDS]
    save_random_model(folder / "model", WORDS, targets)
    save_random_model(folder / "backwards", WORDS, targets, "target-source")
    for kind in ("search", "encdec", "feed-forward-lm", "feed-forward-phrase"):
        save_random_model(folder / kind, WORDS, targets, kind=kind)
    (folder / "phrases").write_bytes(b"a b\nstranger caf\xe9\n a  b \n")
    return folder


def summary_of(folder: Path, words: list[bytes]) -> np.ndarray:
    """Return the summary c of one phrase."""
    loaded = load_model(folder)
    assert isinstance(loaded.model, EncoderDecoder)
    ids = torch.tensor([loaded.source_vocabulary.encode(words)])
    with torch.inference_mode():
        return loaded.model.summaries(ids)[0].numpy()


def texts_of(path: Path) -> list[bytes]:
    """Return the texts that the vectors of a file belong to, as a user would read them."""
    with np.load(path) as arrays:
        text, offsets = arrays["text"].tobytes(), arrays["offsets"].tolist()
    return [text[a:b] for a, b in itertools.pairwise(offsets)]


def test_vectors_of_phrases(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Row i is the summary of line i, also for unknown words."""
    done = phrasescore(
        *("analyze", "vectors", "--model", data / "model", data / "phrases", "-o", "v.npz")
    ).well()
    assert b"v.npz: 3 phrases, vectors of 8 numbers" in done.stderr
    assert texts_of(tmp_path / "v.npz") == [b"a b", b"stranger caf\xe9", b"a b"]
    with np.load(tmp_path / "v.npz") as arrays:
        vectors = arrays["vectors"]
    for row, words in enumerate(([b"a", b"b"], [b"stranger", b"caf\xe9"], [b"a", b"b"])):
        np.testing.assert_allclose(vectors[row], summary_of(data / "model", words), atol=1e-6)
    assert b"warning" not in done.stderr
    call = "analyze", "vectors", "--model", data / "model", "-", "-o", "v.npz"
    done = phrasescore(*call, stdin=b"a ||| stranger ||| 0.5\n")
    assert b"warning: the model does not know 80% of these words" in done.stderr


def test_vectors_of_words(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Vectors of all words are written, for both sides and for models without summaries."""
    common = "--model", data / "model", "--words", "-o", "w.npz"
    known = load_weights(data / "model")
    for side, vocabulary in (
        ("source", known.source_vocabulary),
        ("target", known.target_vocabulary),
    ):
        phrasescore("analyze", "vectors", *common, "--side", side).well()
        assert texts_of(tmp_path / "w.npz") == list(vocabulary.words[2:])
        with np.load(tmp_path / "w.npz") as arrays:
            assert (arrays["vectors"] == known.weights[f"{side}_embedding"][2:]).all()
    for kind in ("search", "feed-forward-lm", "feed-forward-phrase"):
        common = "--model", data / kind, "--words", "-o", f"{kind}.npz"
        phrasescore("analyze", "vectors", *common).well()
        lower = kind != "feed-forward-lm"
        expected = [word if lower else word.upper() for word in WORDS]
        assert sorted(texts_of(tmp_path / f"{kind}.npz")) == sorted(expected)


@pytest.mark.parametrize(
    ("command", "message", "status"),
    [
        ("vectors --model model -o v.npz", "exactly one of PHRASES and --words", 2),
        ("vectors --model model phrases --side target -o v.npz", "Add --words", 2),
        ("vectors --model search phrases -o v.npz", "kind search makes no summary", 4),
        ("vectors --model feed-forward-lm --words --side source -o v.npz", "target side only", 4),
        ("vectors --model model empty -o v.npz", "the file has no phrases", 3),
        ("vectors --model model blank -o v.npz", "blank:2: a phrase of 0 words", 3),
        ("vectors --model model long -o v.npz", "long:2: a phrase of 10,001 words", 3),
    ],
)
def test_wrong_calls(
    command: str, message: str, status: int, data: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """Each wrong call prints one sentence and writes nothing."""
    for each in data.iterdir():
        (tmp_path / each.name).symlink_to(each)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "blank").write_bytes(b"a\n \nb\n")
    (tmp_path / "long").write_bytes(b"a\n" + b"a " * 10_001 + b"\n")
    phrasescore("analyze", *command.split()).refused(status, message)
    assert not (tmp_path / "v.npz").exists()
