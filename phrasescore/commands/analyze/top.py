"""``phrasescore analyze top``: the targets that table and model prefer, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from phrasescore.commands.numbers import BEAM, COLUMN, ITEMS, SEED, THREADS, WORDS, Whole
from phrasescore.commands.options import device_option, json_options, print_result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT
from phrasescore.errors import SettingsError, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phrasescore.analysis.targets.preferences import Preferences
    from phrasescore.analysis.targets.source_drawing import Draw, DrawSettings
    from phrasescore.model.folder import LoadedModel


@click.command("top")
@click.argument("table", type=INPUT)
@click.option(
    "--model", "folder", required=True, type=INPUT_FOLDER, metavar="FOLDER", help="A model folder."
)
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
@click.option(
    "--seed",
    type=SEED,
    metavar="N",
    default=1,
    show_default=True,
    help="For the sources and the samples.",
)
@click.option("--no-unknown", is_flag=True, help="No <unk> in samples.")
@device_option
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
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

    import torch

    from phrasescore.analysis.targets.preferences import PreferenceSettings, find_preferences
    from phrasescore.analysis.targets.source_drawing import DrawSettings
    from phrasescore.analysis.targets.tables import json_values, written
    from phrasescore.model.folder import load_model
    from phrasescore.model.kinds import must_write_targets
    from phrasescore.runs.final_names import write_atomically
    from phrasescore.runs.identity import provenance

    if threads is not None:
        torch.set_num_threads(threads)
    given = {name: value for name, value in asked.items() if value is not None}
    settings = DrawSettings(**given, seed=seed)
    _check(settings, sources, given)
    loaded = load_model(folder)
    must_write_targets(loaded.model.settings, folder)
    draw = _draw(table, column, loaded, settings, sources)
    shown = PreferenceSettings(best, samples, seed=seed, unknown=not no_unknown)
    preferences = find_preferences(loaded, draw.sources, shown, device)
    write_atomically(output, written(preferences, output))
    figures = _tell(draw, preferences, settings)
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


def _draw(
    table: str, column: int, loaded: LoadedModel, settings: DrawSettings, sources: str | None
) -> Draw:
    from phrasescore.analysis.targets.source_drawing import draw_sources, find_sources, read_phrases

    factor = loaded.model.settings.factor
    if sources is None:
        return draw_sources(table, column, factor, settings)
    return find_sources(table, column, factor, read_phrases(sources))


def _tell(
    draw: Draw, preferences: Sequence[Preferences], settings: DrawSettings
) -> dict[str, dict[str, Any]]:
    """Say what was drawn, from how many, and what it has in common; return that by group."""
    import dataclasses

    from phrasescore.analysis.targets.figures import ListFigures

    meaning = {
        "frequent": f"extracted {settings.frequent:,} times or more",
        "rare": f"extracted {settings.rare:,} times or less",
        "long": "without counts",
    }
    long = f"of at least {counted(settings.min_words, 'word')} with at least "
    long += counted(settings.min_targets, "target")
    by_group: dict[str, dict[str, Any]] = {}
    for group, among in draw.among.items():
        members = [each for each in preferences if each.source.group == group]
        drawn = len(members)
        if group == "given":
            click.echo(f"{among:,} of {drawn:,} sources are in the table", err=True)
        elif among or (group != "long" and not draw.among["long"]):
            click.echo(f"{drawn:,} of {among:,} sources {long}, {meaning[group]}", err=True)
        found = ListFigures.of(members)
        if found is not None:
            click.echo(str(found), err=True)
            by_group[group] = dataclasses.asdict(found)
    return by_group
