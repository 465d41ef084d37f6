"""Models that translate sentences, alone or as an ensemble.

In an ensemble, the probability of each word is the arithmetic mean over the models; the means are
again a distribution. A search uses the ensemble like a single model. Its state consists of the
states of all members.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from phrasescore.errors import ModelError
from phrasescore.model.folder import LoadedModel, load_model
from phrasescore.model.kinds import kind_named
from phrasescore.model.networks.attention_model import AttentionModel
from phrasescore.model.sequence_model import State, StepModel


@dataclass(frozen=True)
class EnsembleState(State):
    """The states of the members of an ensemble after B prefixes.

    Attributes:
        members: The state of each member.
    """

    members: tuple[State, ...] = ()

    def gathered(self, rows: Tensor) -> EnsembleState:
        """See :meth:`State.gathered`."""
        return EnsembleState((), members=tuple(state.gathered(rows) for state in self.members))

    def followed_by(self, others: Sequence[State]) -> EnsembleState:
        """See :meth:`State.followed_by`; all states belong to the same ensemble."""
        theirs = [cast(EnsembleState, other).members for other in others]
        joined = (
            state.followed_by([members[at] for members in theirs])
            for at, state in enumerate(self.members)
        )
        return EnsembleState((), members=tuple(joined))


class Ensemble(StepModel):
    """A model that averages the probabilities of other models.

    Args:
        members: Models with the same vocabularies; a model that is given twice counts twice.
    """

    def __init__(self, members: Sequence[StepModel]) -> None:
        super().__init__()
        self.members = list(members)
        self._registered = nn.ModuleList(members)  # so that all of them move to a device

    def start(
        self, source: Tensor, lengths: Tensor, dtype: torch.dtype
    ) -> tuple[EnsembleState, Tensor]:
        """See :meth:`StepModel.start`."""
        return _averaged([member.start(source, lengths, dtype) for member in self.members])

    def step(self, state: State, words: Tensor) -> tuple[EnsembleState, Tensor]:
        """See :meth:`StepModel.step`."""
        states = cast(EnsembleState, state).members
        pairs = zip(self.members, states, strict=True)
        return _averaged([member.step(own_state, words) for member, own_state in pairs])


def _averaged(answers: Sequence[tuple[State, Tensor]]) -> tuple[EnsembleState, Tensor]:
    """Return the joined states of the members, and the ln of the mean p of each next word."""
    ln_p = answers[0][1]
    for _, more in answers[1:]:
        ln_p = torch.logaddexp(ln_p, more)
    state = EnsembleState((), members=tuple(state for state, _ in answers))
    return state, ln_p - math.log(len(answers))


@dataclass(frozen=True)
class SentenceModels:
    """One model of sentences, or several with the same vocabularies.

    Attributes:
        loaded: The models in the order given; a model may occur twice.
    """

    loaded: tuple[LoadedModel, ...]

    @property
    def asked(self) -> StepModel:
        """The model for a search: the only model, or an ensemble of all models."""
        if len(self.loaded) == 1:
            return self.first.model
        return Ensemble([each.model for each in self.loaded])

    @property
    def aligning(self) -> tuple[AttentionModel, ...]:
        """The models with attention."""
        models = (each.model for each in self.loaded if kind_named(each.settings.kind).aligns)
        return tuple(model for model in models if isinstance(model, AttentionModel))

    @property
    def first(self) -> LoadedModel:
        """The first model; all models have the same vocabularies, direction and factor."""
        return self.loaded[0]

    def must_align(self, purpose: str) -> None:
        """Check that at least one model has attention.

        Args:
            purpose: The feature that needs attention, e.g. ``--replace-unknown``.

        Raises:
            ModelError: No model has attention.
        """
        if not self.aligning:
            raise self.first.unsuitable_kind(
                f"aligns no words, but {purpose} needs an alignment",
                "name a model trained with --kind search",
            )


def load_sentence_models(folders: Sequence[str]) -> SentenceModels:
    """Load one or more models that translate.

    Raises:
        ModelError: A folder is not a complete model, its model does not translate sentences, or
            models have different vocabularies, factors or directions.
    """
    by_folder = {folder: load_model(folder) for folder in folders}
    for each in by_folder.values():
        each.must_read_a_source()
        if not kind_named(each.settings.kind).of_sentences:
            raise each.unsuitable_kind(
                "does not translate sentences",
                "name one trained with --kind search or encdec; phrasescore generate writes the "
                "targets of a phrase model",
            )
        _must_fit(each, by_folder[folders[0]])
    return SentenceModels(tuple(by_folder[folder] for folder in folders))


def _must_fit(loaded: LoadedModel, first: LoadedModel) -> None:
    for what, ours, theirs in (
        ("direction", loaded.settings.direction, first.settings.direction),
        ("factor", loaded.settings.factor, first.settings.factor),
        ("source vocabulary", loaded.source_vocabulary, first.source_vocabulary),
        ("target vocabulary", loaded.target_vocabulary, first.target_vocabulary),
    ):
        if ours != theirs:
            raise ModelError(
                f"the {what} is not that of {first.path}, so the two cannot translate together",
                path=loaded.path,
                remedy="train both on the same texts with the same --direction, --source-words and "
                "--target-words, but with different --seed",
            )
