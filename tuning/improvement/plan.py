"""Plans the steps of ``improve``: the command lines that a user would type, in their order.

All outputs are in one folder:

* ``build/``: the system, if the command begins with parallel text, and ``dev.source`` and
  ``dev.target``, the dev set prepared like its text (and ``more.target.gz``, further text);
  otherwise ``start/``, the given system;
* ``baseline/``: the tuned system without new parts;
* ``speed.N/``: a phrase model that measured the speed of a training that is planned for N seconds;
* ``models/NAME/``: the trained models; ``phrase-table.gz``: the table with a new score;
* ``inis/``: the tuned baseline with new parts, before their tuning;
* ``all/`` and ``kept/``: the tuned systems with all new parts, and with those that help;
* ``dev.NAME.txt`` and ``comparison.json``: translations of the dev set, and their comparison;
* ``system/``: the result; ``steps/``: a stamp and a log for each step.
"""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from moses_integration.doctor.texts import Text
from moses_integration.ini.edits import find_table_feature
from moses_integration.ini.model_files import find_text_table
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.system_building.build_settings import SystemFolder
from moses_integration.tables.copying import INI_NAME
from phrasescore.errors import InputError
from phrasescore.model.kinds import kind_named
from phrasescore.runs.processes import usable_cores
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import SIDES, line_tokens
from phrasescore.training.model_size import hidden_for, smallest
from phrasescore.words import SHORTLIST_WORDS
from tuning.experiment.runner import PROGRAM, CommandStep, command_step
from tuning.loop.tuning_settings import OptimizationSettings
from tuning.loop.weights import WEIGHTS


@dataclass(frozen=True)
class Part:
    """A part that a system may gain.

    Args:
        name: Its name in files and on the page.
        kind: The kind of its model, as for ``train --kind``.
        share: Its share of the time for training, relative to the parts of its lane. On Multi30k
            (docs/results-detail.md), the sentence model brings most and learns longest. The
            language model learns fastest: with an equal share, it needed a tenth of it for all its
            passes over 6,000 pairs of news, while the phrase model made 0.7.
        passes: Its passes over its examples, as a share of the sentence model's. On Multi30k, 2, 8
            and 14 passes were enough.
    """

    name: str
    kind: str
    share: float
    passes: float

    @property
    def training(self) -> str:
        """The name of the step that trains its model."""
        return f"train.{self.name}"


PHRASE = Part("phrase-model", "phrase", 0.3, 2 / 14)
LANGUAGE = Part("language-model", "feed-forward-lm", 0.1, 8 / 14)
SENTENCE = Part("sentence-model", "search", 0.6, 1)
PARTS = (PHRASE, LANGUAGE, SENTENCE)
Parts = Sequence[Part]
# A training that is planned for more passes over little text stops before its rate has fallen:
# on Indonesian with 6.41 nats a word on unseen sentences, instead of 6.28 with 3 passes.
_MOST_PASSES_OF_TEXT = 5
_SECONDS_TO_MEASURE = 10
# With few words, fewer merges leave pieces that are frequent enough to be learnt.
_MERGES, _FEW_MERGES, _MANY_WORDS = 5000, 2000, 250_000


def part_of(score: str) -> Part:
    """Return the part that a new score, named as in weights, belongs to."""
    named = (part for part in PARTS if score.startswith(kind_named(part.kind).feature))
    return next(named, PHRASE)


def tuning_of(name: str) -> str:
    """Return the name of the step that tunes a system."""
    return f"tune.{name}"


def _step(
    name: str,
    *words: object,
    marks: Sequence[str] = (),
    reads: Sequence[Path] = (),
    limits: Mapping[str, float] = {},
) -> CommandStep:
    """Return a step whose last word is its output.

    Args:
        name: The name of the step.
        words: The command and its arguments.
        marks: Files that a folder has when the work on it is complete.
        reads: Further inputs, which an ini names.
        limits: Options that are limits; see ``command_step``.
    """
    output = Path(str(words[-1]))
    outputs = [output / mark for mark in marks] or [output]
    state = output if marks else output.with_name(f"{output.name}.training")
    return command_step(name, [PROGRAM, *words], outputs, reads, state=state, limits=limits)


