"""How a build went, in lines for people."""

from __future__ import annotations

from typing import Any

from phrasescore.resuming.steps import Outcome


def outcome_line(outcome: Outcome) -> str:
    """Say in one line what a step gave and how long it took.

    >>> outcome_line(Outcome("score", {"phrase_pairs": 72310}, 2.0, resumed=False))
    'score            72,310 phrase pairs (2.0 s)'
    """
    time = "done before" if outcome.resumed else f"{outcome.seconds:.1f} s"
    return f"{outcome.name:<16} {_describe(dict(outcome.counts))} ({time})"


def outcome_notes(outcome: Outcome) -> list[str]:
    """Return what the user should look at, each with its place in the text."""
    return list(outcome.counts.get("notes", []))


def _describe(counts: dict[str, Any]) -> str:
    if "pairs_read" in counts:
        return _describe_corpus(counts)
    if "ngrams" in counts:
        ngrams = " ".join(f"{number:,}" for number in counts["ngrams"])
        return f"{ngrams} n-grams of order 1 to {len(counts['ngrams'])} by {counts['estimator']}"
    parts = [
        f"{value:,} {name.replace('_', ' ')}" if isinstance(value, int) else f"by {value}"
        for name, value in counts.items()
    ]
    return ", ".join(parts) or "written"


def _describe_corpus(counts: dict[str, Any]) -> str:
    text = f"{counts['pairs_kept']:,} of {counts['pairs_read']:,} sentence pairs kept"
    left_out = ", ".join(f"{entry['pairs']:,} {why}" for why, entry in counts["left_out"].items())
    if left_out:
        text += f" (left out: {left_out})"
    text += f", {counts['source_words']:,} and {counts['target_words']:,} words"
    if "links" in counts:
        text += f", {counts['links']:,} links, {counts['pairs_without_links']:,} pairs without any"
    return text
