"""``phrasescore compare``: are systems better than a baseline, or is it chance?"""

from __future__ import annotations

from pathlib import Path

import click

from phrasescore.commands.numbers import SEED, Whole
from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import refuse_replaced_inputs
from phrasescore.errors import SettingsError
from tuning.commands.options import (
    parse_scoring,
    parse_selection,
    scoring_options,
    selection_options,
    show_notes,
)
from tuning.metrics.metric_settings import TEST_SEED, TRIALS


@click.command("compare", context_settings={"show_default": True})
@scoring_options
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    required=True,
    metavar="[NAME=]FILE",
    help="A translation by the system that the others are compared with; repeat it for each "
    "tuning run.",
)
@click.option(
    "--system",
    "systems",
    multiple=True,
    required=True,
    metavar="[NAME=]FILE",
    help="A translation by another system; repeat it for each tuning run, with NAME= for each of "
    "several systems.",
)
@click.option("--trials", type=Whole(100, 10**7), default=TRIALS, help="Trials of each test.")
@click.option("--seed", type=SEED, default=TEST_SEED, help="Of each test.")
@selection_options
@json_options
@click.option("--markdown", "form", flag_value="markdown", help="Print a table of Markdown.")
@click.option("--latex", "form", flag_value="latex", help="Print a table of LaTeX (booktabs).")
def compare(
    references: tuple[str, ...],
    baselines: tuple[str, ...],
    systems: tuple[str, ...],
    trials: int,
    seed: int,
    picture: str | None,
    form: str | None,
    as_json: bool,
    json_file: str | None,
    **options: object,
) -> None:
    """Compare systems by the translations of several tuning runs each (Clark et al. 2011).

    Shows mean and deviation over runs and, for the gain over the baseline, a 95 % interval and a
    p-value for other sentences and other runs. Two randomisation tests stand beside them. Scores
    are printed times 100; in JSON they are 0 to 1.
    """
    selection = parse_selection({**options, "picture": picture})
    from phrasescore.pictures.figure_files import check_figure
    from tuning.metrics.system_comparison import compare_systems

    if picture is not None:
        check_figure(picture)
    named = grouped(baselines, "baseline")
    if len(named) > 1:
        raise SettingsError(
            f"two baselines: {' and '.join(named)}", remedy="give one of them as --system"
        )
    for name, files in grouped(systems, "system").items():
        if name in named:
            raise SettingsError(
                f"two systems are called {name}", remedy="give each a name with NAME=FILE"
            )
        named[name] = files
    texts = [(name, file) for name, files in named.items() for file in files]
    refuse_replaced_inputs(texts)
    found = compare_systems(
        references,
        named,
        scoring=parse_scoring(options),
        selection=selection,
        trials=trials,
        seed=seed,
    )
    show_notes(found.notes)
    if picture is not None:
        found.draw_by_length(picture)
    if not as_json:
        click.echo(getattr(found, f"to_{form or 'text'}")(), nl=False)
    print_result(found.to_json(), as_json, json_file)


def grouped(texts: tuple[str, ...], default: str) -> dict[str, list[str]]:
    """Return files by system; one without a name belongs to ``default``.

    >>> grouped(("rnn=a.s1", "csrnn=b.s1", "rnn=a.s2"), "system")
    {'rnn': ['a.s1', 'a.s2'], 'csrnn': ['b.s1']}
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        # a file whose own name has a = is still a file
        if not equals or "/" in name or Path(text).exists():
            name, path = default, text
        if not name or not path:
            raise SettingsError(f"{text!r} is not NAME=FILE", remedy="write for example rnn=a.txt")
        found.setdefault(name, []).append(path)
    return found
