"""``phrasescore nbest`` as a user runs it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model


def test_from_list_to_weights(
    bundled_golden: Path, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """Two models give two features, for which optimize finds weights."""
    decoded = bundled_golden / "decode"
    for folder, direction in (("there", "source-target"), ("back", "target-source")):
        words = ((decoded / f"input.{side}").read_bytes().split()[:200] for side in ("en", "fr"))
        save_random_model(tmp_path / folder, *words, direction=direction)  # type: ignore[arg-type]
    process = phrasescore(
        *("nbest", decoded / "default.nbest.gz", "--model", "there", "--model", "back"),
        *("--source", decoded / "input.en", "-o", "dev.rnn.nbest.gz", "--threads", "1"),
        *("--table", bundled_golden / "system" / "phrase-table.gz"),
    )
    assert process.returncode == 0, process.stderr
    assert process.stderr.startswith(b"1,200 candidates of 8,167 phrase pairs, 384 of them scored")
    with (
        gzip.open(decoded / "default.nbest.gz") as before,
        gzip.open(tmp_path / "dev.rnn.nbest.gz") as after,
    ):
        for old, new in zip(before, after, strict=True):
            start = new.index(b" PhraseModel0= ")
            stop = new.index(b" |||", start)
            assert new[:start] + new[stop:] == old
            assert new[start:stop].split(b" ")[3] == b"PhraseModel1="
    process = phrasescore(
        *("optimize", "--nbest", "dev.rnn.nbest.gz", "--reference", decoded / "input.fr"),
        *("--restarts", "2", "-o", "weights.json"),
    )
    assert process.returncode == 0, process.stderr
    weights = json.loads((tmp_path / "weights.json").read_text())["weights"]
    assert {"PhraseModel0", "PhraseModel1", "TranslationModel0"} < set(weights)


def test_refusals(bundled_golden: Path, tmp_path: Path, phrasescore: Phrasescore) -> None:
    """A list without phrases is refused with the option that makes it; names go with models."""
    save_random_model(tmp_path / "model", [b"a"], [b"un"])
    (tmp_path / "list").write_bytes(b"0 ||| un  ||| LM0= -1 ||| -1\n")
    (tmp_path / "source").write_bytes(b"a\n")
    common = ("nbest", "list", "--model", "model", "--source", "source", "-o", "out")
    process = phrasescore(*common)
    assert process.returncode == 3
    assert process.stderr.startswith(
        b"phrasescore: list:1: nothing says which phrases this translation is made of. Make the "
        b"list with -include-segmentation-in-n-best"
    )
    assert not (tmp_path / "out").exists()
    process = phrasescore(*common, "--name", "A", "--name", "B")
    assert (process.returncode, process.stderr) == (
        2,
        b"phrasescore: 2 names for 1 model. Give one --name for each.\n",
    )