@dataclass(frozen=True)
class ImprovePlan:
    """The files and steps of an improvement; all paths are absolute.

    Args:
        folder: The folder of all outputs.
        system: The system, or its moses.ini; ``None`` to build one from the parallel text.
        parallel: The parallel text, source and target.
        dev: The source and the reference of the dev set.
        build: Options of ``build``.
        target_text: More text of the target language, if any.
        seed: The seed of trainings and tunings.
        cores: The cores of this machine.
    """

    folder: Path
    system: Path | None
    parallel: tuple[Path, Path]
    dev: tuple[Path, Path]
    build: tuple[str, ...] = ()
    target_text: Path | None = None
    seed: int = OptimizationSettings.seed
    cores: int = field(default_factory=usable_cores)

    @property
    def lanes(self) -> Sequence[Parts]:
        """The parts that are trained one after the other; lanes run at the same time.

        Small models train as fast on one core as on two, so two trainings share the cores.
        """
        return ((SENTENCE,), (PHRASE, LANGUAGE)) if self.cores > 1 else (PARTS,)

    @property
    def threads(self) -> int:
        """The cores of a training."""
        return max(1, self.cores // len(self.lanes))

    @property
    def start(self) -> Path:
        """The folder of the system without new parts, untuned."""
        return self.folder / ("start" if self.system else "build")

    @property
    def texts(self) -> tuple[Path, Path]:
        """The parallel text in the system's tokens."""
        return self.parallel if self.system else SystemFolder(self.start).texts

    @property
    def dev_texts(self) -> tuple[Path, Path]:
        """The dev set in the system's tokens."""
        return self.dev if self.system else (self.folder / "dev.source", self.folder / "dev.target")

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The given texts."""
        more = () if self.target_text is None else (self.target_text,)
        return *self.parallel, *self.dev, *more

    @property
    def target_texts(self) -> tuple[Path, ...]:
        """The texts of the target language, in the system's tokens."""
        if self.target_text is None:
            return self.texts[1:]
        more = self.target_text if self.system else self.folder / "more.target.gz"
        return self.texts[1], more

    @property
    def table(self) -> Path:
        """The phrase table of the system without new parts.

        Raises:
            IniError: The system has several tables, or none in text form.
            InputError: The table does not exist.
        """
        if self.system is None:
            return SystemFolder(self.start).tables[0]
        feature = find_table_feature(MosesIni.read(self.system))
        if (table := find_text_table(feature)) is None:
            raise InputError("no such table in text form", path=feature.options.get("path", ""))
        return table.absolute()

    def first_steps(self) -> Iterator[CommandStep]:
        """Yield the steps up to the decoding with the untuned system."""
        start = self.start
        if self.system is None:
            folder = SystemFolder(start, len(self.target_texts))
            made = (*folder.texts, *folder.tables, *folder.language_models, *folder.inis[::-1])
            marks = [path.name for path in made]
            more = [] if self.target_text is None else ["--language-model-text", self.target_text]
            yield _step("build", "build", *self.build, *more, *self.parallel, start, marks=marks)
            raw: list[tuple[str, str, Path, Path]] = [
                *zip(SIDES, SIDES, self.dev, self.dev_texts, strict=True)
            ]
            if self.target_text is not None:
                raw.append(("more", "target", self.target_text, self.target_texts[1]))
            for name, side, given, text in raw:
                asked = "--system", folder.inis[1].parent, "--side", side
                yield _step(f"prepare.{name}", "preprocess", given, *asked, "-o", text)
        else:
            yield _step("start", "ini", "absolute-paths", self.system, "-o", start / INI_NAME)
        yield self.decode("untuned", start)

    def tune(self, name: str, parts: Parts, rounds: float) -> CommandStep:
        """Return the step that tunes the baseline, or the baseline with new parts."""
        words: list[object] = ["tune", self._untuned(parts), "--source", self.dev_texts[0]]
        words += ["--reference", self.dev_texts[1], *self._seeded]
        marks = [INI_NAME, WEIGHTS]
        if SENTENCE in parts:
            words += ["--rescore", self.model(SENTENCE)]
            marks.append("rescoring.json")
        reads = [self._scored if PHRASE in parts else self.table]
        reads += [self.model(LANGUAGE)] if LANGUAGE in parts else []
        words += ["-o", self.folder / name]
        return _step(tuning_of(name), *words, marks=marks, reads=reads, limits={"--rounds": rounds})

    def train(self, part: Part, option: str, limit: float) -> CommandStep:
        """Return the step that trains the model of a part.

        Args:
            part: The part.
            option: ``--max-time``, for which ``train`` itself chooses the size of the model, or
                ``--max-epochs``.
            limit: The seconds of the training, or the number of passes.
        """
        options: list[object] = ["--kind", part.kind, "--threads", self.threads, *self._seeded]
        is_time = option == "--max-time"
        counts = Counter(Text.read(self.texts[1]).tokens())
        words = counts.total()
        if part is LANGUAGE:
            if is_time:
                options += ["--max-epochs", _MOST_PASSES_OF_TEXT]
            options += ["--self-normalise", "--target-words", self._words_of_text(counts)]
        elif not is_time:
            hidden = hidden_for("sentences" if part is SENTENCE else "phrases", words)
            options += ["--hidden", hidden]
            if part is SENTENCE:
                options += ["--embedding", hidden // 2, "--rank", hidden // 2]
        if part is SENTENCE and importlib.util.find_spec("subword_nmt"):
            options += ["--byte-pairs", _MERGES if words >= _MANY_WORDS else _FEW_MERGES]
        inputs = {PHRASE: (self.table,), LANGUAGE: self.target_texts, SENTENCE: self.texts}[part]
        options += [*inputs, self.model(part)]
        return _step(part.training, "train", *options, limits={option: limit})

    def _words_of_text(self, counts: Counter[bytes]) -> int:
        """Return how many words the language model knows.

        Words that occur once teach it what an unknown word is. More text adds words up to the
        usual number.

        Args:
            counts: How often each word of the parallel text occurs; those of more text are added.
        """
        own = sum(count > 1 for count in counts.values())
        for text in self.target_texts[1:]:
            for line in read_lines(text):
                counts.update(line_tokens(line))
        return max(1, own, min(sum(count > 1 for count in counts.values()), SHORTLIST_WORDS))

    def measure(self, time: float) -> CommandStep:
        """Return the step that trains a small phrase model for some seconds, to measure its speed.

        For another time, the speed is measured again, because the machine may have been busy.

        Args:
            time: The seconds planned for the training of the phrase model.
        """
        seconds = min(_SECONDS_TO_MEASURE, math.ceil(time / 4))
        words: list[object] = ["train", "--kind", PHRASE.kind, "--hidden", smallest("phrases")]
        words += ["--threads", self.threads, "--max-time", f"{seconds}s"]
        words += ["--evaluations", 1]  # more would take most of these seconds
        name = f"speed.{time:.0f}"
        return _step(name, *words, self.table, self.folder / name)

    def add(self, parts: Parts) -> Iterator[CommandStep]:
        """Yield the steps that add parts to the baseline: a column and a language model."""
        before, made = self._untuned((SENTENCE,)), ("--absolute-paths", "-o")
        if PHRASE in parts:
            score = "score", "--model", self.model(PHRASE), self.table, "-o", self._scored
            yield _step("score", *score)
            column = "ini", "add-column", before, "--table", self._scored
            before = self._untuned((PHRASE,))
            yield _step("ini.column", *column, *made, before)
        if LANGUAGE in parts:
            added = "ini", "add-language-model", before, "--model", self.model(LANGUAGE)
            after = self._untuned(parts)
            yield _step(f"ini.{after.stem}", *added, *made, after)

    def decode(self, name: str, system: Path) -> CommandStep:
        """Return the step that translates the dev set."""
        words = "decode", system, "-i", self.dev_texts[0], "-o", self.folder / f"dev.{name}.txt"
        return _step(f"decode.{name}", *words)

    def compare(self, name: str) -> Iterator[CommandStep]:
        """Yield the steps that compare a system with the baseline on the dev set."""
        texts: list[Path] = []
        for each in ("baseline", name):
            yield (step := self.decode(each, self.folder / each))
            texts += step.outputs
        words = ["compare", "--reference", self.dev_texts[1], "--metric", "bleu"]
        words += ["--baseline", texts[0], "--system", texts[1], "--json-file", self.comparison]
        yield _step("compare", *words)

    @property
    def comparison(self) -> Path:
        """The record of the comparison."""
        return self.folder / "comparison.json"

    def pack(self, name: str) -> CommandStep:
        """Return the step that copies a tuned system to a folder that contains all its files."""
        return _step("pack", "ini", "pack", self.folder / name, self.folder / "system")

    @property
    def _seeded(self) -> Sequence[object]:
        return () if self.seed == OptimizationSettings.seed else ("--seed", self.seed)

    @property
    def _scored(self) -> Path:
        return self.folder / "phrase-table.gz"

    def model(self, part: Part) -> Path:
        """Return the folder of the model of a part."""
        return self.folder / "models" / part.name

    def _untuned(self, parts: Parts) -> Path:
        """Return the system to tune: the given one without parts, else an ini with the parts."""
        names = [part.name for part in parts if part is not SENTENCE]
        if names:
            return self.folder / "inis" / f"{'+'.join(names)}.ini"
        return self.folder / "baseline" if parts else self.start
