"""The Python API gives the commands' numbers, prints nothing, and has clear errors."""

from __future__ import annotations

import json
import math
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moses_integration
import phrasescore as package
import tuning
from moses_integration import Decoder
from phrasescore import InputError, Model, ModelError, PhrasescoreError, SettingsError
from tests.conftest import PROJECT, Phrasescore
from tests.support.fresh_process import run_fresh
from tests.support.random_models import save_random_model
from tests.support.toy_system import write_toy_system
from tuning import compare, evaluate, tune

ENGLISH, FRENCH = [b"the", b"house", b"small"], [b"la", b"maison", b"petite"]
PAIRS = [("the house", "la maison"), ("house", ""), ("unheard of", "la petite petite maison")]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models of three kinds, one of them in the reverse direction."""
    folder = tmp_path_factory.mktemp("models")
    save_random_model(folder / "phrase", ENGLISH, FRENCH)
    save_random_model(folder / "backwards", ENGLISH, FRENCH, "target-source")
    save_random_model(folder / "search", ENGLISH, FRENCH, kind="search")
    save_random_model(folder / "lm", [], FRENCH, kind="feed-forward-lm")
    return folder


@pytest.fixture(scope="module")
def model(models: Path) -> Model:
    """Return a phrase model."""
    return package.load(models / "phrase")


@pytest.fixture
def system(bundled_golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a moses.ini, its tables, and texts."""
    for part in ("system", "decode"):
        shutil.copytree(bundled_golden / part, tmp_path / part)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


