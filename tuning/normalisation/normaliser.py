"""Trains and applies normalisers: folders with a character system and remembered words.

The steps of a training in the folder:

    build      a system whose words are characters, from the training words
    attention  with ``neural``, an attention model of whole words, from the same words
    tune       the system's weights, for the share of correctly normalised words; with ``neural``
               also the weights with which the model chooses among the best forms of the system
    choice     the combination with the best result on the dev words: with or without the model,
               and with or without remembering the forms of known words

The paths that are read later start at the folder, so it can be moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from moses_integration.decoder.decoder import Decoder
from moses_integration.ini.model_files import with_absolute_paths
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.system_building import build_settings
from moses_integration.system_building.build import build_system
from moses_integration.text.preparation import Postprocessor, Preprocessor, read_settings
from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, SettingsError
from phrasescore.runs.file_kinds import STANDARD_STREAM, only_regular_files, refuse_pipe
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.ledger import FunctionStep, Step, check_owner, run_steps
from phrasescore.runs.processes import inside, usable_cores
from phrasescore.runs.progress import Say
from phrasescore.table.input_files import read_lines
from phrasescore.training.settings import TrainingSettings
from tuning.loop.outer_loop import tune
from tuning.loop.tuning_settings import TuningSettings
from tuning.metrics.metric_settings import Objective
from tuning.normalisation.word_pairs import Memory, Words, read_pairs, share_right

_RECORD, _MEMORY, _SYSTEM, _INI = "normaliser.json", "memory.tsv", "system", "tuned/moses.ini"
_MODEL = "attention"
_STEPS = Path(".train")
_TEXTS = [f"{name}.{side}" for name in ("train", "dev", "tune") for side in ("source", "target")]
_TOKENS = "tune.source.tok", "tune.target.tok"
# with more dev words, tuning is slower and the weights are hardly better
_WORDS_TO_TUNE_ON = 2000
# the number of forms that the attention model chooses among
_CANDIDATES = 20
# a small model, because words are few and short
_HIDDEN, _EMBEDDING, _RANK = 128, 64, 64
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


@dataclass(frozen=True)
class NormaliserSettings:
    """The settings of a training.

    Args:
        training: The words to learn from, with their normal forms.
        dev: Other words with their normal forms, to tune on.
        texts: Texts in normal spelling, such as word lists; each gives a further language model.
        lowercase: Whether to lower-case all text.
        neural: Whether to train an attention model, too.
        threads: The number of threads; ``None`` for all cores.
    """

    training: str
    dev: str
    texts: tuple[str, ...] = ()
    lowercase: bool = False
    neural: bool = False
    threads: int | None = None


def train(settings: NormaliserSettings, folder: Path, say: Say) -> Choice:
    """Train a normaliser, or continue an interrupted training.

    Args:
        settings: The words, and what to do with them.
        folder: The folder of the normaliser, for all files.
        say: Prints each step, and notes.

    Raises:
        PhrasescoreError: An input cannot be used, or the folder holds another normaliser.
    """
    both = settings.training, settings.dev
    pairs = [read_pairs(path, lowercase=settings.lowercase) for path in both]
    for read in pairs:
        for note in read.notes:
            say(f"note: {note}")
    texts = tuple(Path(text).absolute() for text in settings.texts)
    for path in (*both, *settings.texts):
        if path != STANDARD_STREAM and Path(path).resolve().is_relative_to(folder.resolve()):
            raise SettingsError(
                "the training could replace this input, which lies in the folder of the normaliser",
                path=path,
                remedy="move the file out of the folder",
            )
    for text in settings.texts:  # before the folder is made
        refuse_pipe(text)
    check_owner(folder, _STEPS.name)
    folder.mkdir(parents=True, exist_ok=True)
    with only_regular_files(folder), inside(folder):
        work = _Training(settings, pairs[0], pairs[1], texts, say)
        for done in run_steps(work.steps(), _STEPS, update=True):
            say(f"{done.name}: {'done before' if done.resumed else f'{done.seconds:.1f} s'}")
        return _read_choice()


@dataclass(frozen=True)
class _Training:
    """The steps of a training, inside its folder.

    Args:
        settings: The settings.
        training: The words to learn from.
        dev: The words to tune on.
        texts: Texts for further language models, with absolute paths.
        say: Prints a line for the user.
    """

    settings: NormaliserSettings
    training: Words
    dev: Words
    texts: tuple[Path, ...]
    say: Say

    @property
    def threads(self) -> int:
        """The number of threads, which changes no result."""
        return self.settings.threads or usable_cores()

    def steps(self) -> list[FunctionStep]:
        """Return the steps in order."""
        words = {"training": self.training.digest, "dev": self.dev.digest}
        system, texts, tokens = Path(_SYSTEM), tuple(map(Path, _TEXTS)), tuple(map(Path, _TOKENS))
        tuned, models = Path(_INI).parent, (Path(_MODEL),) if self.settings.neural else ()
        attention: list[FunctionStep] = []
        if self.settings.neural:
            passes = _WORDS_TO_SEE // len(self.training.words)
            epochs = min(max(passes, _FEWEST_PASSES), _MOST_PASSES)
            train, sides = partial(self._train_attention, epochs), (system, *tokens)
            attention = [Step("attention", train, {"epochs": epochs}, sides, models)]
        choice = {"lowercase": self.settings.lowercase, "neural": self.settings.neural}
        return [
            Step("words", self._write_words, words, (), texts),
            Step("build", self._build, {}, (*texts[:2], *self.texts), (system,)),
            Step("tokens", self._write_tokens, {}, (*texts[-2:], system), tokens),
            *attention,
            Step("tune", self._tune, {}, (*tokens, system, *models), (tuned,)),
            Step("choice", self._choose, choice, (system, tuned, *texts),
                 (Path(_RECORD), Path(_MEMORY))),
        ]  # fmt: skip

    def _build(self) -> None:
        """Build a system whose words are characters."""
        inputs = build_settings.BuildInputs(Path(_TEXTS[0]), Path(_TEXTS[1]), (), self.texts)
        settings = build_settings.BuildSettings(
            characters=True,
            reordering=False,
            threads=self.threads,
            **build_settings.CHARACTER_DEFAULTS,
        )
        folder = build_settings.SystemFolder(Path(_SYSTEM), 1 + len(self.texts))
        for outcome in build_system(inputs, folder, settings, update=True):
            for kind in ("warning", "note"):
                for text in outcome.counts.get(f"{kind}s", []):
                    self.say(f"{kind}: {text}")

    def _write_tokens(self) -> None:
        """Write the words to tune on, and their forms, as the system reads and writes them."""
        settings = read_settings(_SYSTEM)
        sides = settings.source, settings.target
        for text, side, path in zip(_TEXTS[-2:], sides, _TOKENS, strict=True):
            tokens = Preprocessor(side)
            lines = (tokens(line.decode()) + "\n" for line in read_lines(text))
            write_atomically(path, "".join(lines).encode())

    def _train_attention(self, epochs: int) -> None:
        """Train the attention model."""
        from phrasescore.training.session import train_model  # late, because it imports torch

        settings = TrainingSettings(
            kind="search",
            inputs=(Path(_SYSTEM, "corpus.source.gz"), Path(_SYSTEM, "corpus.target.gz")),
            model=Path(_MODEL),
            max_epochs=epochs,
            hidden=_HIDDEN,
            embedding=_EMBEDDING,
            rank=_RANK,
            held_out_text=tuple(map(Path, _TOKENS)),
            threads=self.threads,
        )
        train_model(settings)

    def _tune(self) -> None:
        """Find the weights of the system, and those with which the attention model chooses."""
        source, reference = _TOKENS
        settings = TuningSettings(
            ini=f"{_SYSTEM}/moses.ini",
            source=source,
            references=(reference,),
            objective=Objective.from_shares({"accuracy": 1.0}),
            rescore=(_MODEL,) if self.settings.neural else (),
            rescore_size=_CANDIDATES,
            threads=self.threads,
        )
        tune(settings, Path(_INI).parent, self.say)

    def _write_words(self) -> None:
        """Write the input files of the commands, with every n-th dev word as a word to tune on."""
        apart = -(-len(self.dev.words) // _WORDS_TO_TUNE_ON)
        dev = self.dev.words, self.dev.forms
        some = [column[::apart] for column in dev]
        texts = (self.training.words, self.training.forms, *dev, *some)
        for name, text in zip(_TEXTS, texts, strict=True):
            write_atomically(name, "".join(f"{line}\n" for line in text).encode())

    def _choose(self) -> None:
        """Choose the best combination on the dev words, and write the normaliser."""
        memory = Memory.from_pairs(self.training)
        right: dict[tuple[bool, int | None], float] = {}
        for neural in (False, True) if self.settings.neural else (False,):
            forms_of_word = decoded(self.dev.words, Path(), neural=neural, threads=self.threads)
            found = [next(iter(forms), "") for forms in forms_of_word]
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
            lowercase=self.settings.lowercase,
            remembered=best[1],
            attention=best[0],
            dev_words=len(self.dev.words),
            system_right=right[False, None],
            right=right[best],
        )
        write_json(_RECORD, asdict(choice))


def decoded(
    words: Sequence[str], folder: Path, *, neural: bool, size: int = 1, threads: int
) -> list[list[str]]:
    """Return up to ``size`` forms that a normaliser's system finds for each word, best first.

    Args:
        words: The words.
        folder: The folder of the normaliser.
        neural: Whether the attention model chooses among the forms.
        size: The maximum number of forms of a word.
        threads: The number of words to search at once.

    Raises:
        PhrasescoreError: The system in the folder cannot be used.
    """
    if not words:
        return []
    # only the folder of the tuned system has the file that lets the model choose
    base = (folder / _INI).parent if neural else folder
    system = f"../{_SYSTEM}" if neural else _SYSTEM
    # all files of the system are in its folder, wherever that was at the time of training
    ini = MosesIni.read(folder / _INI)
    ini = with_absolute_paths(ini, lambda path: f"{system}/{Path(path).name}")
    decoder, settings = Decoder(replace(ini, base=str(base))), read_settings(folder / _SYSTEM)
    tokens, form = Preprocessor(settings.source), Postprocessor(settings.target)
    found = decoder.translate([tokens(word) for word in words], nbest=size, threads=threads)
    return [[form(each.text) for each in forms] for forms in found]


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
        with only_regular_files(self._folder):
            neural, threads = self.choice.attention, self._threads
            made = decoded(unknown, self._folder, neural=neural, size=size, threads=threads)
        for word, forms in zip(unknown, made, strict=True):
            found[word] = list(dict.fromkeys([*found[word], *forms]))[:size]
        return found


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
