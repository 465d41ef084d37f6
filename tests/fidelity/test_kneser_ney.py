"""Compares our estimator with KenLM's lmplz on real text."""

from __future__ import annotations

import gzip
from pathlib import Path

from moses_integration.language_model.kneser_ney import FALLBACK, write_arpa


def test_golden_trigram_model_to_the_byte(golden: Path, tmp_path: Path) -> None:
    """The model equals that of `lmplz -o 3 --discount_fallback`, byte for byte."""
    write_arpa(golden / "extraction" / "corpus.fr", 3, tmp_path / "arpa")
    with gzip.open(golden / "system" / "lm.arpa.gz") as stream:
        assert (tmp_path / "arpa").read_bytes() == stream.read()


def test_multi30k_fivegram_model_to_the_byte(multi30k: Path, tmp_path: Path) -> None:
    """29,000 sentences (778,376 n-grams) give the bytes of `lmplz -o 5 --discount_fallback`."""
    types, discounts = write_arpa(multi30k / "train.fr.gz", 5, tmp_path / "arpa.gz")
    assert sum(types) == 778376
    assert FALLBACK not in discounts
    with gzip.open(tmp_path / "arpa.gz") as own, gzip.open(multi30k / "lm.5gram.arpa.gz") as stream:
        assert own.read() == stream.read()
