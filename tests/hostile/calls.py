"""Valid calls of every command on the world; several if a command does different things.

A command without a call here fails a test, so that new commands join the campaign; their options
join automatically.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import click

from phrasescore.cli import cli


@dataclass(frozen=True)
class Read:
    """A file or folder that a call reads.

    Args:
        name: The name in the world's folder ``in``.
        kind: The kind of file, which decides how it can be damaged.
    """

    name: str
    kind: str

    @property
    def path(self) -> str:
        """Its name on the command line."""
        return f"in/{self.name}"

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.kind in ("model", "settings", "normaliser")


@dataclass(frozen=True)
class Write:
    """A file or folder that a call writes.

    Args:
        name: The name in the folder ``out``.
        folder: Whether the output is a folder.
        keeps: Whether finished work stays in it when the command fails.
    """

    name: str
    folder: bool = False
    keeps: bool = False

    @property
    def path(self) -> str:
        """Its name on the command line."""
        return f"out/{self.name}"


Argument = str | Read | Write


@dataclass(frozen=True)
class Call:
    """A valid call.

    Args:
            command: Its words, e.g. ``("ini", "add-column")``.
        arguments: What follows.
        variant: What tells it from other calls of the command.
        beside: What it reads without an argument that names it, such as the tables of an ini.
        cost: About how many seconds it takes, where it is more than one.
    """

    command: tuple[str, ...]
    arguments: tuple[Argument, ...]
    variant: str = ""
    beside: tuple[Read, ...] = ()
    cost: int = 1

    @property
    def name(self) -> str:
        """The command, and the variant of this call."""
        return " ".join(self.command) + (f" ({self.variant})" if self.variant else "")

    def reads(self) -> Iterator[Read]:
        """Yield the inputs on the command line."""
        yield from (each for each in self.arguments if isinstance(each, Read))

    def writes(self) -> Iterator[Write]:
        """Yield the outputs."""
        yield from (each for each in self.arguments if isinstance(each, Write))


_TABLE, _SOURCE, _TARGET = (
    Read("phrase-table", "table"),
    Read("dev.src", "text"),
    Read("dev.trg", "text"),
)
_INI, _ARPA, _ORDER = (
    Read("moses.ini", "ini"),
    Read("lm.arpa", "arpa"),
    Read("reordering", "reordering"),
)
_MODEL, _SEARCH, _LM = Read("model", "model"), Read("search", "model"), Read("lm", "model")
_LIST, _WEIGHTS = Read("list", "nbest"), Read("weights.json", "weights")
_PAIRS_OF_WORDS, _WORDS_ALONE = Read("words.tsv", "text"), Read("words", "text")
_NORMALISER = Read("normaliser", "normaliser")
_OTHER, _JSON = Read("other.trg", "text"), ("--json-file", Write("result.json"))
_SYSTEM = (_TABLE, _ARPA, _ORDER)
_TINY = ("--hidden", "6", "--embedding", "4", "--threads", "1", "--max-epochs", "1")


def _call(words: str, *arguments: Argument, **more: object) -> Call:
    return Call(tuple(words.split()), arguments, **more)  # type: ignore[arg-type]


CALLS: tuple[Call, ...] = (
    _call("train", _TABLE, Write("new", folder=True), *_TINY, cost=3),
    _call("train", _SOURCE, _TARGET, Write("new", folder=True), "--kind", "search", *_TINY,
          variant="sentences", cost=3),
    _call("train", _TARGET, Write("new", folder=True), "--kind", "feed-forward-lm", *_TINY,
          "--held-out-text", _OTHER, variant="texts", cost=3),
    _call("score", _TABLE, "--model", _MODEL, "-o", Write("table.gz"), "--threads", "1", *_JSON),
    _call("score-text", Read("pairs.tsv", "pairs"), "--model", _SEARCH, "-o", Write("scored"),
          "--threads", "1", *_JSON),
    _call("score-text", _TARGET, "--model", _LM, "-o", Write("scored"), variant="texts"),
    _call("generate", "--model", _MODEL, "-i", Read("phrases", "text"), "-o", Write("targets"),
          "--threads", "1", *_JSON),
    _call("generate", "--model", _MODEL, "--table", _TABLE, "-o", Write("table"), "--threads", "1",
          "--reordering", _ORDER, "--reordering-output", Write("order.gz"), variant="table"),
    _call("prune", _TABLE, "-o", Write("table"), "--top", "1", "--column", "1", "--drop",
          Read("drop.tsv", "drop"), "--reordering", _ORDER, "--reordering-output",
          Write("order"), *_JSON),
    _call("ini pack", _INI, Write("packed", folder=True), beside=_SYSTEM),
    _call("ini add-column", _INI, "--table", Read("phrase-table.gz", "table"), "-o", Write("ini")),
    _call("ini absolute-paths", _INI, "-o", Write("ini"), beside=_SYSTEM),
    _call("ini add-language-model", _INI, "--model", _LM, "-o", Write("ini"), "--unnormalised"),
    _call("warm-up", cost=20),
    _call("ini remove-feature", _INI, "LM0", "-o", Write("ini")),
    _call("filter", _INI, "--input", _SOURCE, "-o", Write("part", folder=True), beside=_SYSTEM),
    _call("preprocess", _SOURCE, "-o", Write("text"), "--system", Read("system", "settings")),
    _call("postprocess", _TARGET, "-o", Write("text"), "--language", "fr"),
    _call("build", _SOURCE, _TARGET, Write("system", folder=True, keeps=True), "--alignment",
          Read("links", "links"), "--lm-order", "2", "--threads", "1", cost=3),
    _call("doctor", _INI, "--source", _SOURCE, "--reference", _TARGET, "--model", _MODEL, *_JSON,
          beside=_SYSTEM),
    _call("decode", _INI, "-i", _SOURCE, "-o", Write("text"), "--nbest", Write("list.gz"),
          "--nbest-size", "5", "--output-unknowns", Write("unknown"),
          "--cache-folder", Write("cache", folder=True, keeps=True), beside=_SYSTEM),
    _call("translate", "--model", _SEARCH, "-i", _SOURCE, "-o", Write("text"), "--beam", "2",
          "--max-length", "8", "--nbest", Write("list"), "--alignments", Write("soft"),
          "--replace-unknown", "--threads", "1", *_JSON),
    _call("alignments", "--model", _SEARCH, "--source", _SOURCE, "--target", _TARGET,
          "--sentences", "1", "-o", Write("pictures", folder=True), "--threads", "1", cost=3),
    _call("analyze top", _TABLE, "--model", _MODEL, "-o", Write("top.md"), "--column", "1",
          "--min-words", "1", "--min-targets", "1", "--threads", "1", *_JSON),
    _call("analyze scatter", _TABLE, "--model", _MODEL, "-o", Write("scatter", folder=True),
          "--column", "1", "--threads", "1", *_JSON, cost=3),
    _call("analyze map", "--model", _MODEL, "-o", Write("map.html"), "--words", "--side",
          "target", "--threads", "1", cost=5),
    _call("analyze map", "--model", _MODEL, _TABLE, "-o", Write("all.html"), "--min-words", "1",
          "--phrases", "10", "--threads", "1", variant="phrases", cost=5),
    _call("analyze vectors", "--model", _MODEL, Read("phrases", "text"), "-o",
          Write("vectors.npz"), "--threads", "1"),
    _call("force-score", _INI, "-i", _SOURCE, "--nbest", Read("segmented", "segmented"), "-o",
          Write("list"), "--no-cache", beside=_SYSTEM),
    _call("nbest", _LIST, "--model", _SEARCH, "--source", _SOURCE, "-o", Write("list.gz"),
          "--threads", "1"),
    _call("tune", _INI, "--source", _SOURCE, "--reference", _TARGET, "-o",
          Write("tuned", folder=True, keeps=True), "--decoder", "embedded", "--rounds", "1",
          "--nbest-size", "5", "--restarts", "1", beside=_SYSTEM, cost=3),
    _call("improve", _INI, "--parallel", _SOURCE, _TARGET, "--source", _SOURCE, "--reference",
          _TARGET, "-o", Write("better", folder=True, keeps=True), "--passes", "1", beside=_SYSTEM,
          cost=60),
    _call("optimize", "--nbest", _LIST, "--reference", _TARGET, "--start", _WEIGHTS, "--restarts",
          "1", *_JSON),
    _call("rerank", _LIST, "--weights", _WEIGHTS, "-o", Write("text"), "--source", _SOURCE,
          "--minimum-bayes-risk"),
    _call("evaluate", _OTHER, "--reference", _TARGET, "--source", _SOURCE, "--known-words", _MODEL,
          *_JSON),
    _call("compare", "--reference", _TARGET, "--baseline", _OTHER, "--system",
          _SOURCE, "--source", _SOURCE, "--by-length", "--trials", "100", *_JSON),
    _call("normalise train", _PAIRS_OF_WORDS, Write("normaliser", folder=True, keeps=True), "--dev",
          Read("dev.tsv", "text"), "--language-model-text", _WORDS_ALONE, cost=4),
    _call("normalise apply", "in/normaliser", _WORDS_ALONE, "-o", Write("forms"), cost=2,
          beside=(_NORMALISER,)),
    _call("normalise evaluate", "in/normaliser", _PAIRS_OF_WORDS, *_JSON, cost=2,
          beside=(_NORMALISER,)),
    _call("report", _MODEL, "-o", Write("page.html"), cost=2),
    _call("experiment", Read("experiment.toml", "toml"), "-o", Write("all", folder=True),
          "--dry-run", variant="plan", beside=(_INI, *_SYSTEM, _SOURCE, _TARGET)),
    _call("experiment", Read("experiment.toml", "toml"), "-o",
          Write("all", folder=True, keeps=True), "--only", "Baseline", *_JSON, cost=12,
          beside=(_INI, *_SYSTEM, _SOURCE, _TARGET)),
)  # fmt: skip


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield the words of each command, including commands in groups, with the command."""
    yield from _below((), cli)


def _below(
    words: tuple[str, ...], command: click.Command
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from _below((*words, name), found)


def words_of(arguments: Iterable[Argument]) -> list[str]:
    """Return the words of a command line."""
    return [each if isinstance(each, str) else each.path for each in arguments]
