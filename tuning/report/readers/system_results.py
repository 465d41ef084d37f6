"""What ``build`` left: how large the system is, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from phrasescore.errors import PhrasescoreError
from tuning.report.contents import Provenance, Results, Spent
from tuning.report.readers.reading import Count, ResultFiles, Seconds, left_out


@dataclass(frozen=True)
class _Step:
    """A step, as far as a report shows it; each kind of step has some of the counts."""

    seconds: Seconds
    pairs_kept: Count = 0
    source_words: Count = 0
    target_words: Count = 0
    phrase_pairs: Count = 0


@dataclass(frozen=True)
class _Build:
    """``report.json``."""

    steps: dict[str, _Step]


def read_system(folder: Path, name: str, files: ResultFiles) -> Results:
    """Read the folder of a built system.

    Args:
        folder: As ``build`` names it.
        name: What to call it.
        files: Those that may be read.
    """
    try:
        steps = files.read(_Build, folder / "report.json").steps
        provenance = files.read(Provenance, folder / "provenance.json")
    except PhrasescoreError as error:
        return Results(name, notes=(left_out(error),))
    facts = {}
    if corpus := steps.get("corpus"):
        facts["corpus"] = (
            f"{corpus.pairs_kept:,} pairs of sentences, {corpus.source_words:,} source and "
            f"{corpus.target_words:,} target words"
        )
    if scored := steps.get("score"):
        facts[name] = f"{scored.phrase_pairs:,} phrase pairs"
    spent = (Spent(f"building {name}: {step}", each.seconds) for step, each in steps.items())
    return Results(
        name, facts=facts, spent=tuple(spent), provenances={f"system {name}": provenance}
    )
