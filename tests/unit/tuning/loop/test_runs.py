"""Tuning with real files: seeds, errors, failing decoders, wrong input."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.real_moses import DecoderError
from phrasescore.errors import CorpusError, IniError, InputError, NBestError, ResumeError
from tests.support import fake_moses
from tests.support.toy_system import TOY_WEIGHTS, ToySystem, toy_list, write_toy_system
from tuning.loop.decoding import read_source
from tuning.loop.outer_loop import TuningReport, tune
from tuning.loop.tuning_settings import TuningSettings


class Run:
    """A tuning of the toy system with a ``moses`` that prints the same list for all weights."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder, folder / "bin"
        self.toy: ToySystem = write_toy_system(folder / "toy")
        fake_moses.printing(self.bin, toy_list(self.toy), TOY_WEIGHTS)
        self.said: list[str] = []
        self.settings = TuningSettings(
            ini=str(self.toy.ini),
            source=str(self.toy.source),
            references=(str(self.toy.reference),),
            restarts=2,
            decoder="moses",
            moses=str(self.bin),
            rounds=1,
        )

    def tune(self, **changes: Any) -> TuningReport:
        """Tune into the folder ``tuned``."""
        settings = dataclasses.replace(self.settings, **changes)
        return tune(settings, self.folder / "tuned", self.said.append)

    def weights(self, folder: str = "tuned") -> dict[str, Any]:
        """Return the content of weights.json."""
        content: dict[str, Any] = json.loads((self.folder / folder / "weights.json").read_text())
        return content


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a tuning that has not started."""
    return Run(tmp_path)


@pytest.mark.parametrize("optimizer", ["mert", "pro", "mira"])
def test_every_optimizer_fits_the_loop(run: Run, optimizer: Any) -> None:
    """Every optimiser finds better weights for the list than those of the ini."""
    run.tune(optimizer=optimizer)
    optimized = json.loads((run.folder / "tuned/steps/optimize.1.json").read_text())["counts"]
    assert optimized["score"] > optimized["start_score"] + 0.05


@pytest.mark.parametrize("weight", [0.2, 0])
def test_the_benefit_of_a_model_is_estimated(run: Run, weight: float) -> None:
    """The record and a note say what a score that is ln p of a model brings; its name tells."""
    toy = write_toy_system(run.folder / "toy", sentences=24)
    ini = toy.ini.read_text().replace("LM0= 0.2", f"LM0= {weight}")
    toy.ini.write_text(ini.replace("LM0", "NeuralLM0"))
    lines = toy_list(toy).replace(b"LM0", b"NeuralLM0")
    fake_moses.printing(run.bin, lines, TOY_WEIGHTS.replace("LM0", "NeuralLM0"))
    run.tune()
    (benefit,) = json.loads((run.folder / "tuned/result.json").read_text())["benefits"]
    assert benefit["name"] == "NeuralLM0"
    assert [benefit["weight"]] == run.weights()["weights"]["NeuralLM0"]
    assert benefit["low"] <= benefit["gain"] <= benefit["high"]
    (note,) = (line for line in run.said if line.startswith("note: NeuralLM0 "))
    assert note.endswith("its weight is 0, so the search does not use it") == (not weight)
    begun, done = (
        next(place for place, line in enumerate(run.said) if line.startswith(said))
        for said in ("round 1: optimising over ", "round 1: over all candidates ")
    )
    assert begun < done


def test_the_system_is_filtered_for_decoding_only(run: Run) -> None:
    """Moses gets filtered tables; the result has the original ones, and the search settings."""
    report = run.tune(sections={"search-algorithm": "1"})
    used = MosesIni.read(run.folder / "tuned/filtered/moses.ini")
    assert used.values("search-algorithm") == ("1",)
    table = used.feature("TranslationModel0").options["path"]
    assert table == str(run.folder / "tuned/filtered/TranslationModel0.gz")
    everything = (run.folder / "toy/phrase-table").read_bytes().splitlines()
    assert set(gzip.decompress(Path(table).read_bytes()).splitlines()) <= set(everything)
    tuned = MosesIni.read(report.ini)
    assert tuned.values("search-algorithm") == ("1",)
    original = MosesIni.read(run.toy.ini).feature("TranslationModel0").options
    assert tuned.feature("TranslationModel0").options == original
    assert f"-f {run.folder / 'tuned/filtered/moses.ini'} " in (run.bin / "called").read_text()
    assert (run.folder / "tuned/source.txt").read_bytes() == run.toy.source.read_bytes()


def test_several_seeds(run: Run) -> None:
    """Each run has a folder; mean, deviation and the best run's ini are in the main folder."""
    report = run.tune(runs=3, seed=5)
    found = run.weights()
    assert [entry["folder"] for entry in found["seeds"]] == ["seed5", "seed6", "seed7"]
    scores = [run.weights(f"tuned/seed{seed}")["score"] for seed in (5, 6, 7)]
    assert scores == [entry["score"] for entry in found["seeds"]]
    assert scores == [result.best.score for result in report.runs]
    assert found["mean"] == report.mean_and_deviation()[0] == pytest.approx(sum(scores) / 3)
    assert found["deviation"] == report.mean_and_deviation()[1]
    assert report.best_run.best.score == found["score"] == max(scores)
    best = (report.best_run.folder / "moses.ini").read_bytes()
    assert (run.folder / "tuned/moses.ini").read_bytes() == best
    # all runs share the first round; the average of their weights is decoded once more
    assert sum("round 1: decoding" in text for text in run.said) == 2


