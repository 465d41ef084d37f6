"""``phrasescore analyze top``: the targets that table and model prefer, side by side."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from phrasescore.commands.declarations import argument, command, flag, option
from phrasescore.commands.numbers import BEAM, COLUMN, ITEMS, SEED, WORDS, Whole
from phrasescore.commands.options import MODEL, Computing, Result
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from phrasescore.analysis.top import DrawSettings

# options about drawing sources, which --sources gives
_DRAWING = ("phrases", "min_words", "min_targets", "frequent", "rare")


class TopOptions(Computing, Result):
    """Options of ``analyze top``."""

    table: str = argument(INPUT)
    model: str = MODEL
    output: str = option(
        OUTPUT,
        "Where to write; Markdown if the name ends in .md, otherwise TSV.  "
        "[default: standard output]",
        "-o",
        default="-",
    )
    sources: str | None = option(
        INPUT, "Source phrases to look at instead of drawn ones, one a line."
    )
    phrases: int | None = option(Whole(1, 100_000), "Sources to draw of each group.  [default: 10]")
    min_words: int | None = option(
        WORDS, "The least words of a source that is drawn.  [default: 4]"
    )
    min_targets: int | None = option(
        ITEMS, "The least targets that the table has for a source that is drawn.  [default: 2]"
    )
    frequent: int | None = option(
        ITEMS, "How often a frequent source was extracted at least.  [default: 10]"
    )
    rare: int | None = option(ITEMS, "How often a rare source was extracted at most.  [default: 3]")
    column: int = option(COLUMN, "The score that is p(target|source), counted from 1.", default=3)
    best: int = option(BEAM, "Targets of each list.", default=3)
    samples: int = option(
        Whole(1, 100_000),
        "Targets to draw from the model for each source; the five best distinct ones are shown.",
        default=50,
    )
    seed: int = option(SEED, "For the sources and the samples.", default=1)
    no_unknown: bool = flag("No <unk> in samples.")


@command("top", TopOptions)
def top(options: TopOptions) -> None:
    """Show which targets TABLE prefers, which the model, and which the model writes itself.

    As in tables 2 and 3 of Cho et al. (2014): for long source phrases with several targets,
    frequent and rare ones drawn at random, the best targets by p(target|source) of TABLE, the best
    of the same candidates by the model, and the best of 50 samples from the model, with how often
    each was drawn.

    How often a source was extracted stands in the fifth column of TABLE. Of sources without such
    counts there is one group of long ones. TABLE is plain, .gz, or - for standard input, and sorted
    as Moses sorts it (LC_ALL=C); it is read once, in flat memory.
    """
    from phrasescore.analysis.top import (
        DrawSettings,
        PreferenceSettings,
        draw_sources,
        find_preferences,
        find_sources,
        read_phrases,
    )
    from phrasescore.analysis.top_results import json_values, summarised, written
    from phrasescore.model.folder import load_model
    from phrasescore.model.kinds import must_write_targets
    from phrasescore.runs.final_names import write_atomically

    options.use_threads()
    given = {name: value for name in _DRAWING if (value := vars(options)[name]) is not None}
    settings = DrawSettings(**given, seed=options.seed)
    _check(settings, options.sources, given)
    loaded = load_model(options.model)
    must_write_targets(loaded.model.settings, options.model)
    table, column, factor = options.table, options.column, loaded.model.settings.factor
    if options.sources is None:
        draw = draw_sources(table, column, factor, settings)
    else:
        draw = find_sources(table, column, factor, read_phrases(options.sources))
    shown = options.settings(PreferenceSettings, unknown=not options.no_unknown)
    preferences = find_preferences(loaded, draw.sources, shown, options.device)
    write_atomically(options.output, written(preferences, options.output))
    lines, figures = summarised(draw, preferences, settings)
    for line in lines:
        click.echo(line, err=True)
    used = {"column": column, **dataclasses.asdict(settings), **dataclasses.asdict(shown)}
    result = {
        "drawn_from": draw.among,
        "figures": figures,
        "sources": json_values(preferences),
        "provenance": provenance(inputs=[table], settings={**used, "model": loaded.digest}),
    }
    options.show(result)


def _check(settings: DrawSettings, sources: str | None, given: dict[str, int]) -> None:
    """Raise for options that do not go together."""
    if sources is not None and given:
        option = f"--{next(iter(given)).replace('_', '-')}"
        raise SettingsError(
            f"{option} is about drawing sources, and --sources gives them",
            remedy=f"leave out {option} or --sources",
        )
    if settings.rare >= settings.frequent:
        raise SettingsError(
            f"a source that was extracted {settings.rare:,} times would be both rare and frequent",
            remedy="give a --frequent above --rare",
        )
