"""One optimisation over existing lists: inputs, errors, results."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phrasescore.errors import IniError
from phrasescore.runs.json_files import write_json
from tests.support.translations import noisy_translations, references
from tuning.loop.lists import ListOptimization, OptimizationReport, optimize_lists
from tuning.metrics.metric_settings import Objective

INI = """\
[input-factors]
0
[mapping]
0 T 0
[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=2 path=table
{more}
[weight]
UnknownWordPenalty0= 1
WordPenalty0= -0.5
TranslationModel0= 0.2 0.3
{weights}
"""
Optimize = Callable[..., OptimizationReport]


def nbest(rng: np.random.Generator, skipped: tuple[int, ...] = ()) -> list[str]:
    """Write ten translations of each of 40 sentences, with a feature for their noise."""
    lines = []
    shares = np.linspace(0.05, 0.6, 10)
    candidates = [noisy_translations(rng, float(share)) for share in shares]
    for sentence in range(40):
        if sentence in skipped:
            continue
        for share, texts in zip(shares, candidates, strict=True):
            words = texts[sentence]
            good, noise = -5 * share + rng.normal(0, 0.5), rng.normal(0, 1)
            features = f"WordPenalty0= -{len(words.split(' '))} "
            features += f"TranslationModel0= {noise:.4f} {good:.4f}"
            lines.append(f"{sentence} ||| {words}  ||| {features} ||| {noise:.4f}")
    return lines


@pytest.fixture
def optimize(tmp_path: Path) -> Optimize:
    """Write lists, references and an ini, and optimise."""
    (tmp_path / "ref").write_text("".join(line + "\n" for line in references()), "utf-8")
    (tmp_path / "moses.ini").write_text(INI.format(more="", weights=""))

    def run(*lists: list[str], **options: Any) -> OptimizationReport:
        paths = []
        for number, lines in enumerate(lists or (nbest(np.random.default_rng(1)),)):
            paths.append(str(tmp_path / f"run{number}.gz"))
            data = "".join(line + "\n" for line in lines).encode()
            Path(paths[-1]).write_bytes(gzip.compress(data))
        task = ListOptimization(
            lists=tuple(paths),
            references=options.pop("references", (str(tmp_path / "ref"),)),
            start=options.pop("start", str(tmp_path / "moses.ini")),
            restarts=2,
            **options,
        )
        report = optimize_lists(task)
        write_json(tmp_path / "weights.json", report.to_json())
        return report

    return run


def test_what_is_written(optimize: Optimize, tmp_path: Path) -> None:
    """The result has weights, both scores and provenance, and is better than the start."""
    report = optimize()
    content = json.loads((tmp_path / "weights.json").read_text("utf-8"))
    assert set(content["weights"]) == {"WordPenalty0", "TranslationModel0"}
    assert content["bleu"] == report.bleu == report.score > report.start_score
    assert content["sentences"] == 40
    assert content["candidates"] == 400
    settings = content["provenance"]["settings"]
    assert settings["seed"] == 1
    assert settings["optimizer"] == "mert"
    assert len(content["provenance"]["inputs"]) == 3
    assert content["weights"]["TranslationModel0"][1] > 0


def test_other_objectives(optimize: Optimize) -> None:
    """With chrF and TER in the objective, BLEU is reported in addition to the score."""
    report = optimize(objective=Objective.from_shares({"bleu": 1, "chrf": 1, "ter": 1}))
    assert report.score > report.start_score
    assert report.score != report.bleu


def test_without_a_start_features_weigh_the_same(optimize: Optimize) -> None:
    """Without start weights, features come from the lists, and a note describes the start."""
    report = optimize(start=None)
    assert any("all start weights are 0" in note for note in report.notes)
    assert [len(values) for values in report.weights.values()] == [1, 2]


def test_weights_of_another_run_are_a_start(optimize: Optimize, tmp_path: Path) -> None:
    """The weights.json of another run can be the start."""
    first = optimize()
    (tmp_path / "weights.json").rename(tmp_path / "before.json")
    assert optimize(start=str(tmp_path / "before.json")).start_score == first.score


def test_features_that_a_start_does_not_know(optimize: Optimize, tmp_path: Path) -> None:
    """Features without start weights begin with 0, with a note."""
    weights = {name: list(values) for name, values in optimize().weights.items()}
    old = {name: values for name, values in weights.items() if name != "WordPenalty0"}
    (tmp_path / "old.json").write_text(json.dumps({"weights": old}))
    (tmp_path / "zero.json").write_text(json.dumps({"weights": {**old, "WordPenalty0": [0]}}))
    second = optimize(start=str(tmp_path / "old.json"))
    assert "old.json has no weight for WordPenalty0: the start is 0" in second.notes[0]
    assert second.start_score == optimize(start=str(tmp_path / "zero.json")).start_score
    (tmp_path / "other.json").write_text(json.dumps({"weights": {**old, "LM7": [1]}}))
    with pytest.raises(IniError, match="values for LM7, but there is no such feature") as caught:
        optimize(start=str(tmp_path / "other.json"))
    assert caught.value.path == str(tmp_path / "other.json")


def test_frozen_weights(optimize: Optimize) -> None:
    """The weight of a frozen component does not change."""
    report = optimize(freeze=("TranslationModel0_0",))
    assert report.weights["TranslationModel0"][0] == 0.2
    assert report.score > report.start_score


def test_components_that_are_not_tuned_stay(optimize: Optimize, tmp_path: Path) -> None:
    """With tuneable-components=0,1 lists show one value, and the other weight does not change."""
    ini = INI.format(more="", weights="").replace(
        "num-features=2", "num-features=2 tuneable-components=0,1"
    )
    (tmp_path / "moses.ini").write_text(ini)
    lines = []
    for line in nbest(np.random.default_rng(1)):
        head, features = line.split("TranslationModel0= ")
        lines.append(f"{head}TranslationModel0= {features.split(' ', 1)[1]}")
    report = optimize(lines)
    assert report.weights["TranslationModel0"][0] == 0.2
    assert any("do not show all scores of TranslationModel0" in note for note in report.notes)


def with_score(lines: list[str], name: str, values: list[float]) -> list[str]:
    """Append a feature to every line, as ``nbest`` does."""
    pairs = [(line.rsplit(" ||| ", 1), value) for line, value in zip(lines, values, strict=True)]
    return [f"{head} {name}= {value:.4f} ||| {total}" for (head, total), value in pairs]


def noise(size: int) -> list[float]:
    """Return logarithms of probabilities that have nothing to do with the candidates."""
    return (-np.abs(np.random.default_rng(7).normal(5, 2, size)) - 0.1).tolist()


def test_an_ini_may_lack_the_scores_of_nbest(optimize: Optimize, tmp_path: Path) -> None:
    """A feature that ``nbest`` appended begins with 0; the result is that of a weights.json."""
    lines = nbest(np.random.default_rng(1))
    lists = with_score(lines, "AttentionModel0", noise(len(lines)))
    report = optimize(lists)
    assert "moses.ini has no weight for AttentionModel0: the start is 0" in report.notes[0]
    assert list(report.weights) == ["WordPenalty0", "TranslationModel0", "AttentionModel0"]
    assert report.start_score == optimize(lines).start_score
    (tmp_path / "run1.dense").write_text(
        "WordPenalty0= -0.5\nTranslationModel0= 0.2\nTranslationModel0= 0.3\n"
    )
    assert optimize(lists, start=str(tmp_path / "run1.dense")).weights == report.weights


def test_the_features_of_an_ini_must_be_in_the_lists(optimize: Optimize, tmp_path: Path) -> None:
    """A feature of the ini that the lists lack is an error about the ini."""
    more = "KENLM name=LM0 path=lm order=3"
    (tmp_path / "moses.ini").write_text(INI.format(more=more, weights="LM0= 0.5"))
    with pytest.raises(IniError, match=r"values for LM0, but .*Start with weights of") as caught:
        optimize()
    assert caught.value.path == str(tmp_path / "moses.ini")


def test_a_score_that_does_not_help_is_named(optimize: Optimize) -> None:
    """The notes say of each score that is ln p of a model whether it helps."""
    lines = nbest(np.random.default_rng(1))
    report = optimize(with_score(lines, "NeuralLM0", noise(len(lines))))
    (said,) = [note for note in report.notes if "an estimate over lists" in note]
    assert said.startswith("NeuralLM0 is not shown to help: ")
    assert not any("an estimate over lists" in note for note in optimize(lines).notes)


def test_references_of_another_language_are_told(optimize: Optimize, tmp_path: Path) -> None:
    """No choice from the lists resembles references in another language."""
    other = tmp_path / "other"
    other.write_text("".join(f"{line.upper()} .\n" for line in references()))
    said = "the chosen translation shares almost no three-word sequence with the references"
    assert any(note.startswith(said) for note in optimize(references=(str(other),)).notes)
    assert not any(note.startswith(said) for note in optimize().notes)


def test_a_result_below_the_first_candidates_is_told(optimize: Optimize) -> None:
    """Without start weights, the optimiser may not find what the decoder's weights choose."""
    lines = []
    for number, good in enumerate(references()):
        bad = " ".join(["bad", *good.split(" ")[:-1]])
        for words, value in ((good, -2), (bad, -1), (f"{bad} worse", -3)):
            lines.append(f"{number} ||| {words} ||| LM0= {value} ||| {value}")
    report = optimize(lines, start=None)
    assert report.score < 1
    assert report.notes[0].startswith("the first candidates of a list have 100.00 bleu, more than")
