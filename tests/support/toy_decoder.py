"""A minimal decoder: it has all translations of each sentence in advance, and sorts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.nbest.format import NBestEntry
from phrasescore.runs.final_names import write_atomically

INI = b"""\
# a toy
[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory name=TM num-features=2 input-factor=0 output-factor=0 path=nowhere
[weight]
UnknownWordPenalty0= 1
WordPenalty0= 0.5
TM= 0.5 0.5
"""
_WORDS = 7


@dataclass
class ToyDecoder:
    """Translations with their features, and a record of the calls.

    Args:
        words: For each of S sentences, C translations.
        features: (S, C, 3) the features: WordPenalty0 and two of TM.
        log_text: The text that the decoder writes to its log.
        calls: The weights of each call so far.
    """

    words: Sequence[Sequence[bytes]]
    features: NDArray[np.float64]
    log_text: str = "decoded\n"
    calls: list[dict[str, tuple[float, ...]]] = field(default_factory=list)

    @classmethod
    def of(cls, references: Sequence[bytes], rng: np.random.Generator) -> ToyDecoder:
        """Make 60 translations of each reference; TM's second score falls with wrong words."""
        words, features = [], np.zeros((len(references), 60, 3))
        for sentence, reference in enumerate(references):
            right = reference.split(b" ")
            lines = []
            for number in range(60):
                wrong = rng.random(len(right)) < 0.1 * (number % 6)
                line = [b"x" if bad else word for bad, word in zip(wrong, right, strict=True)]
                lines.append(b" ".join(line))
                noise = rng.normal(size=3) * (0.0, 2.0, 0.8)
                noise += np.array([-len(right), 0.0, -0.4 * wrong.sum()])
                features[sentence, number] = noise
            words.append(lines)
        return cls(words, np.round(features, 4))

    @classmethod
    def of_all_lengths(cls, references: Sequence[bytes], rng: np.random.Generator) -> ToyDecoder:
        """Make translations of 1 to 28 words of each reference, which has seven words.

        WordPenalty0 counts words, TM's first score falls with them, and its second counts correct
        words. The start weights choose translations that are too short. Words after the seventh are
        wrong.
        """
        words, features = [], np.zeros((len(references), 84, 3))
        for sentence, reference in enumerate(references):
            right, lines = reference.split(b" "), []
            for number in range(84):
                length = 1 + number // 3
                wrong = rng.random(length) < 0.1 * (number % 3)
                line = [b"x" if bad else word for bad, word in zip(wrong, right, strict=False)]
                lines.append(b" ".join([*line, *[b"x"] * (length - len(line))]))
                matches = min(length, _WORDS) - wrong[:_WORDS].sum()
                noise = rng.normal(size=2) * 0.6
                features[sentence, number] = (
                    -length, noise[0] - 0.5 * length, noise[1] + 1.3 * matches,
                )  # fmt: skip
            words.append(lines)
        return cls(words, np.round(features, 4))

    @classmethod
    def across_a_valley(cls, references: Sequence[bytes], rng: np.random.Generator) -> ToyDecoder:
        """Make three translations: the start weights choose the first, and the third is right.

        Weights between those of the first and those of the third choose the second, which is worst.
        """
        words, features = [], np.zeros((len(references), 3, 3))
        start, far = np.array([1.0, 1.0]), np.array([1.0, -1.0])
        for sentence, reference in enumerate(references):
            right = reference.split(b" ")
            words.append([b" ".join([*right[:5], b"x"]), b"x", reference])
            table = np.array([start, 0.95 * start + 0.35 * far, far]) * rng.uniform(1, 2)
            features[sentence] = np.column_stack([np.full(3, -len(right)), table])
        return cls(words, np.round(features, 4))

    def write_nbest(
        self, weights: Mapping[str, Sequence[float]], size: int, output: Path, log: Path
    ) -> None:
        """Write the best translations of each sentence."""
        self.calls.append({name: tuple(values) for name, values in weights.items()})
        vector = np.array([*weights["WordPenalty0"], *weights["TM"]])
        totals = self.features @ vector
        entries = []
        for sentence, lines in enumerate(self.words):
            for number in np.argsort(-totals[sentence], kind="stable")[:size]:
                length, *table = self.features[sentence, number].tolist()
                entries.append(
                    NBestEntry(
                        sentence,
                        lines[number],
                        {"WordPenalty0": (length,), "TM": tuple(table)},
                        float(totals[sentence, number]),
                    )
                )
        write_atomically(log, self.log_text.encode())
        write_atomically(output, b"".join(map(NBestEntry.to_bytes, entries)))


def references(sentences: int, rng: np.random.Generator) -> list[bytes]:
    """Return random lines of seven words from a vocabulary of thirty."""
    return [
        b" ".join(b"w%d" % word for word in rng.integers(0, 30, _WORDS)) for _ in range(sentences)
    ]
