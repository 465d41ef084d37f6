"""``phrasescore analyze``: look at what a model learned."""

from __future__ import annotations

import click


@click.group("analyze")
def analyze() -> None:
    """Look at what a model learned, as section 4 of Cho et al. (2014) does."""
