"""``phrasescore nbest`` as a user runs it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.conftest import Phrasescore, StartPhrasescore
from tests.support.killed import kill_when_blocks_are_done
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


def test_whole_translations_killed_in_the_middle(
    tmp_path: Path, phrasescore: Phrasescore, start_phrasescore: StartPhrasescore
) -> None:
    """Both directions and a phrase model, named by kind; after kill -9 the bytes are the same."""
    words = [b"w%d" % number for number in range(60)]
    source = [b" ".join(words[n : n + 5]) for n in range(29)]
    rows = [
        b"%d ||| %s  ||| LM0= -1 ||| -1 ||| 0-1=0-0 2-4=1-2\n"
        % (n, b" ".join(words[(n + 7 * i) % 53 + j] for j in range(3)))
        for n in range(29)
        for i in range(220)
    ]
    (tmp_path / "list").write_bytes(b"".join(rows))
    (tmp_path / "source").write_bytes(b"\n".join(source) + b"\n")
    save_random_model(tmp_path / "there", words, words, kind="search")
    save_random_model(tmp_path / "back", words, words, "target-source", kind="encdec")
    save_random_model(tmp_path / "phrases", words, words)
    command = ["nbest", "list", "--source", "source", "--threads", "1"]
    for name in ("there", "back", "phrases"):
        command += ["--model", name]
    kill_when_blocks_are_done(
        start_phrasescore(tmp_path, *command, "-o", "out.gz"), tmp_path, "out.gz"
    )
    again = phrasescore(*command, "-o", "out.gz")
    assert b"out.gz: going on after line 1,250" in again.stderr
    assert b"6,380 candidates of 12,760 phrase pairs" in again.stderr
    whole = phrasescore(*command, "-o", "whole.gz")
    assert whole.returncode == again.returncode == 0
    assert (tmp_path / "out.gz").read_bytes() == (tmp_path / "whole.gz").read_bytes()
    line = gzip.decompress((tmp_path / "out.gz").read_bytes()).split(b"\n")[0]
    assert line.split(b"|||")[2].split()[2::2] == [
        b"AttentionModel0=",
        b"AttentionModel1=",
        b"PhraseModel0=",
    ]


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
