"""Tuning with real Moses: lists are handled equally, and Moses loads the tuned system."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.nbest.format import read_nbest_lists
from tests.conftest import Phrasescore
from tests.support.fresh_process import output_of
from tests.support.toy_system import write_toy_system

pytestmark = pytest.mark.moses


def test_round_trip(phrasescore: Phrasescore, moses_bin: Path, tmp_path: Path) -> None:
    """Lists of both decoders agree where they must, and Moses decodes with the tuned weights."""
    toy = write_toy_system(tmp_path / "toy")
    call = toy.tuning()
    for decoder, program in (("moses", ["--moses-bin", moses_bin]), ("embedded", [])):
        phrasescore(*call, "-o", decoder, "--decoder", decoder, *program, "--rounds", "3").well()

    # with the weights of the first round, which are equal
    lists = [
        dict(read_nbest_lists(tmp_path / name / "round01/nbest.gz"))
        for name in ("moses", "embedded")
    ]
    for sentence, entries in lists[0].items():
        mine, theirs = lists[1][sentence][0], entries[0]
        assert mine.words == theirs.words
        assert list(mine.features) == list(theirs.features)
        assert mine.total == pytest.approx(theirs.total, abs=1e-4)
    scores = [
        json.loads((tmp_path / name / "result.json").read_text())["curve"][0]
        for name in ("moses", "embedded")
    ]
    assert scores[0]["bleu"] == scores[1]["bleu"]

    # the tuned system in Moses has the weights, and reaches the reported score
    for name in ("moses", "embedded"):
        tuned = tmp_path / name / "moses.ini"
        shown = output_of(moses_bin / "moses", "-f", tuned, "-show-weights").decode()
        for line in shown.splitlines():
            label, *values = line.split(" ")
            if values != ["UNTUNEABLE"] and label.endswith("="):
                known = MosesIni.read(tuned).weights[label[:-1]]
                assert [float(value) for value in values if value] == pytest.approx(known, abs=1e-6)
    found = json.loads((tmp_path / "moses/weights.json").read_text())
    ini = tmp_path / "moses" / "moses.ini"
    said = output_of(moses_bin / "moses", "-f", ini, "-input-file", toy.source)
    (tmp_path / "output").write_bytes(said)
    scored = phrasescore(
        "evaluate", "output", "--reference", toy.reference, "--metric", "bleu", "--json"
    ).well()
    assert json.loads(scored.stdout)["results"][0]["bleu"] == pytest.approx(found["bleu"])