@pytest.mark.parametrize("kind", ["phrase", "search", "lm", "backwards"])
def test_scores_are_those_of_score_text(
    kind: str, models: Path, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """Scores of pairs and words, and the perplexity, equal those of score-text."""
    pairs = [pair for pair in PAIRS if kind != "backwards" or pair[1]]
    texts: list[Any] = [target for _, target in pairs] if kind == "lm" else pairs
    lines = texts if kind == "lm" else ["\t".join(pair) for pair in pairs]
    (tmp_path / "texts").write_text("".join(f"{line}\n" for line in lines))
    done = phrasescore(
        *("score-text", "--model", models / kind, "texts", "--words", "-o", "scored", "--json")
    ).well()
    columns = [line.split("\t")[-2:] for line in lines_of(tmp_path / "scored")]
    loaded = package.load(models / kind)
    assert loaded.score(texts) == pytest.approx([float(total) for total, _ in columns], abs=1e-6)
    for found, (total, words) in zip(loaded.score_words(texts), columns, strict=True):
        assert found == pytest.approx([float(word) for word in words.split(" ")], abs=1e-6)
        assert found.sum() == pytest.approx(float(total), abs=1e-5)
    assert loaded.perplexity(texts) == pytest.approx(
        json.loads(done.stdout)["models"][0]["perplexity"]
    )


def test_targets_are_those_of_generate(
    models: Path, model: Model, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """Targets and their ln p equal those of ``generate``, and ``score`` gives equal ln p."""
    sources = ["the house", "small", "unheard of"]
    (tmp_path / "sources").write_text("".join(f"{source}\n" for source in sources))
    done = phrasescore(
        *("generate", "--model", models / "phrase", "-i", "sources"),
        *("--beam", "5", "--nbest-size", "3"),
    )
    lines = [line.split("\t") for line in done.stdout.decode().splitlines()]
    found = model.generate(sources, beam=5, nbest=3)
    assert [len(targets) for targets in found] == [3, 3, 3]
    pairs = [(source, target) for at, source in enumerate(sources) for target in found[at]]
    assert [(source, target.text) for source, target in pairs] == [
        (source, text) for source, text, _ in lines
    ]
    ln_p = [target.ln_p for _, target in pairs]
    assert ln_p == pytest.approx([float(number) for _, _, number in lines], abs=1e-5)
    scores = model.score([(source, target.text) for source, target in pairs])
    assert scores == pytest.approx(ln_p, abs=1e-4)


@pytest.mark.parametrize("nbest", [1, 10])
def test_translations_are_those_of_decode(
    nbest: int, system: Path, phrasescore: Phrasescore
) -> None:
    """Translations are equal for sentences given together or singly; tables are read once."""
    phrasescore(
        *("decode", "system/moses.ini", "-i", "decode/input.en", "-o", "out"),
        *(("--nbest", "list", "--nbest-size", str(nbest)) if nbest > 1 else ()),
    ).well()
    decoder = Decoder("system/moses.ini")
    sentences = lines_of(system / "decode" / "input.en")
    together = decoder.translate(sentences, nbest=nbest, threads=2)
    # a second reading would fail
    for table in ("phrase-table.gz", "reordering-table.gz", "lm.arpa.gz"):
        (system / "system" / table).write_bytes(b"damaged")
    assert [decoder.translate([each], nbest=nbest)[0] for each in sentences] == together
    texts = [best[0].text for best in together]
    assert texts == [line.rstrip() for line in lines_of(system / "out")]
    if nbest == 1:
        return
    listed = [
        (line.split(" ||| ")[1].strip(), float(line.split(" ||| ")[3]))
        for line in lines_of(system / "list")
    ]
    assert [one.text for best in together for one in best] == [text for text, _ in listed]
    assert [one.score for best in together for one in best] == pytest.approx(
        [score for _, score in listed], rel=1e-4
    )
    first = together[0][0]
    assert set(first.features) >= {"TranslationModel0", "LM0", "WordPenalty0", "Distortion0"}
    assert first.features["WordPenalty0"] == (-float(len(first.text.split(" "))),)


def test_scores_of_translations_are_those_of_evaluate_and_compare(
    system: Path, phrasescore: Phrasescore
) -> None:
    """Scores are equal for lines in memory and for files."""
    reference = lines_of(system / "decode" / "input.fr")
    names = ("default", "monotone")
    default, monotone = (lines_of(system / "decode" / f"{name}.1best") for name in names)
    done = phrasescore(
        *("evaluate", "decode/default.1best", "--reference", "decode/input.fr", "--json")
    )
    expected = json.loads(done.stdout)["results"][0]
    for translation in (default, system / "decode" / "default.1best"):
        found = evaluate(translation, reference)
        assert {name: expected[name] for name in found.scores} == dict(found.scores)
        assert found.brevity_penalty == expected["brevity_penalty"]
    done = phrasescore(
        *("compare", "--baseline", "decode/default.1best", "--system", "decode/monotone.1best"),
        *("--reference", "decode/input.fr", "--json"),
    )
    systems = json.loads(done.stdout)["metrics"]["bleu"]
    compared = compare(default, {"system": [monotone]}, [reference])
    baseline, other = compared.scores["bleu"]
    assert baseline.mean == systems[0]["mean"]
    assert other.difference is not None
    for name in ("gain", "low", "high", "p_bootstrap", "p_randomization"):
        assert getattr(other.difference, name) == systems[1][name]
    assert "p (AR)" in compared.to_text()
    one = evaluate(Path("decode/default.1best"), reference, metrics="bleu")
    assert dict(one.scores) == {"bleu": baseline.mean}
    segments = {"baseline": [71.5, 60.25, 80.0], "system": [75.0, 66.0, 80.0]}
    for name, scores in segments.items():
        Path(f"{name}.scores").write_text("".join(f"{score}\n" for score in scores))
    done = phrasescore(
        *("compare", "--segment-scores", "--json"),
        *("--baseline", "baseline.scores", "--system", "system.scores"),
    )
    expected = json.loads(done.stdout)["metrics"]
    for given in (segments["system"], np.array(segments["system"]), Path("system.scores")):
        compared = compare(segments["baseline"], {"system": given}, None)
        assert json.loads(json.dumps(compared.to_json()))["metrics"] == expected


def test_weights_are_those_of_tune(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phrasescore: Phrasescore
) -> None:
    """Folder and weights equal those of ``tune``; a repeated call has nothing to do."""
    toy = write_toy_system(tmp_path / "toy")
    phrasescore(*toy.tuning("-o", "tuned"), "--rounds", "2", "--threads", "1").well()
    expected = json.loads((tmp_path / "tuned" / "weights.json").read_text())
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    for _ in range(2):
        report = tune(
            toy.ini, toy.source, toy.reference, "own", rounds=2, threads=1, say=said.append
        )
        assert {n: list(w) for n, w in report.best_run.weights.items()} == expected["weights"]
    assert report.best_run.best.bleu == expected["bleu"]
    assert report.ini == Path("own/moses.ini")
    assert said


_QUIET = """
import signal, sys, threading
before = {number: signal.getsignal(number) for number in signal.valid_signals()}
import phrasescore
from moses_integration import Decoder
from tuning import compare, evaluate
model = phrasescore.load(sys.argv[1])
for _ in range(2):
    model.score([("the house", "la maison")] * 3000)
    model.generate(["the house"])
    decoder = Decoder("system/moses.ini")
    lines = open("decode/input.en", encoding="utf-8").read().split("\\n")[:-1]
    out = [best[0].text for best in decoder.translate(lines, threads=2)]
    evaluate(out, out)
    compare(out, {"same": out}, out, trials=100)
assert threading.active_count() == 1, threading.enumerate()
assert before == {number: signal.getsignal(number) for number in signal.valid_signals()}
import multiprocessing
assert not multiprocessing.active_children()
"""


def test_nothing_is_printed_and_nothing_stays_behind(models: Path, system: Path) -> None:
    """A separate process prints nothing and keeps no threads, children or signal handlers."""
    home = {"HOME": str(system)}
    done = run_fresh(system, models / "phrase", program=("-c", _QUIET), environment=home).well()
    assert done.stdout == done.stderr == b""


def test_threads_may_share_a_model(model: Model) -> None:
    """Each thread gets its own results."""
    expected = model.score(PAIRS)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(model.score(PAIRS))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(np.array_equal(each, expected) for each in found)


def test_nothing_in_is_nothing_out(model: Model, system: Path) -> None:
    """An empty list gives an empty result, and any iterable is accepted."""
    assert np.array_equal(
        model.score(zip(*zip(*PAIRS, strict=True), strict=True)), model.score(PAIRS)
    )
    returned = [(f"{source}\r", f"{target}\r") for source, target in PAIRS]
    assert np.array_equal(model.score(returned), model.score(PAIRS))  # as in a file
    assert model.score([]).shape == (0,)
    assert model.score_words([]) == model.generate([]) == []
    assert math.isnan(model.perplexity([]))
    assert Decoder("system/moses.ini").translate([]) == []


WRONG: dict[str, tuple[Callable[[Model, Path], object], type[Exception], str]] = {
    "no folder": (lambda _, f: package.load(f / "none"), ModelError, "no such model folder"),
    "not a folder": (lambda _, __: package.load(7), TypeError, "expected a path"),  # type: ignore[arg-type]
    "device": (lambda _, f: package.load(f / "phrase", device="tpu"), SettingsError, "cpu"),
    "no name of a device": (lambda _, f: package.load(f, device=0), TypeError, "device: expected"),  # type: ignore[arg-type]
    "a string": (lambda m, _: m.score("the house"), TypeError, "expected a list, got str"),
    "strings": (lambda m, _: m.score(["the house"]), TypeError, r"pairs\[0\]"),
    "numbers": (lambda m, _: m.score([("a", 1)]), TypeError, r"pairs\[0\]\[1\]"),  # type: ignore[list-item]
    "empty source": (lambda m, _: m.score([("a", "b"), ("", "b")]), InputError, r"sources\[1\]"),
    "line feed": (lambda m, _: m.score([("a\n", "b")]), InputError, "line feed"),
    "surrogate": (lambda m, _: m.score([("\ud800", "b")]), InputError, "surrogate"),
    "pairs for a language model": (
        lambda _, f: package.load(f / "lm").score(PAIRS),
        TypeError,
        r"texts\[0\]: expected a string",
    ),
    "a language model writes": (
        lambda _, f: package.load(f / "lm").generate(["a"]),
        ModelError,
        "language model",
    ),
    "beam": (lambda m, _: m.generate(["a"], beam=2, nbest=3), SettingsError, "at least 3"),
    "no whole number": (lambda m, _: m.generate(["a"], beam=2.0), TypeError, "whole number"),  # type: ignore[arg-type]
    "too wide a beam": (
        lambda m, _: m.generate(["a"], beam=10**9),
        SettingsError,
        "beam is 1000000000, but must be",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_clear_sentence(case: str, model: Model, models: Path) -> None:
    """Wrong input raises a PhrasescoreError or a TypeError that names the problem."""
    call, error, said = WRONG[case]
    with pytest.raises(error, match=said):
        call(model, models)


def translate(**given: Any) -> object:
    return Decoder("system/moses.ini").translate(**given)


# valid arguments, of which a row of the table replaces some
USUAL: dict[Callable[..., object], dict[str, object]] = {
    Decoder: {"ini": "system/moses.ini"},
    translate: {"sentences": ["a"]},
    evaluate: {"translation": ["a", "b"], "references": ["a", "b"]},
    compare: {"baseline": ["a"], "systems": {"b": ["a"]}, "references": ["a"]},
    tune: {"ini": "a", "source": "b", "references": "c", "output": "d"},
}
SCORES: dict[str, object] = {"references": None, "baseline": [0.5], "systems": {"b": [0.5]}}
HUGE = 10**5000
REFUSED: list[tuple[Callable[..., object], dict[str, object], type[Exception], str]] = [
    (Decoder, {"ini": "no.ini"}, PhrasescoreError, "no such"),
    (Decoder, {"ini": 3}, TypeError, "ini: expected a path, got int"),
    (Decoder, {"settings": 1}, TypeError, "settings: expected SearchSettings, got int"),
    (Decoder, {"weights": {"LM0": ["x"]}}, InputError, "a weight of LM0 is not a number"),
    (Decoder, {"weights": {"LM0": [10**400]}}, InputError, "a weight of LM0 is not a number"),
    (Decoder, {"cache": "a\0"}, InputError, "cache: a path with a zero byte"),
    (translate, {"sentences": ["fine", "a|b"]}, InputError, r"sentences\[1\].*bar"),
    (translate, {"sentences": ["fine", "a\nb"]}, InputError, r"sentences\[1\].*line feed"),
    (translate, {"sentences": ["fine", 7]}, TypeError, r"sentences\[1\].*expected a string"),
    (translate, {"nbest": "3"}, TypeError, "nbest: expected a whole number, got str"),
    (evaluate, {"translation": "a"}, TypeError, "list of lines"),
    (evaluate, {"translation": ["a"]}, InputError, "1 line, where"),
    (
        evaluate,
        {"translation": ["a", "\ud800"]},
        InputError,
        r"translation\[1\]: a surrogate code point",
    ),
    (evaluate, {"translation": Path("a\0")}, InputError, "translation: a path"),
    (evaluate, {"metrics": ["comet"]}, SettingsError, "bleu, chrf, ter"),
    (evaluate, {"metrics": np.array([["bleu", "ter"]])}, SettingsError, "unknown metrics"),
    (
        evaluate,
        {"tokenize": np.array(["13a", "none"])},
        TypeError,
        "tokenize: expected a name, got ndarray",
    ),
    (evaluate, {"lowercase": np.zeros(2)}, TypeError, "lowercase: expected true or false"),
    (compare, {**SCORES, "systems": {"b": ["x"]}}, TypeError, "expected a list of numbers"),
    (compare, {**SCORES, "baseline": [1e308]}, SettingsError, r"baseline\[0\] is 1e\+308"),
    (compare, {"systems": {}}, SettingsError, "nothing to"),
    (compare, {"trials": 0}, SettingsError, "trials is 0, but must be 1 to"),
    (tune, {"rounds": "2"}, TypeError, "rounds: expected a whole number, got str"),
    (tune, {"threads": 0}, SettingsError, "threads is 0, but must be 1 to"),
    (tune, {"optimizer": "Mira"}, SettingsError, "unknown optimizer 'Mira'.*mert, pro, mira"),
    (tune, {"decoder": "moses2"}, SettingsError, "unknown decoder 'moses2'.*embedded, moses"),
    (tune, {"source": "\ud800"}, InputError, "ud800': a path with a zero byte or a surrogate"),
    (tune, {"objective": "bleu"}, TypeError, "objective: expected shares by metric, got str"),
    (
        tune,
        {"objective": {"bleu": HUGE}},
        SettingsError,
        "the share of bleu is a huge number, but must be 0 to",
    ),
]


@pytest.mark.parametrize(("call", "given", "error", "said"), REFUSED)
def test_wrong_arguments(
    call: Callable[..., object],
    given: dict[str, object],
    error: type[Exception],
    said: str,
    system: Path,
) -> None:
    """Wrong arguments, and files that are not there, raise an error that names the argument."""
    with pytest.raises(error, match=said):
        call(**{**USUAL[call], **given})


def test_metrics_may_be_an_array() -> None:
    found = evaluate(["a"], ["a"], metrics=np.array(["bleu", "ter"]))  # type: ignore[arg-type]
    assert found.scores["ter"] == 0.0


def test_a_missing_table_is_told_before_the_first_sentence(system: Path) -> None:
    """Making a decoder fails if its table is missing."""
    table = next(Path("system").glob("phrase-table*"))
    table.rename("elsewhere")
    with pytest.raises(InputError, match=table.name.removesuffix(".gz")):
        Decoder("system/moses.ini")


def test_the_documented_names_are_those_that_are_exported() -> None:
    """The exported names are those of docs/api.md."""
    page = (PROJECT / "docs" / "api.md").read_text("utf-8")
    for exported in (package, moses_integration, tuning):
        for name in exported.__all__:
            assert f"`{name}`" in page, name
            assert getattr(exported, name) is not None
