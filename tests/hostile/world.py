"""Writes tiny inputs for all commands: a Moses system, texts, lists, models, weights."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from moses_integration.text.preparation import SystemText, TextSettings, write_settings
from tests.support.neural_language_models import save_random_language_model
from tests.support.random_models import save_random_model
from tests.support.toy_system import toy_list, write_toy_system
from tuning.normalisation.normaliser import NormaliserSettings, train

SOURCE = [b"s%d" % number for number in range(6)]
TARGET = [b"%s%d" % (letter, number) for letter in (b"r", b"w") for number in range(6)]
_REORDERING = (
    "LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff "
    "input-factor=0 output-factor=0 path=in/reordering\n"
)
_LISTED = (
    "LexicalReordering0= -1 -1 -1 -1 -1 -1 Distortion0= {d} LM0= {lm} WordPenalty0= {w} "
    "PhrasePenalty0= {w} TranslationModel0= {t}"
)

EXPERIMENT = """\
name = "Toy"
seeds = [1]
[data]
folder = ".."
system = "in/moses.ini"
phrase_table = "in/phrase-table"
train_source = "in/dev.src"
train_target = "in/dev.trg"
dev_source = "in/dev.src"
dev_reference = "in/dev.trg"
[[data.test]]
name = "test"
source = "in/dev.src"
reference = "in/dev.trg"
[decoder.sections]
stack = 10
[tuning]
rounds = 1
nbest_size = 10
options = ["--restarts", "1"]
[models.rnn]
train = ["--hidden", "8", "--max-epochs", "0", "--threads", "1"]
[[systems]]
name = "Baseline"
[[systems]]
name = "RNN"
models = ["rnn"]
"""


def write_world(folder: Path) -> None:
    """Write all files into ``folder/in``; paths in the ini are relative to ``folder``."""
    there = folder / "in"
    toy = write_toy_system(there, sentences=8)
    ini = toy.ini.read_text().replace(str(there), "in")
    toy.ini.write_text(
        ini.replace("Distortion\n", f"Distortion\n{_REORDERING}").replace(
            "[weight]\n", "[weight]\nLexicalReordering0= 0.1 0.1 0.1 0.1 0.1 0.1\n"
        )
    )
    lines = (there / "phrase-table").read_bytes().splitlines()
    pairs = [line.split(b" ||| ")[:2] for line in lines]
    _write(there / "reordering", [b"%s ||| %s ||| .2 .3 .5 .2 .3 .5" % (s, t) for s, t in pairs])
    (there / "phrase-table.gz").write_bytes(gzip.compress((there / "phrase-table").read_bytes()))
    (there / "list").write_bytes(toy_list(toy))
    source, target = (path.read_bytes().splitlines() for path in (toy.source, toy.reference))
    both = list(zip(source, target, strict=True))
    _write(there / "segmented", [_segmented(n, *pair) for n, pair in enumerate(both)])
    _write(there / "other.trg", [b" ".join(reversed(line.split())) for line in target])
    _write(there / "pairs.tsv", [b"%s\t%s" % pair for pair in both])
    _write(there / "phrases", [pair[0] for pair in pairs[:5]])
    lengths = [len(line.split()) for line in source]
    _write(there / "links", [b" ".join(b"%d-%d" % (i, i) for i in range(n)) for n in lengths])
    words = [b"verie\tvery", b"onely\tonly", b"ss\ts", b"him selfe\thimself"]
    _write(there / "words.tsv", words * 5)
    _write(there / "dev.tsv", [*words, b"manie\tmany"])
    _write(there / "words", [b"very", b"", b"only", b"manie"])
    tsv, dev = there / "words.tsv", there / "dev.tsv"
    train(NormaliserSettings(str(tsv), str(dev)), there / "normaliser", lambda text: None)
    _write(there / "drop.tsv", [b"s0\tr0\tbecause"])
    weights = {"LM0": [0.5], "Distortion0": [0.1], "WordPenalty0": [-0.5]}
    weights |= {"PhrasePenalty0": [0.1], "TranslationModel0": [0.3, 0.4]}
    (there / "weights.json").write_text(json.dumps({"weights": weights}))
    (there / "experiment.toml").write_text(EXPERIMENT)
    (there / "system").mkdir()
    write_settings(there / "system", SystemText(TextSettings("en"), TextSettings("fr")))
    save_random_model(there / "model", SOURCE, TARGET)
    save_random_model(there / "search", SOURCE, TARGET, kind="search")
    save_random_language_model(there / "lm", TARGET, self_normalise=0.1)


def _segmented(number: int, source: bytes, target: bytes) -> bytes:
    """Return a line of a list whose candidates are segmented into phrases."""
    words = len(source.split())
    spans = " ".join(f"{i}={i}" for i in range(words))
    features = _LISTED.format(d=0, lm=-5.5, w=-words, t="-1.5 -2.5")
    return f"{number} ||| {target.decode()}  ||| {features} ||| -1 ||| {spans}".encode()


def _write(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
