"""What ``build`` left: how large the system is, and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phrasescore.files.json_files import read_object
from tuning.report.contents import Results, Spent
from tuning.report.readers.reading import DAMAGE, why_not


def read_system(folder: Path, name: str) -> Results:
    """Read the folder of a built system.

    Args:
        folder: As ``build`` names it.
        name: What to call it.
    """
    try:
        steps = read_object(folder / "report.json")["steps"]
        provenance = read_object(folder / "provenance.json")
        return Results(
            name,
            facts=_facts(steps, name),
            spent=tuple(
                Spent(f"building {name}: {step}", float(counts["seconds"]))
                for step, counts in steps.items()
            ),
            provenances={f"system {name}": provenance},
        )
    except (OSError, *DAMAGE) as error:
        return Results(name, notes=(why_not(folder / "report.json", error),))


def _facts(steps: Mapping[str, Any], name: str) -> dict[str, str]:
    facts = {}
    if corpus := steps.get("corpus"):
        facts["corpus"] = (
            f"{corpus['pairs_kept']:,} pairs of sentences, {corpus['source_words']:,} source and "
            f"{corpus['target_words']:,} target words"
        )
    if scored := steps.get("score"):
        facts[name] = f"{scored['phrase_pairs']:,} phrase pairs"
    return facts
