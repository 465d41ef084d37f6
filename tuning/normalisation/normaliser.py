"""Trains and applies normalisers: folders with a character system and remembered words.

Training runs these commands of this program, and shows each command as a user would type it in the
folder:

    build         a system whose words are characters, from the training words
    preprocess    the dev words, as characters
    tune          the system's weights, for the share of correctly normalised words
    decode        the dev words, to see whether remembering known words helps

With ``neural``, training continues with an attention model of whole words, which chooses among the
best forms of the system:

    train         the model, from the same words
    decode, nbest the best forms of the words to tune on, and the model's scores of all best forms
    optimize      the weights of the system and of the model together

The combination with the best result on the dev words becomes the normaliser. All paths in the
folder are relative to the folder, so it can be moved.
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

from moses_integration.ini.model_files import with_absolute_paths
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.nbest.format import read_nbest_lists
from moses_integration.text.preparation import Postprocessor, Preprocessor, read_settings
from phrasescore.cli import cli
from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, SettingsError
from phrasescore.runs.file_kinds import STANDARD_STREAM, only_regular_files, refuse_pipe
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.ledger import FunctionStep, Step, check_owner, run_steps
from phrasescore.runs.processes import usable_cores
from tuning.normalisation.word_pairs import Memory, Words, read_pairs, share_right

Say = Callable[[str], None]
PROGRAM = "phrasescore"
_RECORD, _MEMORY, _SYSTEM, _INI = "normaliser.json", "memory.tsv", "system", "tuned/moses.ini"
_MODEL, _WEIGHTS = "attention", "reranking.json"
_STEPS = Path(".train")
_TEXTS = [f"{name}.{side}" for name in ("train", "dev", "tune") for side in ("source", "target")]
# with more dev words, tuning is slower and the weights are hardly better
_WORDS_TO_TUNE_ON = 2000
# the number of forms that the attention model chooses among
_CANDIDATES = 20
# a small model, because words are few and short
_MODEL_SIZE = "--hidden 128 --embedding 64 --rank 64"
# within these limits, the number of epochs lets the model read about ``_WORDS_TO_SEE`` words
_WORDS_TO_SEE, _FEWEST_PASSES, _MOST_PASSES = 400_000, 20, 400
# the values of ``Choice.remembered`` to try; the simplest comes first
_TIMES = (None, 1, 2)


@dataclass(frozen=True)
class Choice:
    """The choices that training made on the dev words.

    Args:
        lowercase: Whether all text is lower-cased.
        remembered: A word gets its most frequent form if training saw the word at least this many
            times; ``None`` to use the system for every word.
        attention: Whether the attention model chooses among the forms of the system.
        dev_words: The number of dev words.
        system_right: The share of dev words that the system alone gets right.
        right: The share of dev words that the normaliser gets right.
    """

    lowercase: bool
    remembered: int | None
    attention: bool
    dev_words: int
    system_right: float
    right: float

    @property
    def rule(self) -> str:
        """The choice in one line."""
        system = "the system and the attention model" if self.attention else "the system"
        if self.remembered is None:
            return f"every word is normalised by {system}"
        times = "" if self.remembered == 1 else f" at least {self.remembered} times"
        return (
            f"a word seen{times} in training takes its most frequent form, any other word is "
            f"normalised by {system}"
        )


def train(
    training: str,
    dev: str,
    folder: Path,
    texts: Sequence[str] = (),
    *,
    lowercase: bool = False,
    neural: bool = False,
    threads: int | None = None,
    say: Say,
) -> Choice:
    """Train a normaliser, or continue an interrupted training.

    Args:
        training: The words to learn from, with their normal forms.
        dev: Other words with their normal forms, to tune on.
        folder: The folder of the normaliser, for all files.
        texts: Texts in normal spelling, such as word lists; each gives a further language model.
        lowercase: Whether to lower-case all text.
        neural: Whether to train an attention model, too.
        threads: The number of threads; ``None`` for all cores.
        say: Prints each command as it runs, and notes.

    Raises:
        PhrasescoreError: An input cannot be used, or the folder holds another normaliser.
    """
    pairs = [read_pairs(path, lowercase=lowercase) for path in (training, dev)]
    for read in pairs:
        for note in read.notes:
            say(f"note: {note}")
    given = tuple(Path(text).absolute() for text in texts)
    for path in (training, dev, *texts):
        is_file = path != STANDARD_STREAM
        if is_file and Path(path).resolve().is_relative_to(folder.resolve()):
            raise SettingsError(
                "the training could replace this input, which lies in the folder of the normaliser",
                path=path,
                remedy="move the file out of the folder",
            )
    for text in texts:  # before the folder is made
        refuse_pipe(text)
    check_owner(folder, _STEPS.name)
    folder.mkdir(parents=True, exist_ok=True)
    say(f"cd {shlex.quote(str(folder))}")
    with only_regular_files(folder), _inside(folder):
        cores = "--threads", str(threads or usable_cores())
        work = _Training(pairs[0], pairs[1], given, lowercase, neural, cores, say)
        for _ in run_steps(work.steps(), _STEPS, update=True):
            pass
        return _read_choice()


@dataclass(frozen=True)
class _Training:
    """The steps of a training, inside its folder.

    Args:
        training: The words to learn from.
        dev: The words to tune on.
        texts: Texts for further language models.
        lowercase: Whether all text is lower-cased.
        neural: Whether to train an attention model, too.
        threads: The options that set the number of threads of a command.
        say: Prints each command as it runs.
    """

    training: Words
    dev: Words
    texts: Sequence[Path]
    lowercase: bool
    neural: bool
    threads: tuple[str, ...]
    say: Say

    def steps(self) -> list[FunctionStep]:
        """Return the steps in order."""
        texts = [word for text in self.texts for word in ("--language-model-text", str(text))]
        settings = {"training": self.training.digest, "dev": self.dev.digest}
        sides = [
            self._command(
                f"preprocess {name}.{side} --system {_SYSTEM} --side {side} -o {name}.{side}.tok",
                (f"{name}.{side}", _SYSTEM),
            )
            for name, side in (("tune", "source"), ("tune", "target"), ("dev", "source"))
        ]
        found = _nbest("dev", neural=self.neural)
        return [
            Step("words", self._write_words, settings, (), tuple(map(Path, _TEXTS))),
            self._command(
                "build train.source train.target --characters",
                ("train.source", "train.target", *map(str, self.texts)),
                *texts, output=_SYSTEM,
            ),
            *sides,
            self._command(
                f"tune {_SYSTEM}/moses.ini --source tune.source.tok --reference tune.target.tok "
                "--objective accuracy -o tuned",
                ("tune.source.tok", "tune.target.tok", _SYSTEM),
            ),
            self._decoding("dev"),
            *(self._attention() if self.neural else ()),
            Step("choice", self._choose, {"lowercase": self.lowercase},
                 (*map(Path, found), *map(Path, _TEXTS)), (Path(_RECORD), Path(_MEMORY))),
        ]  # fmt: skip

    def _attention(self) -> list[FunctionStep]:
        """Return the steps of the attention model."""
        passes = _WORDS_TO_SEE // len(self.training.words)
        epochs = min(max(passes, _FEWEST_PASSES), _MOST_PASSES)
        texts = f"{_SYSTEM}/corpus.source.gz {_SYSTEM}/corpus.target.gz"
        dev = "tune.source.tok", "tune.target.tok"
        training = self._command(
            f"train {texts} --kind search {_MODEL_SIZE} --max-epochs {epochs} "
            f"--held-out-text {dev[0]} --held-out-text {dev[1]}",
            (_SYSTEM, *dev), output=_MODEL,
        )  # fmt: skip
        scoring = [
            self._command(
                f"nbest {name}.nbest --model {_MODEL} --source {name}.source.tok "
                f"-o {name}.scored.nbest",
                (f"{name}.nbest", _MODEL, f"{name}.source.tok"),
            )
            for name in ("tune", "dev")
        ]  # fmt: skip
        optimizing = self._command(
            f"optimize --nbest tune.scored.nbest --reference {dev[1]} --objective accuracy "
            f"--start tuned/weights.json -o {_WEIGHTS}",
            ("tune.scored.nbest", dev[1], "tuned"),
        )  # fmt: skip
        return [training, self._decoding("tune"), *scoring, optimizing]

    def _decoding(self, name: str) -> FunctionStep:
        """Return the step that writes the best forms of words."""
        return self._command(
            f"decode {_INI} -i {name}.source.tok -o {os.devnull} --nbest-size {_CANDIDATES} "
            f"--distinct --nbest {name}.nbest",
            (f"{name}.source.tok", _SYSTEM, "tuned"),
        )  # fmt: skip

    def _command(
        self, text: str, inputs: Sequence[str], *more: str, output: str = ""
    ) -> FunctionStep:
        """Return a step that runs a command of this program.

        Args:
            text: The command, to be split at spaces; without ``output``, its last word is the file
                or folder that the command writes.
            inputs: The files and folders that the command reads.
            more: Further options, whose values may contain spaces.
            output: The folder that the command writes, given as an argument.
        """
        words = [*text.split(), *([output] if output else ()), *more]
        written = Path(output or text.split()[-1])

        # the number of threads changes no result, so it is not part of the step's identity
        whole = words if words[0] == "preprocess" else [*words, *self.threads]

        def run() -> Mapping[str, object]:
            self.say(shlex.join([PROGRAM, *whole]))
            run_command(whole)
            return {}

        name = f"{words[0]}-{written.name}"
        return Step(name, run, {"command": words}, tuple(map(Path, inputs)), (written,))

    def _write_words(self) -> Mapping[str, object]:
        """Write the input files of the commands, with every n-th dev word as a word to tune on."""
        apart = -(-len(self.dev.words) // _WORDS_TO_TUNE_ON)
        texts = (
            *(self.training.words, self.training.forms),
            *(self.dev.words, self.dev.forms),
            *(self.dev.words[::apart], self.dev.forms[::apart]),
        )
        for name, text in zip(_TEXTS, texts, strict=True):
            write_atomically(name, "".join(f"{line}\n" for line in text).encode())
        return {}

    def _choose(self) -> Mapping[str, object]:
        """Choose the best combination on the dev words, and write the normaliser."""
        memory = Memory.from_pairs(self.training)
        right: dict[tuple[bool, int | None], float] = {}
        for neural in (False, True) if self.neural else (False,):
            *_, nbest = _nbest("dev", neural=neural)
            found = [forms[0] for forms in _read_forms(nbest, neural=neural)]
            for times in _TIMES:
                forms = [
                    memory.form(word, times) or form
                    for word, form in zip(self.dev.words, found, strict=True)
                ]
                right[neural, times] = share_right(forms, self.dev.forms)
        # of equal choices, max returns the first, which is the simplest
        best = max(right, key=right.__getitem__)
        memory.write(_MEMORY)
        choice = Choice(
            lowercase=self.lowercase,
            remembered=best[1],
            attention=best[0],
            dev_words=len(self.dev.words),
            system_right=right[False, None],
            right=right[best],
        )
        write_json(_RECORD, dataclasses.asdict(choice))
        return {}


def _nbest(name: str, *, neural: bool) -> list[str]:
    """Return the files that forms are read from; the last one is the n-best list."""
    return [_WEIGHTS, f"{name}.scored.nbest"] if neural else [f"{name}.nbest"]


def _read_forms(nbest: str | Path, folder: Path = Path(), *, neural: bool) -> Iterator[list[str]]:
    """Yield the forms of each word, best first: in list order, or with ``neural`` reranked."""
    form = Postprocessor(read_settings(folder / _SYSTEM).target)
    weights = read_object(folder / _WEIGHTS)["weights"] if neural else {}
    for _, entries in read_nbest_lists(nbest):
        if neural:
            entries.sort(
                key=lambda entry: (
                    -sum(
                        weight * value
                        for name, values in entry.features.items()
                        for weight, value in zip(weights[name], values, strict=True)
                    )
                )
            )
        yield [form(entry.words.decode()) for entry in entries]


class Normaliser:
    """A trained normaliser.

    Args:
        folder: The folder of its training.
        threads: The number of threads; ``None`` for all cores.

    Attributes:
        choice: The choices of its training.
        memory: The remembered words.

    Raises:
        InputError: There is no finished normaliser in the folder.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._folder, self._threads = folder.absolute(), threads or usable_cores()
        with only_regular_files(folder):
            self.choice = _read_choice(folder)
            self.memory = Memory.read(folder / _MEMORY)

    def forms(self, words: Iterable[str], size: int = 1) -> dict[str, list[str]]:
        """Return up to ``size`` most probable forms of each distinct word, best first.

        Raises:
            PhrasescoreError: The system in the folder cannot be used.
        """
        found: dict[str, list[str]] = {}
        for word in filter(None, words):
            form = self.memory.form(word, self.choice.remembered)
            found[word] = [] if form is None else [form]
        unknown = [word for word, forms in found.items() if len(forms) < size]
        for word, forms in zip(unknown, self._decoded(unknown, size), strict=True):
            found[word] = list(dict.fromkeys([*found[word], *forms]))[:size]
        return found

    def _decoded(self, words: Sequence[str], size: int) -> Iterator[list[str]]:
        """Decode words with the system, and yield the forms of each word."""
        if not words:
            return
        with tempfile.TemporaryDirectory() as scratch, only_regular_files(scratch):
            # the current folder stays, because it may be read for other things than this ini; the
            # ini cannot express the path of every folder, but that of a link
            base = Path(scratch, "base")
            base.symlink_to(self._folder)
            # all files of the system are in its folder, wherever that was at the time of training
            ini = with_absolute_paths(
                MosesIni.read(base / _INI), lambda path: str(base / _SYSTEM / Path(path).name)
            )
            write_atomically(Path(scratch, "moses.ini"), ini.to_bytes())
            tokens = Preprocessor(read_settings(base / _SYSTEM).source)
            source, nbest, scored = (str(Path(scratch, name)) for name in ("w", "nbest", "scored"))
            write_atomically(source, "".join(f"{tokens(word)}\n" for word in words).encode())
            cores = ["--threads", str(self._threads)]
            neural = self.choice.attention
            run_command(
                ["decode", str(Path(scratch, "moses.ini")), "-i", source, "-o", os.devnull,
                 "--nbest", nbest, "--distinct",
                 "--nbest-size", str(max(size, _CANDIDATES) if neural else size), *cores]
            )  # fmt: skip
            if neural:
                run_command(
                    ["nbest", nbest, "--model", str(base / _MODEL), "--source", source,
                     "-o", scored, *cores]
                )  # fmt: skip
            yield from _read_forms(scored if neural else nbest, base, neural=neural)


def run_command(words: Sequence[str]) -> None:
    """Run a command of this program in this process.

    Raises:
        PhrasescoreError: The command failed.
    """
    with cli.make_context(PROGRAM, list(words)) as context:
        cli.invoke(context)


def _read_choice(folder: Path = Path()) -> Choice:
    path = folder / _RECORD
    try:
        return from_mapping(Choice, read_object(path), where=str(path))
    except FileNotFoundError:
        raise InputError(
            f"no {_RECORD}, so this is not a finished normaliser",
            path=folder,
            remedy="make one with phrasescore normalise train, or let an interrupted one finish",
        ) from None
    except ValueError as error:
        raise InputError(f"the file is not valid JSON ({error})", path=path) from None


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Make a folder the current directory while the block runs."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
