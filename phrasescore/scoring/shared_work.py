"""How much of what pairs ask for is the same work."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from phrasescore.words.token_sequences import TokenSequences


@dataclass(frozen=True)
class SharedWork:
    """How many steps pairs ask for one by one, and how many are done.

    Args:
        source_asked: Words of the sources, each with its ``</s>``.
        source_done: Encoder steps.
        target_asked: Words of the targets, each with its ``</s>``.
        target_done: Normalisers, one for each distinct (source, target prefix), or, of a model that
            sees the last words only, for each distinct history.
    """

    source_asked: int = 0
    source_done: int = 0
    target_asked: int = 0
    target_done: int = 0

    @classmethod
    def unshared(cls, sources: TokenSequences, targets: TokenSequences) -> SharedWork:
        """Return the work of pairs taken one by one."""
        source, target = len(sources.tokens) + len(sources), len(targets.tokens) + len(targets)
        return cls(source, source, target, target)

    def done(self, source: int, target: int) -> SharedWork:
        """Return the same request, met with this many steps."""
        return SharedWork(self.source_asked, source, self.target_asked, target)

    @property
    def savings(self) -> tuple[float, float]:
        """How many times the work would have been done without sharing: source, target."""
        return (
            self.source_asked / max(self.source_done, 1),
            self.target_asked / max(self.target_done, 1),
        )

    def __add__(self, other: SharedWork) -> SharedWork:
        return SharedWork(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: SharedWork) -> SharedWork:
        return SharedWork(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))
