"""``phrasescore analyze top``: the targets that table and model prefer, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from phrasescore.commands.analyze.options import (
    compute_options,
    model_option,
    seed_option,
    use_threads,
)
from phrasescore.commands.numbers import BEAM, COLUMN, ITEMS, WORDS, Whole
from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError

if TYPE_CHECKING:
    from phrasescore.analysis.top import DrawSettings


@click.command("top")
@click.argument("table", type=INPUT)
@model_option()
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="FILE",
    default="-",
    help="Where to write; Markdown if the name ends in .md, otherwise TSV.  "
    "[default: standard output]",
)
@click.option(
    "--sources",
    type=INPUT,
    metavar="FILE",
    help="Source phrases to look at instead of drawn ones, one a line.",
)
@click.option(
    "--phrases",
    type=Whole(1, 100_000),
    metavar="N",
    help="Sources to draw of each group.  [default: 10]",
)
@click.option(
    "--min-words",
    type=WORDS,
    metavar="N",
    help="The least words of a source that is drawn.  [default: 4]",
)
@click.option(
    "--min-targets",
    type=ITEMS,
    metavar="N",
    help="The least targets that the table has for a source that is drawn.  [default: 2]",
)
@click.option(
    "--frequent",
    type=ITEMS,
    metavar="N",
    help="How often a frequent source was extracted at least.  [default: 10]",
)
@click.option(
    "--rare",
    type=ITEMS,
    metavar="N",
    help="How often a rare source was extracted at most.  [default: 3]",
)
@click.option(
    "--column",
    type=COLUMN,
    metavar="N",
    default=3,
    show_default=True,
    help="The score that is p(target|source), counted from 1.",
)
@click.option(
    "--best", type=BEAM, metavar="N", default=3, show_default=True, help="Targets of each list."
)
@click.option(
    "--samples",
    type=Whole(1, 100_000),
    metavar="N",
    default=50,
    show_default=True,
    help="Targets to draw from the model for each source; the five best distinct ones are shown.",
)
@seed_option("For the sources and the samples.")
@click.option("--no-unknown", is_flag=True, help="No <unk> in samples.")
@compute_options
@json_options
def top(
    table: str,
    folder: str,
    output: str,
    sources: str | None,
    column: int,
    best: int,
    samples: int,
    seed: int,
    no_unknown: bool,
    device: str,
    threads: int | None,
    as_json: bool,
    json_file: str | None,
    **asked: int | None,
) -> None:
    """Show which targets TABLE prefers, which the model, and which the model writes itself.

    As in tables 2 and 3 of Cho et al. (2014): for long source phrases with several targets,
    frequent and rare ones drawn at random, the best targets by p(target|source) of TABLE, the best
    of the same candidates by the model, and the best of 50 samples from the model, with how often
    each was drawn.

    How often a source was extracted stands in the fifth column of TABLE. Of sources without such
    counts there is one group of long ones. TABLE is plain, .gz, or - for standard input, and sorted
    as Moses sorts it (LC_ALL=C); it is read once, in flat memory.
    """
    import dataclasses

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
    from phrasescore.runs.identity import provenance

    use_threads(threads)
    given = {name: value for name, value in asked.items() if value is not None}
    settings = DrawSettings(**given, seed=seed)
    _check(settings, sources, given)
    loaded = load_model(folder)
    must_write_targets(loaded.model.settings, folder)
    factor = loaded.model.settings.factor
    if sources is None:
        draw = draw_sources(table, column, factor, settings)
    else:
        draw = find_sources(table, column, factor, read_phrases(sources))
    shown = PreferenceSettings(best, samples, seed=seed, unknown=not no_unknown)
    preferences = find_preferences(loaded, draw.sources, shown, device)
    write_atomically(output, written(preferences, output))
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
    print_result(result, as_json, json_file)


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
