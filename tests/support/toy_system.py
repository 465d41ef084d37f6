"""A tiny Moses system, and texts whose translations depend on its weights.

Every word ``sN`` has a right translation ``rN``, which the first score of the table prefers, and a
wrong translation ``wN``, which the second score prefers. There are also phrases of two words, and a
language model that slightly prefers the wrong words. The initial weights prefer the wrong words.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from phrasescore.runs.final_names import write_atomically
from tests.support.language_models import arpa_of

_WORDS = 6
# without these options Moses crashes
_FACTORS = "input-factor=0 output-factor=0"
_INI = """\
# a toy
[input-factors]
0
[mapping]
0 T 0
[distortion-limit]
2
[search-algorithm]
0
[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=2 {factors} path={folder}/phrase-table
Distortion
KENLM name=LM0 factor=0 path={folder}/lm.arpa order=2
[weight]
UnknownWordPenalty0= 1
WordPenalty0= -0.1
PhrasePenalty0= 0.1
TranslationModel0= 0.1 0.4
Distortion0= 0.2
LM0= 0.2
"""

_EXPERIMENT = """\
name = "Toy"
seeds = [1]
[data]
folder = "{folder}"
system = "moses.ini"
phrase_table = "phrase-table"
dev_source = "dev.src"
dev_reference = "dev.trg"
[[data.test]]
name = "test"
source = "dev.src"
reference = "dev.trg"
[[systems]]
name = "Baseline"
"""

# Moses's output of -show-weights
TOY_WEIGHTS = """\
Distortion0= 0.200000
LM0= 0.200000
UnknownWordPenalty0 UNTUNEABLE
WordPenalty0= -0.100000
PhrasePenalty0= 0.100000
TranslationModel0= 0.100000 0.400000
"""


@dataclass(frozen=True)
class ToySystem:
    """The files of the system.

    Args:
        ini: The moses.ini, with absolute paths.
        source: The dev set.
        reference: The reference translation of the dev set.
    """

    ini: Path
    source: Path
    reference: Path

    def tuning(self, *more: str) -> list[str]:
        """Return the command line of ``tune`` on the dev set."""
        texts = ["--source", str(self.source), "--reference", str(self.reference)]
        return ["tune", str(self.ini), *texts, *more]

    def experiment(self) -> str:
        """Return an experiment file with one system, tuned and tested on the dev set."""
        return _EXPERIMENT.format(folder=self.ini.parent)


def write_toy_system(folder: Path, sentences: int = 12, seed: int = 1) -> ToySystem:
    """Write a system and a dev set."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(seed)
    lines = [rng.integers(0, _WORDS, rng.integers(5, 9)).tolist() for _ in range(sentences)]
    system = ToySystem(folder / "moses.ini", folder / "dev.src", folder / "dev.trg")
    _write(system.ini, [_INI.format(folder=folder, factors=_FACTORS)[:-1]])
    _write(system.source, [" ".join(f"s{word}" for word in line) for line in lines])
    # some references use the wrong word, so that no weights are perfect
    _write(
        system.reference,
        [
            " ".join(f"w{word}" if rng.random() < 0.1 else f"r{word}" for word in line)
            for line in lines
        ],
    )
    _write(folder / "phrase-table", _table())
    write_atomically(folder / "lm.arpa", _language_model().encode())
    return system


def _write(path: Path, lines: list[str]) -> None:
    write_atomically(path, "".join(line + "\n" for line in lines).encode())


def _table() -> list[str]:
    lines = []
    for word in range(_WORDS):
        lines.append(f"s{word} ||| r{word} ||| 0.7 0.2 ||| 0-0 ||| 1 1 1 ||| |||")
        lines.append(f"s{word} ||| w{word} ||| 0.2 0.7 ||| 0-0 ||| 1 1 1 ||| |||")
        lines.append(f"s{word} ||| r{word} w{word} ||| 0.1 0.1 ||| 0-0 ||| 1 1 1 ||| |||")
    for one, two in itertools.product(range(0, _WORDS, 2), range(1, _WORDS, 2)):
        lines.append(f"s{one} s{two} ||| r{one} w{two} ||| 0.3 0.5 ||| 0-0 1-1 ||| 1 1 1 ||| |||")
        lines.append(f"s{one} s{two} ||| r{one} r{two} ||| 0.6 0.1 ||| 0-0 1-1 ||| 1 1 1 ||| |||")
    return sorted(lines)


def _language_model() -> str:
    words = [f"r{word}" for word in range(_WORDS)] + [f"w{word}" for word in range(_WORDS)]
    unigrams = {"<unk>": (-2.0, 0.0), "<s>": (-99, -0.3), "</s>": (-1, 0)}
    unigrams |= {word: (-1.3 if word[0] == "r" else -1.0, -0.2) for word in words}
    bigrams = {f"<s> {word}": (-0.9, 0.0) for word in words[::3]}
    bigrams |= {f"{one} {two}": (-0.8, 0) for one, two in zip(words, words[2:], strict=False)}
    return arpa_of([unigrams, bigrams])


def toy_list(toy: ToySystem, seed: int = 1) -> bytes:
    """Return an n-best list for the dev set: 15 translations per sentence, of rising quality.

    The table's second score falls with the number of wrong words; other scores carry no signal.
    """
    rng = np.random.default_rng(seed)
    lines = []
    for sentence, text in enumerate(toy.reference.read_bytes().rstrip(b"\n").split(b"\n")):
        right = text.decode().split(" ")
        for number in range(15):
            wrong = rng.random(len(right)) < 0.3 - 0.02 * number
            words = ["x" if bad else word for bad, word in zip(wrong, right, strict=True)]
            table = f"{-rng.random():.4f} {-0.5 * wrong.sum() - rng.random():.4f}"
            lines.append(
                f"{sentence} ||| {' '.join(words)}  ||| Distortion0= {-rng.integers(4)} "
                f"LM0= {-10 * rng.random():.4f} WordPenalty0= {-len(right)} "
                f"PhrasePenalty0= {rng.integers(2, 6)} TranslationModel0= {table} "
                f"||| {-number}\n"
            )
    return "".join(lines).encode()
