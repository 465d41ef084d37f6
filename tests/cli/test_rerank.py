"""``phrasescore rerank`` as a user runs it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.conftest import Phrasescore


def test_from_list_to_translations(
    bundled_golden: Path, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """The BLEU reported by optimize equals the BLEU of the reranked text."""
    nbest = bundled_golden / "tuning" / "run1.best30.gz"
    references = bundled_golden / "tuning" / "refs.fr"
    common = ("--nbest", nbest, "--reference", references, "--restarts", "2")
    phrasescore("optimize", *common, "-o", "weights.json").well()
    choose = ("rerank", nbest, "--weights", "weights.json")
    done = phrasescore(*choose, "-o", "out.fr.gz").well()
    assert done.stderr == (
        b"120 sentences, 3,532 candidates; 54 translations other than the list's first\n"
    )
    done = phrasescore("evaluate", "out.fr.gz", "--reference", references, "--json")
    found = json.loads((tmp_path / "weights.json").read_bytes())["bleu"]
    assert json.loads(done.stdout)["results"][0]["bleu"] == found
    done = phrasescore(*choose[:1], "-", *choose[2:], "-o", "-", stdin=nbest.read_bytes())
    assert done.stdout == gzip.decompress((tmp_path / "out.fr.gz").read_bytes())


def test_choice_by_risk(bundled_golden: Path, tmp_path: Path, phrasescore: Phrasescore) -> None:
    """Risk uses the list's totals or an ini's weights; its options need --minimum-bayes-risk."""
    system = bundled_golden / "system" / "moses.ini"
    choose = ("rerank", bundled_golden / "decode" / "default.nbest.gz", "-o", "-")
    source = ("--source", bundled_golden / "decode" / "input.en")
    own = phrasescore(*choose, *source, "--minimum-bayes-risk", "--mbr-scale", "0.1").well()
    weighted = phrasescore(*choose, *source, "--mbr", "--mbr-scale", "0.1", "--weights", system)
    # totals also contain -100 for an unknown word, which is equal for all candidates of a sentence
    assert weighted.stdout == own.stdout
    best = phrasescore(*choose, *source, "--weights", system)
    assert best.stdout.count(b"\n") == own.stdout.count(b"\n") == 40
    assert best.stdout != own.stdout
    done = phrasescore(*choose, "--weights", system, "--mbr-scale", "0.1").refused(2)
    assert done.stderr == (
        b"phrasescore: --mbr-scale needs --minimum-bayes-risk, which is not given. "
        b"Add --minimum-bayes-risk, or leave out --mbr-scale.\n"
    )
    done = phrasescore(*choose).refused(2)
    assert done.stderr.startswith(
        b"phrasescore: the command does not say how to choose. Give --weights FILE"
    )
