"""``phrasescore build``: a Moses-format system from parallel text."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from moses_integration.system_building.build_settings import (
    LONGEST_PHRASE,
    BuildInputs,
    BuildSettings,
    SystemFolder,
)
from phrasescore.commands.numbers import THREADS, WORDS, Whole
from phrasescore.commands.paths import PathName, Use

if TYPE_CHECKING:
    from phrasescore.runs.steps import Outcome

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LEAST_MEMORY, _MOST_MEMORY = 16 << 20, 10**6 << 30


class Memory(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """An amount of memory such as 512M or 2G, in bytes."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Parse it."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([0-9]{1,18})([KMG])", str(value).upper())
        if match is None:
            self.fail(f"{value} is not a size such as 512M or 2G", param, ctx)
        size = int(match[1]) * _UNITS[match[2]]
        if size < _LEAST_MEMORY:
            self.fail(f"{value} is too little: give at least 16M", param, ctx)
        if size > _MOST_MEMORY:
            self.fail(f"{value} is too much: give at most 1000000G", param, ctx)
        return size


@click.command("build", context_settings={"show_default": True})
@click.argument("source", type=PathName(Use.READ, Path))
@click.argument("target", type=PathName(Use.READ, Path))
@click.argument("system", type=PathName(Use.WRITE_FOLDER, Path))
@click.option(
    "--tokenize",
    nargs=2,
    metavar="LANGUAGE LANGUAGE",
    help="Tokenise and escape as Moses does, e.g. en fr; without it, text stays as it is.",
)
@click.option("--lowercase", is_flag=True, help="Lower-case the text.")
@click.option(
    "--alignment",
    type=PathName(Use.READ, Path),
    help="A word alignment of SOURCE and TARGET (lines such as 0-0 1-2 2-1).",
)
@click.option(
    "--aligner",
    default=BuildSettings.aligner,
    help="What aligns words in both directions: the models fast_align, hmm and eflomal of the "
    "extra alignment, or program:fast_align or program:eflomal-align on PATH.",
)
@click.option(
    "--max-phrase-length",
    type=Whole(1, LONGEST_PHRASE),
    default=BuildSettings.max_phrase_length,
    metavar="WORDS",
)
@click.option("--lm-order", type=Whole(1, 6), default=BuildSettings.lm_order, metavar="N")
@click.option(
    "--lmplz",
    default=BuildSettings.lmplz,
    metavar="auto|own|PATH",
    help="What estimates the language model: lmplz if it is on PATH, our own, or that program.",
)
@click.option(
    "--distortion-limit",
    type=Whole(-1, 10_000),
    default=BuildSettings.distortion_limit,
    metavar="WORDS",
)
@click.option(
    "--max-sentence-length",
    type=WORDS,
    default=BuildSettings.max_sentence_length,
    metavar="WORDS",
    help="Leave out pairs with a longer sentence.",
)
@click.option(
    "--no-cleaning",
    is_flag=True,
    help="Leave no pair out, however long or uneven; an empty sentence is an error.",
)
@click.option(
    "--absolute-paths",
    is_flag=True,
    help="Write absolute paths into moses.ini; else run Moses from the current directory, too.",
)
@click.option("--threads", type=THREADS, metavar="N", help="Default: all cores.")
@click.option(
    "--memory",
    type=Memory(),
    default=f"{BuildSettings.memory >> 30}G",
    help="Memory for sorting phrase pairs, besides the corpus.",
)
@click.option(
    "--update", is_flag=True, help="Build again in SYSTEM what other text or options change."
)
def build(source: Path, target: Path, system: Path, alignment: Path | None, **options: Any) -> None:
    """Build a Moses system in the folder SYSTEM from the parallel text SOURCE and TARGET.

    Both have one sentence per line, plain or gzip. The same command continues an interrupted
    build.
    """
    from moses_integration.system_building.build import build_system
    from phrasescore.runs.interruption import interruptible

    update = options.pop("update")
    options["threads"] = options["threads"] or len(os.sched_getaffinity(0))
    settings = BuildSettings(cleaning=not options.pop("no_cleaning"), **options)
    inputs, folder = BuildInputs(source, target, alignment), SystemFolder(system)
    with interruptible(system):
        for outcome in build_system(inputs, folder, settings, update=update):
            click.echo(_outcome_line(outcome), err=True)
            for note in outcome.counts.get("notes", []):
                click.echo(f"  note: {note}", err=True)
    click.echo(f"the system is ready: {folder.inis[0]}", err=True)


def _outcome_line(outcome: Outcome) -> str:
    """Say in one line what a step gave and how long it took.

    >>> from phrasescore.runs.steps import Outcome
    >>> _outcome_line(Outcome("score", {"phrase_pairs": 72310}, 2.0, resumed=False))
    'score            72,310 phrase pairs (2.0 s)'
    """
    time = "done before" if outcome.resumed else f"{outcome.seconds:.1f} s"
    return f"{outcome.name:<16} {_describe(dict(outcome.counts))} ({time})"


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
