"""The scores that nbest adds to a list equal real Moses's scores from a phrase-table column."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from moses_integration.nbest.format import read_nbest
from tests.support.fresh_process import output_of, run_fresh
from tests.support.golden_systems import copy_system
from tests.support.random_models import save_random_model

pytestmark = pytest.mark.moses


def phrasescore(folder: Path, *arguments: str) -> None:
    run_fresh(folder, *arguments).well()


def prepare(bundled_golden: Path, folder: Path) -> None:
    """Copy the golden system, and add a random model's column to its table."""
    copy_system(bundled_golden, folder)
    words = (
        (bundled_golden / "extraction" / f"corpus.{side}").read_bytes() for side in ("en", "fr")
    )
    save_random_model(folder / "model", *(text.split()[:3000] for text in words))
    table, column = "system/phrase-table.gz", "system/phrase-table.rnn.gz"
    phrasescore(folder, "score", table, "--model", "model", "-o", column, "--precision", "fp32")
    phrasescore(
        folder,
        *("ini", "add-column", "system/moses.ini", "--table", column),
        *("-o", "moses.rnn.ini"),
    )
    ini = folder / "moses.rnn.ini"
    ini.write_text(re.sub("(TranslationModel0=.*) .*", r"\1 0.01", ini.read_text()))


def test_equal_to_the_column(bundled_golden: Path, tmp_path: Path, moses_bin: Path) -> None:
    """Scores agree in both notations of phrases, with dropped and copied unknown words."""
    prepare(bundled_golden, tmp_path)
    source = bundled_golden / "decode" / "input.en"
    for options in (["-include-segmentation-in-n-best"], ["-t"], ["-t", "-drop-unknown"]):
        command = [moses_bin / "moses", "-f", "moses.rnn.ini", "-input-file", source]
        command += ["-n-best-list", "list", "30", "distinct", *options]
        output_of(*command, cwd=tmp_path)
        phrasescore(
            tmp_path,
            *("nbest", "list", "--model", "model", "--source", str(source), "-o", "list.rnn"),
            *("--table", "system/phrase-table.gz", "--threads", "1"),
        )
        pairs = [
            (entry.features["PhraseModel0"][0], entry.features["TranslationModel0"][4])
            for entry in read_nbest(tmp_path / "list.rnn")
        ]
        own, moses = np.array(pairs).T
        assert len(own) > 1000
        # both have six digits; below -87 a float32 table score has fewer
        assert own == pytest.approx(moses, rel=2e-5, abs=1e-4)
