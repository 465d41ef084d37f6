"""Coverages (sets of translated source words), and the spans that may be translated next.

Hypotheses share coverages, so everything that depends on the coverage alone (the future cost, the
spans that may be translated next) is computed once for each coverage. The future cost of a span is
the highest future score (estimated model score) of its options or, if higher, the highest sum of
the future costs of two parts of the span (Koehn et al. 2003). Future scores include neither
distortion nor reordering models.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import Record, Records, borrowed, compiled
from phrasescore.words.hashing import fill_row_slots, find_row, with_room

_NONE = -1
_FIRST_COVERAGES = 512

COVERAGE = np.dtype(
    [
        ("estimate", np.float64),  # the future cost of the uncovered words
        ("covered", np.int32),  # how many words are covered
        ("first_gap", np.int32),  # the first uncovered word
        ("first_step", np.int32),  # the range of its steps, once `find_steps` has found them
        ("last_step", np.int32),
        ("options", np.int32),  # how many options all steps have together
        ("entries", np.int32),  # how many of its hypotheses cube pruning ever put into a stack
        ("member", np.int32),  # its best hypothesis in the sorted stack (cube pruning)
        ("members", np.int32),  # how many hypotheses it has in the sorted stack (cube pruning)
    ],
    align=True,
)
STEP = np.dtype(
    [
        ("start", np.int32),  # the span translated next, inclusive
        ("end", np.int32),
        ("coverage", np.int32),  # the coverage after the step
        ("covered", np.int32),
        ("begin", np.int32),  # the range of the options of the span
        ("stop", np.int32),
        ("estimate", np.float64),
    ],
    align=True,
)


class SentenceSpans(NamedTuple):
    """The translation options of all spans of a sentence, with future costs.

    Attributes:
        length: The number of source words.
        longest: The maximum number of words of a span with options.
        begin: The first option of each span. Element i * longest + k belongs to the span that
            starts at word i and has k + 1 words.
        stop: One after the last option of each span; equal to ``begin`` if a span has no options.
        estimates: The future cost of each span, shape (length, length).
    """

    length: int
    longest: int
    begin: NDArray[np.int32]
    stop: NDArray[np.int32]
    estimates: NDArray[np.float64]


COVERAGES_USED = np.dtype([("coverages", np.int64), ("steps", np.int64)])


class Coverages(NamedTuple):
    """The coverages found so far, with the empty coverage at index 0, and the steps from them.

    Attributes:
        records: One record per coverage.
        bits: One bit per source word, shape (capacity, words / 64).
        slots: Hash table of coverages by their bits (`hashing.find_row`), half full at most.
        steps: The steps from all coverages for which `find_steps` was called.
        scratch: The bits of the coverage to look up, shape (words / 64,).
        used: One record: how many coverages and steps are in use.
    """

    records: Records
    bits: NDArray[np.uint64]
    slots: NDArray[np.int32]
    steps: Records
    scratch: NDArray[np.uint64]
    used: Records

    @classmethod
    def new(cls, longest_sentence: int) -> Coverages:
        """Make room for the coverages of sentences of up to this many words."""
        words = (longest_sentence + 63) // 64  # 64 source words in an integer
        return cls(
            records=np.empty(_FIRST_COVERAGES, COVERAGE),
            bits=np.zeros((_FIRST_COVERAGES, words), np.uint64),
            slots=np.full(2 * _FIRST_COVERAGES, _NONE, np.int32),
            steps=np.empty(4 * _FIRST_COVERAGES, STEP),
            scratch=np.zeros(words, np.uint64),
            used=np.zeros(1, COVERAGES_USED),
        )

    def with_room(self, extra: int) -> Coverages:
        """Return the table with room for ``extra`` more coverages and ``extra`` more steps."""
        coverages, steps = self.used[0].tolist()
        bits, slots = with_room(self.bits, coverages + extra), self.slots
        # the hash table holds indices of rows, so it is rebuilt and stays at most half full
        if len(bits) > len(self.bits):
            slots = np.empty(2 * len(bits), np.int32)
            fill_row_slots(slots, bits, coverages)
        return self._replace(
            records=with_room(self.records, coverages + extra),
            bits=bits,
            slots=slots,
            steps=with_room(self.steps, steps + extra),
        )


@compiled
def close_over_splits(estimates: NDArray[np.float64]) -> None:
    """Replace the estimate of each span by the highest sum of future scores over all its splits.

    The dynamic programme proceeds from short to long spans. A span is covered by a single option,
    or by two shorter spans whose best splits are already known.

    Args:
        estimates: The highest future score of an option for the words i to j, -inf if there is no
            option, shape (n, n).
    """
    length = estimates.shape[0]
    for size in range(2, length + 1):
        for start in range(length - size + 1):
            end = start + size - 1
            for join in range(start, end):  # (start..join) and (join + 1..end)
                joined = estimates[start, join] + estimates[join + 1, end]
                estimates[start, end] = max(estimates[start, end], joined)


@compiled
def clear_coverages(table: Coverages, sentence: SentenceSpans) -> None:
    """Remove all coverages except the empty one."""
    table.slots[:] = _NONE
    table.used[0].coverages = table.used[0].steps = 0
    table.scratch[:] = 0
    _number_of(table, sentence)  # the empty coverage is number 0


@compiled
def _is_covered(bits: NDArray[np.uint64], position: int) -> bool:
    return (bits[position >> 6] >> np.uint64(position & 63)) & np.uint64(1) != 0


@compiled
def _describe(record: Record, bits: NDArray[np.uint64], estimates: NDArray[np.float64]) -> None:
    """Fill in the number of covered words, the first uncovered word, and the future cost.

    Args:
        record: The coverage.
        bits: One bit per source word, 64 per integer, shape (words / 64,).
        estimates: The future costs of all spans.
    """
    bits, estimates = borrowed((bits, estimates))
    length = estimates.shape[0]
    record.covered, record.first_gap, record.estimate = 0, length, 0.0
    gap = _NONE
    # one position beyond the end closes a gap that reaches the end
    for position in range(length + 1):
        if position < length and not _is_covered(bits, position):
            if gap == _NONE:  # a gap begins here
                gap = position
                record.first_gap = min(record.first_gap, position)
            continue
        if gap != _NONE:
            # the uncovered words between two covered ones are one span, whose best split is known
            record.estimate += estimates[gap, position - 1]
            gap = _NONE
        record.covered += position < length


@compiled
def _number_of(table: Coverages, sentence: SentenceSpans) -> int:
    """Return the index of the coverage in ``scratch``; add the coverage if it is new."""
    table, sentence = borrowed((table, sentence))
    slot = find_row(table.slots, table.bits, table.scratch)  # its slot, or a free one
    if table.slots[slot] != _NONE:
        return np.int64(table.slots[slot])
    used = table.used[0]
    number = used.coverages
    used.coverages = number + 1
    table.slots[slot] = number
    record = table.records[number]
    record.first_step = _NONE  # not searched for yet
    record.entries = 0
    _describe(record, table.scratch, sentence.estimates)
    for word in range(table.scratch.size):
        table.bits[number, word] = table.scratch[word]
    return number


@compiled
def find_steps(table: Coverages, number: int, sentence: SentenceSpans, distortion: int) -> bool:
    """Find the steps from a coverage, unless they are known.

    If a phrase does not start at the first gap, the jump from its end back to the gap must be
    within the distortion limit. The jump from the previous phrase to this one depends on the
    hypothesis, so it is tested when the hypothesis is expanded.

    Returns:
        Whether there was room; if not, `Coverages.with_room(length * longest)` makes enough.
    """
    table, sentence = borrowed((table, sentence))
    coverage = table.records[number]
    if coverage.first_step != _NONE:
        return True
    spans = sentence.length * sentence.longest  # an upper bound of the steps
    used = table.used[0]
    if used.coverages + spans > table.records.size or used.steps + spans > table.steps.size:
        return False
    coverage.first_step = used.steps
    coverage.options = 0
    first_gap = coverage.first_gap
    # words before the first gap are covered
    for start in range(first_gap, sentence.length):
        for word in range(table.scratch.size):
            # each start begins with the coverage itself; the ends then add one word at a time
            table.scratch[word] = table.bits[number, word]
        for end in range(start, min(start + sentence.longest, sentence.length)):
            if _is_covered(table.scratch, end):  # a longer span would overlap, too
                break
            if 0 <= distortion < end + 1 - first_gap and start != first_gap:
                break
            # word end / 64, bit end % 64
            table.scratch[end >> 6] |= np.uint64(1) << np.uint64(end & 63)
            coverage.options += _add_step(table, start, end, sentence)
    coverage.last_step = used.steps
    return True


@compiled
def _add_step(table: Coverages, start: int, end: int, sentence: SentenceSpans) -> int:
    """Add the step to the coverage in ``scratch``; return the number of options of its span."""
    table, sentence = borrowed((table, sentence))
    span = start * sentence.longest + end - start  # its row in `begin` and `stop`
    options = sentence.stop[span] - sentence.begin[span]
    if options > 0:
        number = _number_of(table, sentence)
        used = table.used[0]
        step = table.steps[used.steps]
        used.steps += 1
        step.start, step.end, step.coverage = start, end, number
        step.covered = table.records[number].covered
        step.estimate = table.records[number].estimate
        step.begin, step.stop = sentence.begin[span], sentence.stop[span]
    return options
