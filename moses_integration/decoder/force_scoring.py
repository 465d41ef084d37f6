"""Recomputes every feature of the derivations in an n-best list, and compares the values.

No search is involved: the phrases of each candidate are looked up in the tables, and every feature
is computed from these phrases by its definition.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.derivations import Derivations
from moses_integration.decoder.features.neural import HistoryScores, products_on_one_core
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.loading.source_phrases import child
from moses_integration.decoder.rescoring import as_listed
from moses_integration.ini.feature_weights import listed_sizes
from moses_integration.nbest.format import NBestEntry, PhraseSpan, phrase_spans, read_nbest_lists
from phrasescore.errors import NBestError, counted, located
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress
from phrasescore.table.phrase_table import words_of
from phrasescore.words.token_sequences import offsets_of

_ROUNDING = 5e-6  # relative; a list has six digits of each number
_OTHER_SYSTEM = "name the moses.ini and the input that the list was made with"


@dataclass
class ListComparison:
    """The differences between a list and the recomputed values.

    Args:
        tolerance: Differences up to this size are not counted, besides what six digits leave out.
        beyond: The number of lines with a difference above the tolerance.
        largest: The largest difference of each feature and of the total, with its line; the
            difference is infinite if a value is not a number.
    """

    tolerance: float
    beyond: int = 0
    largest: dict[str, tuple[float, int]] = field(default_factory=dict)

    def add(self, line: int, listed: NBestEntry, recomputed: NBestEntry) -> None:
        """Compare one line; ``line`` is its 1-based number.

        Raises:
            NBestError: The list and the system have different features.
        """
        found, expected = (
            {**entry.features, "total": (entry.total,)} for entry in (listed, recomputed)
        )
        sizes, of_system = (
            listed_sizes({name: len(values[name]) for name in sorted(values)})
            for values in (found, expected)
        )
        if sizes != of_system:
            raise NBestError(
                f"the list has the features {sizes}, and the system {of_system}",
                remedy=_OTHER_SYSTEM,
            )
        off = 0.0
        for name, values in expected.items():
            differences = np.abs(np.subtract(found[name], values))
            beyond = differences - _ROUNDING * np.abs(values)
            size = float(np.nan_to_num(differences, nan=np.inf).max(initial=0.0))
            if size >= self.largest.get(name, (0.0, 0))[0]:
                self.largest[name] = size, line
            off = max(off, float(np.nan_to_num(beyond, nan=np.inf).max(initial=0.0)))
        self.beyond += off > self.tolerance


class ForcedScorer:
    """Scores given derivations of one input.

    Args:
        loaded: The input with its table entries.
        weights: The weights in the order of the feature vector, shape (F,). They determine the
            totals. If several tables have the same pair, the entry with the highest weighted score
            is used. Entries beyond the table limit are used only if no other entry has the pair:
            a search with these weights lacks them, as in Moses, but the list may come from a
            search with other weights.
        second: The names of the features of the system's ``rescoring.json``, whose values stay,
            and the second weights of all features, which determine the totals.
    """

    def __init__(
        self,
        loaded: LoadedInput,
        weights: NDArray[np.float64],
        second: tuple[Sequence[str], NDArray[np.float64]] | None = None,
    ) -> None:
        self.loaded, self._weights, self._second = loaded, weights, second
        tables = loaded.tables
        self._static = tables.static @ weights[tables.static_components]
        self._is_option = np.zeros(len(loaded.entries), bool)
        self._is_option[loaded.model(weights).options.entry] = True
        self._entries: dict[int, dict[bytes, int]] = {}
        self._scores = HistoryScores(loaded.neural)

    def score(self, entries: Sequence[NBestEntry], path: str, first: int) -> list[NBestEntry]:
        """Return candidates of one sentence with recomputed features and totals.

        Args:
            entries: The candidates.
            path: The list that contains them, for errors.
            first: The 1-based line number of the first candidate, for errors.

        Raises:
            NBestError: A candidate has no segmentation, its segmentation does not fit the
                sentence, or one of its phrase pairs is in no table.
        """
        spans = []
        for line, entry in enumerate(entries, first):
            with located(path, line):
                spans.append(self._spans(entry))
        phrases = [phrase for one in spans for phrase in one]
        derivations = Derivations(
            offsets_of([len(one) for one in spans]),
            np.array([number for number, _ in phrases], np.int32),
            np.array([span.first for _, span in phrases], np.int32),
            np.array([span.end - 1 for _, span in phrases], np.int32),
        )
        self._scores.clear()
        features = self.loaded.feature_values(derivations, self._scores)
        totals = (features @ self._weights).tolist()
        return list(map(self._recomputed, entries, features, totals))

    def _recomputed(
        self, entry: NBestEntry, values: NDArray[np.float64], total: float
    ) -> NBestEntry:
        """Return a candidate with recomputed features, and the second scores of the list."""
        layout = self.loaded.system.features.layout
        features = layout.nbest.unflatten(values[layout.tuneable])
        if self._second is not None and set(self._second[0]) <= entry.features.keys():
            features |= {name: entry.features[name] for name in self._second[0]}
            listed = np.array([[each for values in features.values() for each in values]])
            total = float((as_listed(listed) @ self._second[1])[0])
        return replace(entry, features=features, total=total)

    def _spans(self, entry: NBestEntry) -> list[tuple[int, PhraseSpan]]:
        sentences = self.loaded.source.sentences
        if entry.sentence >= len(sentences):
            raise NBestError(
                f"sentence {entry.sentence} (counted from 0), but the input has "
                f"{counted(len(sentences), 'line')}",
                remedy=_OTHER_SYSTEM,
            )
        source = sentences[entry.sentence]
        spans, words = phrase_spans(words_of(entry.words), entry.segmentation, len(source))
        if entry.segmentation is None and any(span.begin == span.stop for span in spans):
            raise NBestError(
                "marks do not say where source words without translation were used",
                remedy="make the list with -include-segmentation-in-n-best",
            )
        return [
            (self._entry(source[span.first : span.end], words[span.begin : span.stop]), span)
            for span in spans
        ]

    def _entry(self, source: NDArray[np.int32], target: Sequence[bytes]) -> int:
        """Return the table entry of a phrase pair."""
        phrase = 0
        for word in source.tolist():
            phrase = child(self.loaded.source.trie, phrase, word) if phrase >= 0 else -1
        text = b" ".join(target)
        found = self._targets(phrase).get(text) if phrase >= 0 else None
        if found is None:
            names = self.loaded.source.words
            pair = b" ".join(names.word(int(word)) for word in source) + b" ||| " + text
            raise NBestError(
                f"no phrase table has {pair.decode('utf-8', 'replace')!r}", remedy=_OTHER_SYSTEM
            )
        return found

    def _targets(self, phrase: int) -> dict[bytes, int]:
        """Return the entries of a source phrase by their target words."""
        if phrase not in self._entries:
            begin, end = self.loaded.entries.first[phrase : phrase + 2].tolist()
            # the preferred entry comes last and overwrites the others
            order = begin + np.lexsort((self._static[begin:end], self._is_option[begin:end]))
            self._entries[phrase] = {
                b" ".join(self.loaded.target_words(number)): number for number in order.tolist()
            }
        return self._entries[phrase]


def force_score(
    scorer: ForcedScorer, path: str, output: str | None, comparison: ListComparison | None
) -> int:
    """Recompute a list.

    Args:
        scorer: The scorer for the input of the list.
        path: The list.
        output: The recomputed list, which appears when it is complete; ``None`` to write no list.
        comparison: Collects the differences; ``None`` to compare nothing.

    Returns:
        The number of lines.

    Raises:
        NBestError: The list is damaged or comes from another system; the error names the line.
    """
    lines = 0
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress("scoring", unit="lines"))
        stack.enter_context(products_on_one_core(scorer.loaded.neural))
        writer = stack.enter_context(open_output(output)) if output is not None else None
        for _, entries in read_nbest_lists(path):
            scored = zip(entries, scorer.score(entries, path, lines + 1), strict=True)
            for number, (entry, new) in enumerate(scored, lines + 1):
                if writer is not None:
                    writer.write(new.to_bytes())
                if comparison is not None:
                    with located(path, number):
                        comparison.add(number, entry, new)
            lines += len(entries)
            progress.advance(len(entries))
    return lines
