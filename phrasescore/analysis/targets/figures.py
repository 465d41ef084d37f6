"""What the lists of many sources have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phrasescore.analysis.targets.preferences import Preferences, Preferred
from phrasescore.table.phrase_table import phrase_tokens


@dataclass(frozen=True)
class ListFigures:
    """Figures over the sources of a group.

    Args:
        sources: How many.
        tied: The share of those whose best p in the table two targets have, or more.
        same_best: The share, among the others with two targets or more, of those whose best target
            is the same by the model; ``None`` where there are no others.
        table_words: The mean length of the best target by the table.
        model_words: That of the best by the model.
        sample_words: That of the best sample.
        new: The share whose best sample is no target of the table.
    """

    sources: int
    tied: float
    same_best: float | None
    table_words: float
    model_words: float
    sample_words: float
    new: float

    @classmethod
    def of(cls, lists: Sequence[Preferences]) -> ListFigures | None:
        """Look at the sources that the table has; ``None`` if there are none."""
        known = [each for each in lists if each.by_table]
        if not known:
            return None
        several = [each for each in known if len(each.source.candidates) > 1]
        tied = [each for each in several if _is_tied(each)]
        clear = [each for each in several if not _is_tied(each)]
        same = sum(each.by_table[0].target == each.by_model[0].target for each in clear)
        new = sum(each.samples[0].target not in _targets(each) for each in known)
        return cls(
            len(known),
            len(tied) / len(known),
            same / len(clear) if clear else None,
            _mean_words([each.by_table[0] for each in known]),
            _mean_words([each.by_model[0] for each in known]),
            _mean_words([each.samples[0] for each in known]),
            new / len(known),
        )

    def __str__(self) -> str:
        same = "" if self.same_best is None else f"the same best target for {self.same_best:.0%}; "
        return (
            f"{same}the table's is tied for {self.tied:.0%}\n"
            f"words of the best: {self.table_words:.2f} by the table, {self.model_words:.2f} by "
            f"the model, {self.sample_words:.2f} of samples, of which {self.new:.0%} are new to "
            "the table"
        )


def _is_tied(lists: Preferences) -> bool:
    p = sorted((candidate.p for candidate in lists.source.candidates), reverse=True)
    return p[0] == p[1]


def _targets(lists: Preferences) -> set[bytes]:
    return {candidate.target for candidate in lists.source.candidates}


def _mean_words(best: Sequence[Preferred]) -> float:
    return sum(len(phrase_tokens(each.target)) for each in best) / len(best)
