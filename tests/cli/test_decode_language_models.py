"""Decoding and other commands with a neural language model, as a user runs them."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from moses_integration.nbest.format import read_nbest_lists
from phrasescore.words.vocabulary import OutsideWords
from tests.conftest import Phrasescore
from tests.support.neural_language_models import save_random_language_model
from tests.support.random_system import write_random_system

TEXT = b"s0 s1 s2 s3\n\ns2 s4 s1 s0 s3\ns3\n"  # no table has s4
TARGETS = [b"t%d" % number for number in range(10)]


@pytest.fixture
def ini(phrasescore: Phrasescore, tmp_path: Path) -> Path:
    """Make a small system with a neural language model added by the command."""
    folder = tmp_path / "system"
    folder.mkdir()
    (tmp_path / "text").write_bytes(TEXT)
    (tmp_path / "reference").write_bytes(b"t0 t1 t2\n\nt3 t4 t5 t6\nt7\n")
    before = write_random_system(folder, 3, limit=3)
    save_random_language_model(tmp_path / "lm", TARGETS, 5)
    phrasescore(
        "ini", "add-language-model", before, "--model", "lm/", "-o", folder / "nlm.ini"
    ).well()
    # the search does not query a model with weight 0
    text = (folder / "nlm.ini").read_text()
    (folder / "nlm.ini").write_text(re.sub("(NeuralLM0=) .*", r"\1 0.2", text))
    return folder / "nlm.ini"


@pytest.mark.parametrize("algorithm", ["0", "1"])
def test_lists_hold_what_score_text_says(
    phrasescore: Phrasescore, ini: Path, tmp_path: Path, algorithm: str
) -> None:
    """``decode``, ``force-score``, ``score-text`` and ``nbest`` agree on ln p within 1e-4."""
    phrasescore(
        "decode", ini, "-i", "text", "-o", "out", "--nbest", "list", "--nbest-size", "5",
        "--include-segmentation-in-n-best", "--search-algorithm", algorithm, "--threads", "2",
    ).well()  # fmt: skip
    phrasescore("force-score", ini, "-i", "text", "--nbest", "list", "--check", "1e-3").well()
    entries = [entry for _, listed in read_nbest_lists(tmp_path / "list") for entry in listed]
    (tmp_path / "candidates").write_bytes(b"".join(e.words.strip() + b"\n" for e in entries))
    scored = phrasescore("score-text", "--model", "lm", "candidates").well()
    ln_p = [float(line.split(b"\t")[-1]) for line in scored.stdout.split(b"\n")[:-1]]
    listed = [entry.features["NeuralLM0"][0] for entry in entries]
    # an empty sentence has no phrases, so a list has no score for it
    kept = [
        (p, value) for p, value, e in zip(ln_p, listed, entries, strict=True) if e.words.strip()
    ]
    assert [value for _, value in kept] == pytest.approx([p for p, _ in kept], abs=1e-4)
    # the list has a feature of this name
    phrasescore("nbest", "--model", "lm", "list", "-o", "again").refused(3, "NeuralLM0")


def test_an_unknown_word_has_its_share_of_p_unk(
    phrasescore: Phrasescore, ini: Path, tmp_path: Path
) -> None:
    """Unknown words share p(<unk>) by training counts; without ``unknown=share`` each gets all."""
    # t0 occurred three times, t4 once, the copied s4 never: shares of 4/7, 2/7 and 1/7
    outside = OutsideWords((b"t0", b"t4"), (3, 1))
    known = [word for word in TARGETS if word not in outside.words]
    save_random_language_model(tmp_path / "short", known, 5, outside=outside)
    ln_share = {b"t0": math.log(4 / 7), b"t4": math.log(2 / 7), b"s4": math.log(1 / 7)}
    added = ini.with_name("added.ini")
    phrasescore("ini", "add-language-model", ini, "--model", "short", "-o", added).well()
    text = added.read_text()
    assert " unknown=share" in text
    for name, option, times in (("shared", " unknown=share", 1), ("whole", "", 0)):
        own = ini.with_name(f"{name}.ini")
        own.write_text(text.replace(" unknown=share", option))
        phrasescore(
            "decode", own, "-i", "text", "-o", "out", "--nbest", name, "--nbest-size", "9",
            "--include-segmentation-in-n-best",
        ).well()  # fmt: skip
        phrasescore("force-score", own, "-i", "text", "--nbest", name, "--check", "1e-3").well()
        entries = [e for _, listed in read_nbest_lists(tmp_path / name) for e in listed if e.words]
        assert {word for e in entries for word in e.words.split()} >= set(ln_share)
        (tmp_path / "candidates").write_bytes(b"".join(e.words.strip() + b"\n" for e in entries))
        scored = phrasescore("score-text", "--model", "short", "candidates")
        whole = [float(line.split(b"\t")[-1]) for line in scored.stdout.split(b"\n")[:-1]]
        shares = [sum(ln_share.get(word, 0) for word in e.words.split()) for e in entries]
        assert [e.features["NeuralLM1"][0] for e in entries] == pytest.approx(
            [p + times * share for p, share in zip(whole, shares, strict=True)], abs=1e-4
        )


def test_tuning_knows_the_model(phrasescore: Phrasescore, ini: Path, tmp_path: Path) -> None:
    """Its weight is tuned like others, and the tuned ini decodes."""
    phrasescore(
        "tune", ini, "--source", "text", "--reference", "reference", "-o", "tuned",
        "--rounds", "2", "--nbest-size", "10",
    ).well()  # fmt: skip
    tuned = (tmp_path / "tuned" / "moses.ini").read_text()
    assert re.search(r"^NeuralLM0= -?[0-9.e-]+$", tuned, re.MULTILINE)
    done = phrasescore("decode", "tuned/moses.ini", "-i", "text").well()
    assert len(done.stdout.split(b"\n")) == 5


def test_a_model_that_is_not_there_is_one_sentence(phrasescore: Phrasescore, ini: Path) -> None:
    """Missing models, damaged models and wrong values get one sentence, and nothing is decoded."""
    for change, said in (
        (("path=lm", "path=none"), "no such"),
        (("path=lm", "path=system"), "not a phrasescore model"),
        (("path=lm", "path=lm normalised=maybe"), "expected true or false"),
        (("path=lm", "path=lm unknown=some"), "expected whole or share"),
    ):
        changed = ini.with_name("changed.ini")
        changed.write_text(ini.read_text().replace(*change))
        done = phrasescore("decode", changed, "-i", "text", "-o", "x")
        message = done.stderr.decode()
        assert done.returncode not in (0, 70), message
        assert said in message
        assert "Traceback" not in message