def test_line_ends_of_references_are_told_before_decoding(run: Run) -> None:
    """One note for all rounds and seeds, before a decoder has taken hours."""
    text = run.toy.reference.read_bytes()
    run.toy.reference.write_bytes(text.replace(b"\n", b"\r\n"))
    run.tune(runs=2)
    told = [number for number, line in enumerate(run.said) if "lines end in CR LF" in line]
    assert told == [0]


def test_the_average_of_the_runs_weights_is_decoded(run: Run) -> None:
    """Its score, its weights and its ini are written; it is not decoded a second time."""
    report = run.tune(runs=2)
    assert report.average is not None
    names = list(report.runs[0].weights)
    both = [np.concatenate([each.weights[name] for name in names]) for each in report.runs]
    average = np.concatenate([report.average.weights[name] for name in names])
    mean = np.mean([weights / np.abs(weights).sum() for weights in both], axis=0)
    np.testing.assert_allclose(average, mean / np.abs(mean).sum(), rtol=1e-6)
    assert run.weights()["average"] == report.average.best.score
    folder = run.folder / "tuned/average"
    assert MosesIni.read(folder / "moses.ini").weights["LM0"] == report.average.weights["LM0"]
    lists = (folder / "round01/nbest.gz").stat().st_mtime_ns
    run.tune(runs=2)
    assert (folder / "round01/nbest.gz").stat().st_mtime_ns == lists


def test_a_seed_of_several_is_the_run_with_that_seed(run: Run) -> None:
    """A seed gives equal results alone and among other seeds."""
    run.tune(runs=2, seed=1)
    tune(dataclasses.replace(run.settings, seed=2), run.folder / "alone", run.said.append)
    among, alone = run.weights("tuned/seed2"), run.weights("alone")
    for key in ("weights", "score", "rounds"):
        assert among[key] == alone[key]


