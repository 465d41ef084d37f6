"""Which sentence goes where: training, dev and test, with nothing shared and some things unseen.

A *combination* is a meeting of two content words that a sentence noted: a verb and its object, an
adjective and its noun, an expression and its subject. Each combination belongs, by a hash of its
words, to training, dev or test. A sentence may go to dev only if it has a dev combination (which
no training sentence has) or was put aside at random; both words of the combination are in the
training text all the same, elsewhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sample_corpus.grammar.text import Text

_WORD = re.compile(r"[^\W_]+")
# one combination in this many is held out for dev, and another for test
_ONE_IN = 16
TRAIN, DEV, TEST = "train", "dev", "test"


@dataclass(frozen=True)
class Sentence:
    """A sentence pair and the combinations of words in it."""

    text: Text
    combinations: tuple[str, ...] = ()


def normalised(sentence: str) -> str:
    """Return the words alone: what two sentences share if they differ in case or punctuation."""
    return " ".join(_WORD.findall(sentence.lower()))


def home_of(combination: str) -> str:
    """Return the split a combination belongs to, the same on every machine."""
    digest = hashlib.sha256(combination.encode()).digest()
    return {0: DEV, 1: TEST}.get(int.from_bytes(digest[:4], "big") % _ONE_IN, TRAIN)


def split_of(sentence: Sentence) -> str | None:
    """Return where a sentence must go, or nothing if it has combinations of two held-out splits."""
    homes = {home_of(combination) for combination in sentence.combinations} - {TRAIN}
    if not homes:
        return TRAIN
    return homes.pop() if len(homes) == 1 else None


def without_repeats(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Leave out every sentence of which either side has been seen, whatever its punctuation."""
    seen: set[str] = set()
    for sentence in sentences:
        sides = {
            "en " + normalised(sentence.text.english),
            "fr " + normalised(sentence.text.french),
        }
        if seen & sides:
            continue
        seen |= sides
        yield sentence


def only_known_words(sentences: Sequence[Sentence], training: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences whose English words all occur in the training text."""
    known = {word for s in training for word in normalised(s.text.english).split(" ")}
    return [s for s in sentences if set(normalised(s.text.english).split(" ")) <= known]
