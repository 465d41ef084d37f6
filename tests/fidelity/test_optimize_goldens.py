"""Optimisation over three rounds of real n-best lists, against what Moses's own tools reached."""

from __future__ import annotations

import gzip
import json
import statistics
from pathlib import Path

import pytest
import sacrebleu

from tests.conftest import Phrasescore

# Moses's mert, 20 restarts, seeds 1 to 5 on these lists: 0.591603 to 0.593353; kbmira, recomputed,
# at most 0.5847
MERT_OF_MOSES, KBMIRA_OF_MOSES = 0.59335, 0.5847


def recomputed_bleu(folder: Path, weights: dict[str, list[float]]) -> float:
    """Choose the best candidate of each sentence by ``weights`` and return their corpus BLEU."""
    best: dict[int, tuple[float, str]] = {}
    for number in (1, 2, 3):
        with gzip.open(folder / f"run{number}.best100.gz", "rb") as stream:
            text = stream.read().decode("utf-8")
        for line in text.removesuffix("\n").split("\n"):
            sentence, words, features = line.split(" ||| ")[:3]
            score, name = 0.0, ""
            position = 0
            for token in features.split(" "):
                if token.endswith("="):
                    name, position = token[:-1], 0
                elif token:
                    score += weights[name][position] * float(token)
                    position += 1
            # of equal scores the first candidate counts
            if int(sentence) not in best or score > best[int(sentence)][0]:
                best[int(sentence)] = score, words
    chosen = [best[sentence][1].strip(" ") for sentence in sorted(best)]
    references = (folder / "refs.fr").read_text("utf-8").removesuffix("\n").split("\n")
    metric = sacrebleu.BLEU(tokenize="none", force=True, smooth_method="none")
    return float(metric.corpus_score(chosen, [references]).score) / 100


def optimized(
    phrasescore: Phrasescore, golden: Path, tmp_path: Path, *options: str
) -> tuple[float, float]:
    """Run ``phrasescore optimize`` and return the BLEU it claims and the one recomputed."""
    folder = golden / "tuning"
    lists = [text for n in (1, 2, 3) for text in ("--nbest", str(folder / f"run{n}.best100.gz"))]
    done = phrasescore(
        "optimize", *lists, "--reference", folder / "refs.fr",
        "--start", golden / "system" / "moses.ini", *options, "-o", "weights.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    result = json.loads((tmp_path / "weights.json").read_text("utf-8"))
    return result["bleu"], recomputed_bleu(folder, result["weights"])


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_mert_beats_the_best_run_of_moses(
    phrasescore: Phrasescore, golden: Path, tmp_path: Path, seed: int
) -> None:
    """From every seed MERT reaches what the best of five runs of Moses's mert reached."""
    options = ["--optimizer", "mert", "--restarts", "20", "--seed", str(seed)]
    claimed, recomputed = optimized(phrasescore, golden, tmp_path, *options)
    assert recomputed >= MERT_OF_MOSES
    assert claimed == pytest.approx(recomputed, abs=1e-6)


def test_mira_beats_the_best_run_of_kbmira(
    phrasescore: Phrasescore, golden: Path, tmp_path: Path
) -> None:
    """The median of five seeds of batch MIRA is at least the best of five runs of kbmira."""
    figures = []
    for seed in range(1, 6):
        options = ["--optimizer", "mira", "--seed", str(seed)]
        claimed, recomputed = optimized(phrasescore, golden, tmp_path, *options)
        assert claimed == pytest.approx(recomputed, abs=1e-6)
        figures.append(recomputed)
    assert statistics.median(figures) >= KBMIRA_OF_MOSES


def test_pairwise_ranking_gains(phrasescore: Phrasescore, golden: Path, tmp_path: Path) -> None:
    """PRO learns from pairs, and goes as far towards what it learnt as corpus BLEU rises."""
    # Moses's own pairs (its pro, seeds 1 to 3), exactly regressed, lead to 0.5729 to 0.5740 only,
    # less than the 0.5791 of the start
    claimed, recomputed = optimized(phrasescore, golden, tmp_path, "--optimizer", "pro")
    assert claimed == pytest.approx(recomputed, abs=1e-6)
    assert recomputed > 0.5815
