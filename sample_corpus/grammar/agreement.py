"""The features that determiners, adjectives, verbs and participles agree with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Agreement:
    """Person, number and gender of a noun phrase.

    Args:
        person: 1, 2 or 3.
        plural: Number in French.
        feminine: Gender in French.
        english_plural: Number in English, which may differ ("trousers", "advice").
    """

    person: int = 3
    plural: bool = False
    feminine: bool = False
    english_plural: bool = False


MASCULINE = Agreement()
FEMININE = Agreement(feminine=True)
MASCULINE_PLURAL = Agreement(plural=True, english_plural=True)
FEMININE_PLURAL = Agreement(plural=True, feminine=True, english_plural=True)
