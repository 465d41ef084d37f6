"""The inputs of the calls, large enough that each call takes a second and has several blocks."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from tests.conftest import PROJECT
from tests.hostile.world import EXPERIMENT
from tests.support.language_models import arpa_of
from tests.support.neural_language_models import save_random_language_model
from tests.support.random_models import save_random_model
from tests.support.random_system import SYSTEM, WEIGHTS

_WORDS = 60
# long words make many blocks with little work
_SOURCE = [b"source-word-%02d" % number for number in range(_WORDS)]
_TARGET = [b"target-word-%02d" % number for number in range(_WORDS)]


def write_world(folder: Path) -> None:
    """Write all files into ``folder/in``; calls run in ``folder``."""
    there = folder / "in"
    there.mkdir(parents=True)
    rng = np.random.default_rng(16)
    _write_system(there, rng)
    _write_texts(there, rng)
    for name in ("train.en", "train.fr"):
        lines = (PROJECT / "sample_corpus" / name).read_bytes().splitlines()[:1000]
        _write(there / name, lines)
    (there / "experiment.toml").write_text(_experiment())
    save_random_model(there / "model", _SOURCE, _TARGET)
    save_random_model(there / "search", _SOURCE, _TARGET, kind="search")
    save_random_language_model(there / "lm", _TARGET)


def _write_system(there: Path, rng: np.random.Generator) -> None:
    places = {"table": "in/phrase-table", "reordering": "in/reordering", "lm": "in/lm.arpa"}
    system = SYSTEM.format(limit=3, top=5, scores=4, **places)
    weights = WEIGHTS.format(table="0.1 0.2 0.1 0.2", word=-0.3, phrase=0.1, distortion=0.2, lm=0.4)
    (there / "moses.ini").write_text(f"[stack]\n20\n{system}{weights}")
    singles = itertools.product(_SOURCE)
    doubles = itertools.product(_SOURCE, _SOURCE)
    triples = (tuple(_SOURCE[i] for i in rng.integers(0, _WORDS, 3)) for _ in range(9_000))
    sources = sorted({b" ".join(words) for words in itertools.chain(singles, doubles, triples)})
    table, reordering = [], []
    for source in sources:
        own = source.split()
        for _ in range(6):
            words = [_TARGET[int(word[-2:])] for word in own]
            words[rng.integers(len(own))] = _TARGET[rng.integers(_WORDS)]
            pair = b"%s ||| %s |||" % (source, b" ".join(words))
            scores = b" ".join(b"%.4f" % score for score in rng.random(4) * 0.9 + 0.05)
            links = b" ".join(b"%d-%d" % (i, i) for i in range(len(own)))
            table.append(b"%s %s ||| %s ||| 3 2 1 ||| |||" % (pair, scores, links))
            reordering.append(b"%s 0.5 0.3 0.2 0.6 0.2 0.2" % pair)
    table, reordering = (_distinct(lines) for lines in (table, reordering))
    _write(there / "phrase-table", table)
    _write(there / "short-table", table[::20])
    _write(there / "reordering", reordering)
    _write(there / "phrases", sources)
    words = [target.decode() for target in _TARGET]
    unigrams = {"<unk>": (-2.0, 0.0), "<s>": (-99, -0.3), "</s>": (-1, 0)}
    unigrams |= dict.fromkeys(words, (-1.5, -0.2))
    bigrams = {f"{word} {words[rng.integers(_WORDS)]}": (-0.9, 0.0) for word in words}
    (there / "lm.arpa").write_text(arpa_of([unigrams, bigrams]))


def _experiment() -> str:
    """Return the experiment of the hostile world, with a model that is trained for an epoch."""
    text = EXPERIMENT.replace('[[systems]]\nname = "Baseline"\n', "")
    text = text.replace("in/phrase-table", "in/short-table")
    return text.replace('"--max-epochs", "0"', '"--embedding", "8", "--max-epochs", "1"')


def _distinct(lines: list[bytes]) -> list[bytes]:
    """Return one line per pair, in the order of a table."""
    return [
        line for _, line in sorted({b" ||| ".join(x.split(b" ||| ")[:2]): x for x in lines}.items())
    ]


def _write_texts(there: Path, rng: np.random.Generator) -> None:
    sentences = [rng.integers(0, _WORDS, rng.integers(5, 12)) for _ in range(12_000)]
    sources = [b" ".join(_SOURCE[i] for i in sentence) for sentence in sentences]
    targets = [b" ".join(_TARGET[i] for i in sentence) for sentence in sentences]
    _write(there / "dev.src", sources[:150])
    _write(there / "dev.trg", targets[:150])
    _write(there / "long.src", sources[:300])
    _write(there / "longer.src", sources[:1500])
    _write(there / "pairs.tsv", [b"%s\t%s" % pair for pair in zip(sources, targets, strict=True)])
    entries = []
    for number, target in enumerate(targets[:700]):
        for rank in range(64):
            words = target.split()
            words[rank % 4] = _TARGET[(number + rank) % 5]
            entries.append(
                b"%d ||| %s  ||| LM0= -%d.5 WordPenalty0= -%d ||| -%d"
                % (number, b" ".join(words), rank % 17, len(words), rank)
            )
    _write(there / "list", entries)
    _write(there / "list.src", sources[:700])


def _write(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
