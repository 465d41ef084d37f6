"""Several models as one: each word has the arithmetic mean of the probabilities that they give it.

Such a mean is a distribution again. A search sees one model, whose state is those of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from phrasescore.model.sequence_model import State, StepModel


@dataclass(frozen=True)
class EnsembleState(State):
    """What the members of an ensemble remember of B prefixes.

    Attributes:
        members: The state of each.
    """

    members: tuple[State, ...] = ()

    def gathered(self, rows: Tensor) -> EnsembleState:
        """See :meth:`State.gathered`."""
        return EnsembleState((), members=tuple(state.gathered(rows) for state in self.members))

    def followed_by(self, others: Sequence[State]) -> EnsembleState:
        """See :meth:`State.followed_by`; the others are of the same ensemble."""
        theirs = [cast(EnsembleState, other).members for other in others]
        joined = (
            state.followed_by([members[at] for members in theirs])
            for at, state in enumerate(self.members)
        )
        return EnsembleState((), members=tuple(joined))


class Ensemble(StepModel):
    """Models that are asked together.

    Args:
        members: With the same words on both sides; one may come again, and counts twice then.
    """

    def __init__(self, members: Sequence[StepModel]) -> None:
        super().__init__()
        self._members = nn.ModuleList(members)

    @property
    def members(self) -> list[StepModel]:
        """The models."""
        return [cast(StepModel, member) for member in self._members]

    def start(
        self, source: Tensor, lengths: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> tuple[EnsembleState, Tensor]:
        """See :meth:`StepModel.start`."""
        return _together([member.start(source, lengths, dtype) for member in self.members])

    def step(self, state: State, words: Tensor) -> tuple[EnsembleState, Tensor]:
        """See :meth:`StepModel.step`."""
        states = cast(EnsembleState, state).members
        pairs = zip(self.members, states, strict=True)
        return _together([member.step(its_own, words) for member, its_own in pairs])


def _together(answers: Sequence[tuple[State, Tensor]]) -> tuple[EnsembleState, Tensor]:
    """Join states, and ln p of the next words to the ln of their mean."""
    ln_p = answers[0][1]
    for _, more in answers[1:]:
        ln_p = torch.logaddexp(ln_p, more)
    state = EnsembleState((), members=tuple(state for state, _ in answers))
    return state, ln_p - math.log(len(answers))
