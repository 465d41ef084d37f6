"""``phrasescore analyze``: look at what a model learned."""

from __future__ import annotations

import click

from phrasescore.commands.analyze.map import map_command
from phrasescore.commands.analyze.scatter import scatter
from phrasescore.commands.analyze.top import top
from phrasescore.commands.analyze.vectors import vectors


@click.group("analyze")
def analyze() -> None:
    """Look at what a model learned, as section 4 of Cho et al. (2014) does."""


analyze.add_command(top)
analyze.add_command(scatter)
analyze.add_command(map_command)
analyze.add_command(vectors)
