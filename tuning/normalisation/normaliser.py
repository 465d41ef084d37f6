"""Normalisers: a folder with a system of characters and the words that it remembers.

Training is a chain of this program's own commands, each done once and shown as a user would type
it in the folder:

    build         a system whose words are characters, from the training words
    preprocess    the dev words, as characters
    tune          its weights, for the share of words that come out right
    decode        the dev words, to see whether remembering known words is better

All paths in the folder are relative to it, so that it can be moved.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moses_integration.nbest.format import read_nbest_lists
from moses_integration.system_building.corpus.text_preparation import (
    Postprocessor,
    Preprocessor,
    read_settings,
    read_text,
)
from phrasescore.cli import cli
from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.processes import usable_cores
from phrasescore.runs.steps import FunctionStep, Step, run_steps
from tuning.normalisation.word_pairs import Memory, Words, read_pairs, share_right

Say = Callable[[str], None]
PROGRAM = "phrasescore"
_RECORD, _MEMORY, _SYSTEM, _INI = "normaliser.json", "memory.tsv", "system", "tuned/moses.ini"
_TEXTS = [f"{name}.{side}" for name in ("train", "dev", "tune") for side in ("source", "target")]
# more dev words make tuning slower and its weights hardly better
_WORDS_TO_TUNE_ON = 2000
# a word is remembered if it was seen so often; None remembers nothing
_TIMES = (None, 1, 2)


@dataclass(frozen=True)
class Choice:
    """What was chosen on the dev words.

    Args:
        lowercase: Whether all text is lower-cased.
        remembered: How often training must have seen a word for its most frequent form to be
            taken; ``None`` if the system does better on every word.
        dev_words: The number of dev words.
        system_right: The share of them that the system alone gets right.
        right: The share with known words remembered as chosen.
    """

    lowercase: bool
    remembered: int | None
    dev_words: int
    system_right: float
    right: float

    @property
    def rule(self) -> str:
        """The choice in one line."""
        if self.remembered is None:
            return "every word is normalised by the system"
        times = "" if self.remembered == 1 else f" at least {self.remembered} times"
        return f"a word seen{times} in training takes its most frequent form; others, the system's"


def train(
    training: str,
    dev: str,
    folder: Path,
    texts: Sequence[str] = (),
    *,
    lowercase: bool = False,
    threads: int | None = None,
    say: Say,
) -> Choice:
    """Train a normaliser, or continue an interrupted training.

    Args:
        training: Words and their normal forms.
        dev: Others, to tune on.
        folder: Where everything goes.
        texts: Texts of the normal language for a language model each, such as a list of words.
        lowercase: Whether to lower-case all text.
        threads: The number of threads; ``None`` for all cores.
        say: Takes each command as it runs, and notes.

    Raises:
        PhrasescoreError: An input cannot be used, or the folder holds another normaliser.
    """
    pairs = [read_pairs(path, lowercase=lowercase) for path in (training, dev)]
    for read in pairs:
        for note in read.notes:
            say(f"note: {note}")
    given = tuple(Path(text).absolute() for text in texts)
    folder.mkdir(parents=True, exist_ok=True)
    say(f"cd {shlex.quote(str(folder))}")
    with _inside(folder):
        cores = () if threads is None else ("--threads", str(threads))
        work = _Training(pairs[0], pairs[1], given, lowercase=lowercase, threads=cores, say=say)
        for _ in run_steps(work.steps(), Path(".train"), update=True):
            pass
        return _read_choice()


class _Training:
    """The steps of a training, inside its folder.

    Args:
        training: The words to learn from.
        dev: The words to tune on.
        texts: Texts for further language models.
        lowercase: Whether all text is lower-cased.
        threads: The option for the number of threads, or nothing.
        say: Takes each command as it runs.
    """

    def __init__(
        self,
        training: Words,
        dev: Words,
        texts: Sequence[Path],
        *,
        lowercase: bool,
        threads: Sequence[str],
        say: Say,
    ) -> None:
        self._training, self._dev, self._texts = training, dev, texts
        self._lowercase, self._threads, self._say = lowercase, threads, say

    def steps(self) -> list[FunctionStep]:
        """Return the steps in order."""
        texts = [word for text in self._texts for word in ("--language-model-text", str(text))]
        tokens = "tune.source.tok", "tune.target.tok", "dev.source.tok"
        digests = {"training": self._training.digest, "dev": self._dev.digest}
        return [
            Step("words", self._write_words, digests, (), tuple(map(Path, _TEXTS))),
            self._command(
                f"build train.source train.target {_SYSTEM} --characters",
                ("train.source", "train.target", *map(str, self._texts)), _SYSTEM, *texts,
            ),
            *(
                self._command(
                    f"preprocess {name}.{side} --system {_SYSTEM} --side {side} "
                    f"-o {name}.{side}.tok",
                    (f"{name}.{side}", _SYSTEM), f"{name}.{side}.tok",
                )
                for name, side in (("tune", "source"), ("tune", "target"), ("dev", "source"))
            ),
            self._command(
                f"tune {_SYSTEM}/moses.ini --source {tokens[0]} --reference {tokens[1]} "
                "--objective accuracy -o tuned",
                (*tokens[:2], _SYSTEM), "tuned", *self._threads,
            ),
            self._command(
                f"decode {_INI} -i {tokens[2]} -o dev.output",
                (tokens[2], _SYSTEM, "tuned"), "dev.output", *self._threads,
            ),
            Step("choice", self._choose, {"lowercase": self._lowercase},
                 (Path("dev.output"), *map(Path, _TEXTS)), (Path(_RECORD), Path(_MEMORY))),
        ]  # fmt: skip

    def _command(self, text: str, inputs: Sequence[str], output: str, *more: str) -> FunctionStep:
        """Return a step that runs a command of this program."""
        words = [*text.split(), *more]

        def run() -> Mapping[str, Any]:
            self._say(shlex.join([PROGRAM, *words]))
            run_command(words)
            return {}

        name = f"{words[0]}-{Path(output).name}"
        settings = {"command": [*text.split(), *(set(more) - set(self._threads))]}
        return Step(name, run, settings, tuple(map(Path, inputs)), (Path(output),))

    def _write_words(self) -> Mapping[str, Any]:
        """Write what the commands read: words that are tuned on lie evenly among the dev words."""
        apart = -(-len(self._dev.words) // _WORDS_TO_TUNE_ON)
        texts = (
            *(self._training.words, self._training.forms),
            *(self._dev.words, self._dev.forms),
            *(self._dev.words[::apart], self._dev.forms[::apart]),
        )
        for name, text in zip(_TEXTS, texts, strict=True):
            write_atomically(name, "".join(f"{line}\n" for line in text).encode())
        return {}

    def _choose(self) -> Mapping[str, Any]:
        """Decide on the dev words whether known words are remembered; write the normaliser."""
        memory = Memory.from_pairs(self._training)
        form = Postprocessor(read_settings(_SYSTEM).target)
        found = [form(line) for line in read_text("dev.output")]
        right = {
            times: share_right(
                [memory.form(word, times) or other
                 for word, other in zip(self._dev.words, found, strict=True)],
                self._dev.forms,
            )
            for times in _TIMES
        }  # fmt: skip
        best = max(_TIMES, key=right.__getitem__)  # of equal ones the first, and simplest
        memory.write(_MEMORY)
        choice = Choice(self._lowercase, best, len(found), right[None], right[best])
        write_json(_RECORD, dataclasses.asdict(choice))
        return {}


class Normaliser:
    """A trained normaliser.

    Args:
        folder: The folder of its training.
        threads: The number of threads; ``None`` for all cores.

    Attributes:
        choice: What its training chose.
        memory: The words that it knows.

    Raises:
        InputError: There is no finished normaliser in the folder.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._folder, self._threads = folder.absolute(), threads or usable_cores()
        self.choice = _read_choice(folder)
        self.memory = Memory.read(folder / _MEMORY)

    def forms(self, words: Iterable[str], size: int = 1) -> dict[str, list[str]]:
        """Return for each distinct word its most probable forms, at most ``size``, the best first.

        Raises:
            PhrasescoreError: The system in the folder cannot be used.
        """
        distinct = {word: self._known(word) for word in words if word}
        unknown = [word for word, forms in distinct.items() if len(forms) < size]
        for word, forms in zip(unknown, self._decoded(unknown, size), strict=True):
            distinct[word] = list(dict.fromkeys([*distinct[word], *forms]))[:size]
        return distinct

    def _known(self, word: str) -> list[str]:
        form = self.memory.form(word, self.choice.remembered)
        return [] if form is None else [form]

    def _decoded(self, words: Sequence[str], size: int) -> Iterator[list[str]]:
        """Yield the forms that the system finds for each word."""
        if not words:
            return
        with _inside(self._folder), tempfile.TemporaryDirectory() as scratch:
            text = read_settings(_SYSTEM)
            tokens, form = Preprocessor(text.source), Postprocessor(text.target)
            source, nbest = Path(scratch, "words"), Path(scratch, "nbest")
            write_atomically(source, "".join(f"{tokens(word)}\n" for word in words).encode())
            run_command(
                ["decode", _INI, "-i", str(source), "-o", os.devnull, "--nbest", str(nbest),
                 "--nbest-size", str(size), "--distinct", "--threads", str(self._threads)]
            )  # fmt: skip
            for _, entries in read_nbest_lists(nbest):
                yield [form(entry.words.decode()) for entry in entries]


def run_command(words: Sequence[str]) -> None:
    """Run a command of this program in this process.

    Raises:
        PhrasescoreError: It failed.
    """
    with cli.make_context(PROGRAM, list(words)) as context:
        cli.invoke(context)


def _read_choice(folder: Path = Path()) -> Choice:
    path = folder / _RECORD
    try:
        return from_mapping(Choice, read_object(path), where=str(path))
    except FileNotFoundError:
        raise InputError(
            f"no {_RECORD}, so this is no finished normaliser",
            path=folder,
            remedy="make one with phrasescore normalise train, or let that finish",
        ) from None
    except ValueError as error:
        raise InputError(f"cannot be read as JSON ({error})", path=path) from None


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Let relative paths begin in a folder while the block runs."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