def test_more_rounds_and_seeds_go_on_in_the_same_folder(run: Run) -> None:
    """Stop rules and threads may change; finished work is not repeated."""
    run.tune(runs=2)
    run.said.clear()
    run.tune(runs=3, threads=2)
    decoded = [text for text in run.said if "decoding" in text]
    assert decoded == ["round 2: decoding 12 sentences"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seed": 2}, "seed was 1 and is now 2"),
        ({"nbest_size": 7}, "nbest_size was 100 and is now 7"),
        ({"freeze": ("LM0",)}, r"freeze was \[\] and is now \[\"LM0\"\]"),
        ({"optimizer": "pro"}, 'optimizer was "mert" and is now "pro"'),
        ({"runs": 2}, "several seeds was false and is now true"),
    ],
)
def test_another_run_is_refused(run: Run, change: dict[str, Any], sentence: str) -> None:
    """Options that change the result need another folder."""
    run.tune()
    with pytest.raises(ResumeError, match=f"the work was begun with other settings: .*{sentence}"):
        run.tune(**change)


@pytest.mark.parametrize("name", ["ini", "source", "reference"])
def test_another_input_is_refused(run: Run, name: str) -> None:
    """Changed content of an input makes another run."""
    run.tune()
    path = getattr(run.toy, name)
    path.write_bytes(path.read_bytes().replace(b" ", b"  ", 1))
    with pytest.raises(
        ResumeError, match=r"the work was begun with other settings: .* is not the file that"
    ):
        run.tune()


def test_a_replaced_neural_model_is_another_input(run: Run) -> None:
    """A model folder is compared by the checksums of its files."""
    model = run.folder / "model"
    model.mkdir()
    run.toy.ini.write_text(re.sub(r" path=\S+", f" path={model}", run.toy.ini.read_text()))
    ini, identities = MosesIni.read(run.toy.ini), []
    for sums in ("a", "b"):
        (model / "SHA256SUMS").write_text(sums)
        identities.append(run.settings.recorded(ini))
    assert identities[0] != identities[1]


@pytest.mark.parametrize(
    ("name", "content", "kind", "sentence"),
    [
        ("source", b"s1 s2\n", CorpusError, "dev.src: 1 lines, but 12 in"),
        ("source", b"\n\n", CorpusError, "dev.src: there is no text to translate"),
        ("source", b"s1 a|b\n" * 12, CorpusError, r"dev\.src:1: Moses would take the word 'a\|b'"),
        ("reference", b"", CorpusError, "12 lines, but 0 in"),
        ("ini", b"[ttable-file]\n0 0 0 4 x\n", IniError, "an old-style moses.ini"),
        ("ini", b"[feature]\nDistortion\n[weight-overwrite]\nx\n", IniError, "overwrite. section"),
        ("ini", b"[feature]\nDistortion\n[alternate-weight-setting]\nx\n", IniError, "override"),
    ],
)
def test_wrong_input(
    run: Run, name: str, content: bytes, kind: type[Exception], sentence: str
) -> None:
    """Errors in ini or texts are reported before decoding."""
    getattr(run.toy, name).write_bytes(content)
    with pytest.raises(kind, match=sentence):
        run.tune()
    assert not (run.folder / "tuned/round01").exists()


def test_swapped_texts(run: Run) -> None:
    """If source and reference are exchanged, the error says so, and the right order may follow."""
    texts = run.toy.source.read_bytes(), run.toy.reference.read_bytes()
    run.toy.source.write_bytes(texts[1])
    run.toy.reference.write_bytes(texts[0])
    (run.toy.ini.parent / "text.json").write_text("{}")
    with pytest.raises(CorpusError, match="look swapped"):
        run.tune()
    assert [path.name for path in (run.folder / "tuned").iterdir()] == ["run.json"]
    run.toy.source.write_bytes(texts[0])
    run.toy.reference.write_bytes(texts[1])
    run.tune()
    assert (run.folder / "tuned/text.json").exists()


def test_many_unknown_words(run: Run) -> None:
    """Words with many forms may be unknown more often than known; tuning warns and goes on."""
    lines = run.toy.source.read_bytes().splitlines()
    more = [
        b" ".join([line, *(b"new%d" % n for n in range(2 * line.count(b" ") + 2))])
        for line in lines
    ]
    run.toy.source.write_bytes(b"\n".join(more) + b"\n")
    run.tune()
    assert any(said.startswith("warning: ") and "does not know" in said for said in run.said)
    assert run.weights()["bleu"] > 0


