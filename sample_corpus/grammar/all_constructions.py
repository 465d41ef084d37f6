"""Every construction of the grammar: importing the modules enters them in the register."""

from __future__ import annotations

from sample_corpus.grammar import (
    clock_and_dates,
    collocations,
    comparisons,
    descriptions,
    divergences,
    fixed_expressions,
    linked_clauses,
    negative_words,
    objects,
    quantities,
    questions,
    relative_clauses,
    reported_clauses,
    software,
    statements,
    verb_chains,
    weather_and_countries,
)
from sample_corpus.grammar.constructions import CONSTRUCTIONS, Construction

MODULES = (
    statements,
    objects,
    descriptions,
    comparisons,
    quantities,
    negative_words,
    questions,
    relative_clauses,
    reported_clauses,
    linked_clauses,
    verb_chains,
    divergences,
    clock_and_dates,
    weather_and_countries,
    collocations,
    fixed_expressions,
    software,
)


def all_constructions() -> tuple[Construction, ...]:
    """Return every construction, in the order of ``MODULES`` and of their lines."""
    return tuple(
        found
        for module in MODULES
        for found in CONSTRUCTIONS
        if found.build.__module__ == module.__name__
    )