def test_a_refusal_keeps_begun_work(run: Run) -> None:
    """If the checks fail after a step was done, the filtered tables and the step stay."""
    run.tune()
    table = run.folder / "tuned/filtered/TranslationModel0.gz"
    table.write_bytes(gzip.compress(b"x ||| y ||| 1 1 1 1\n"))
    with pytest.raises(CorpusError, match="does not know"):
        run.tune()
    assert table.exists()
    assert (run.folder / "tuned/steps/decode.1.json").exists()


def test_a_table_that_is_missing(run: Run) -> None:
    """Filtering fails with the name of the missing table, and leaves no filtered folder."""
    (run.folder / "toy/phrase-table").unlink()
    with pytest.raises(InputError, match="phrase-table"):
        run.tune()
    assert not (run.folder / "tuned/filtered").exists()


def test_empty_lines_are_survived(run: Run) -> None:
    """A dev set may have empty lines, with a note."""
    for path in (run.toy.source, run.toy.reference):
        lines = path.read_bytes().split(b"\n")
        lines[3] = b""
        path.write_bytes(b"\n".join(lines))
    run.tune()
    assert any("1 of 12 lines of" in text for text in run.said)
    assert run.weights()["bleu"] > 0


def test_blanks_at_the_ends_of_lines_are_no_words(run: Run) -> None:
    """Carriage returns and outer blanks are removed before Moses reads the lines."""
    run.toy.source.write_bytes(b"  s1 s2\r\n\ts3 \n")
    assert read_source(run.settings, 2, run.said.append) == [b"s1 s2", b"s3"]


@pytest.mark.parametrize(
    ("body", "kind", "sentence"),
    [
        ("echo 'cannot map the model' >&2; exit 9", DecoderError, "status 9.*cannot map"),
        ("exit 0", DecoderError, "printed no translation"),
        ("head -c 300 $(dirname $0)/list", NBestError, "ends in the middle of a line"),
        ("head -n 1 $(dirname $0)/list | sed 's/LM0/LM1/'", NBestError, r"the features .*LM1\(1\)"),
    ],
)
def test_a_decoder_that_fails(run: Run, body: str, kind: type[Exception], sentence: str) -> None:
    """The error describes the failure; after a repair, the same call succeeds."""
    fake_moses.script(run.bin, body)
    with pytest.raises(kind, match=sentence):
        run.tune()
    fake_moses.printing(run.bin, toy_list(run.toy), TOY_WEIGHTS)
    (run.folder / "tuned/round01/nbest.gz").unlink(missing_ok=True)
    run.tune()


@pytest.mark.parametrize(
    ("shown", "sentence"),
    [
        (TOY_WEIGHTS.replace("LM0= 0.2", "LM0= 0.2 0.1"), r"LM0\(2\).*, expected .* LM0\(1\)"),
        ("".join(reversed(TOY_WEIGHTS.splitlines(True))), "expected Distortion0"),
    ],
)
def test_a_moses_of_another_version(run: Run, shown: str, sentence: str) -> None:
    """Other features, or another order, are found before decoding."""
    (run.bin / "weights").write_text(shown)
    with pytest.raises(DecoderError, match=sentence):
        run.tune()
    assert not (run.bin / "called").exists()


def test_a_list_cut_in_the_middle_of_a_line(run: Run) -> None:
    """A truncated list is reported with the file to delete; then the run ends normally."""
    run.tune()
    whole = run.weights()
    nbest = run.folder / "tuned/round02/nbest.gz"
    nbest.write_bytes(gzip.compress(gzip.decompress(nbest.read_bytes())[:-9]))
    with pytest.raises(ResumeError, match=r"round02/nbest\.gz: this output was changed"):
        run.tune()
    nbest.unlink()
    run.tune()
    assert run.weights() == whole
