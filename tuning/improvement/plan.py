"""Plans the steps of ``improve``: the command lines that a user would type, in their order.

All outputs are in one folder:

* ``build/``: the system, if the command begins with parallel text, and ``dev.source`` and
  ``dev.target``, the dev set prepared like its text; otherwise ``start/``, the given system;
* ``baseline/``: the tuned system without new parts; ``untuned.txt``: a first, timed decoding;
* ``models/NAME/``: the trained models; ``phrase-table.gz``: the table with a new score;
* ``inis/``: the tuned baseline with new parts, before their tuning;
* ``all/`` and ``kept/``: the tuned systems with all new parts, and with those that help;
* ``dev.NAME.txt`` and ``comparison.json``: their translations of the dev set, and the comparison;
* ``system/``: the result; ``steps/``: a stamp and a log for each step.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from moses_integration.ini.edits import find_table_feature, next_name
from moses_integration.ini.model_files import find_text_table
from moses_integration.ini.moses_ini import MosesIni, ini_of
from moses_integration.system_building.build_settings import SystemFolder
from moses_integration.tables.filtering import INI_NAME
from moses_integration.text.preparation import SETTINGS_FILE
from phrasescore.errors import InputError
from phrasescore.model.kinds import Material, kind_named
from phrasescore.table.phrase_table import SIDES
from phrasescore.training.sizes import hidden_for
from tuning.experiment.plan import PROGRAM, CommandStep, Words, command_step
from tuning.loop.weights import WEIGHTS


@dataclass(frozen=True)
class Part:
    """A part that a system may gain.

    Args:
        name: Its name in files and on the page.
        kind: The kind of its model, as for ``train --kind``.
        share: Its share of the time for training. On Multi30k, the sentence model brings most and
            learns longest; the language model needs a tenth of that time (docs/results.md).
    """

    name: str
    kind: str
    share: float

    @property
    def learns_from(self) -> Material:
        """The material that the model learns from."""
        return kind_named(self.kind).learns_from


PHRASE = Part("phrase-model", "phrase", 0.2)
LANGUAGE = Part("language-model", "feed-forward-lm", 0.1)
SENTENCE = Part("sentence-model", "search", 0.7)
PARTS = (PHRASE, LANGUAGE, SENTENCE)
Parts = Sequence[Part]
# With few words, fewer merges leave pieces that are frequent enough to be learnt.
_MERGES, _FEW_MERGES, _MANY_WORDS = 5000, 2000, 250_000


@dataclass(frozen=True)
class TrainingText:
    """The amount of training text.

    Args:
        words: The number of words of the target side.
        repeated: The number of distinct target words that occur at least twice; the language model
            learns from the others what an unknown word is.
    """

    words: int
    repeated: int

    def options(self, part: Part, limit: float, *, is_time: bool) -> list[str]:
        """Return the options of ``train`` for a part.

        Args:
            part: The part.
            limit: The seconds, or the number of passes, of its training.
            is_time: Whether ``limit`` is a time, for which ``train`` itself chooses the size.
        """
        options = ["--max-time" if is_time else "--max-epochs", f"{limit:.0f}" + "s" * is_time]
        if part is LANGUAGE:
            return [*options, "--self-normalise", "--target-words", str(max(1, self.repeated))]
        if not is_time:
            hidden = hidden_for(part.learns_from, self.words)
            options += ["--hidden", str(hidden)]
            if part is SENTENCE:
                options += ["--embedding", str(hidden // 2), "--rank", str(hidden // 2)]
        if part is SENTENCE:
            options += ["--learning-rate", "0.0015"]
            if importlib.util.find_spec("subword_nmt"):
                merges = _MERGES if self.words >= _MANY_WORDS else _FEW_MERGES
                options += ["--byte-pairs", str(merges)]
        return options


@dataclass(frozen=True)
class ImprovePlan:
    """The files and steps of an improvement; all paths are absolute.

    Args:
        folder: The folder of all outputs.
        system: The system, or its moses.ini; ``None`` to build one from the parallel text.
        parallel: The parallel text, source and target.
        dev: The source and the reference of the dev set.
        build: Options of ``build``.
    """

    folder: Path
    system: Path | None
    parallel: tuple[Path, Path]
    dev: tuple[Path, Path]
    build: tuple[str, ...] = ()

    @property
    def start(self) -> Path:
        """The folder of the system without new parts, untuned."""
        return self.folder / ("build" if self.system is None else "start")

    @property
    def texts(self) -> tuple[Path, Path]:
        """The parallel text in the system's tokens."""
        return SystemFolder(self.start).texts if self.system is None else self.parallel

    @property
    def dev_texts(self) -> tuple[Path, Path]:
        """The dev set in the system's tokens."""
        if self.system is not None:
            return self.dev
        return self.folder / "dev.source", self.folder / "dev.target"

    @property
    def table(self) -> Path:
        """The phrase table of the system without new parts.

        Raises:
            IniError: The system has several tables, or none in text form.
            InputError: The table does not exist.
        """
        if self.system is None:
            return SystemFolder(self.start).tables[0]
        ini = MosesIni.read(ini_of(str(self.start if self.start.exists() else self.system)))
        feature = find_table_feature(ini)
        if (table := find_text_table(feature)) is None:
            raise InputError("no such table in text form", path=feature.options.get("path", ""))
        return table

    def first_steps(self) -> Iterator[CommandStep]:
        """Yield the steps up to the decoding with the untuned system."""
        ini = self.start / INI_NAME
        if self.system is None:
            made = SystemFolder(self.start)
            words: Words = [PROGRAM, "build", *self.parallel, self.start, *self.build]
            # the ini comes last: without it, the build is not finished
            outputs = [*made.texts, *made.tables, *made.language_models, *made.inis[::-1]]
            yield command_step("build", words, self.parallel, outputs, state=self.start)
            for side, raw, text in zip(SIDES, self.dev, self.dev_texts, strict=True):
                words = [PROGRAM, "preprocess", raw, "--system", self.start, "--side", side]
                inputs = [raw, self.start / SETTINGS_FILE]
                yield command_step(f"prepare.{side}", [*words, "-o", text], inputs, [text])
        else:
            words = [PROGRAM, "ini", "absolute-paths", self.system, "-o", ini]
            yield command_step("start", words, [Path(ini_of(str(self.system)))], [ini])
        yield self.decode("untuned", self.start, self.folder / "untuned.txt")

    def tune(self, name: str, rounds: int, parts: Parts = ()) -> CommandStep:
        """Return the step that tunes the baseline, or the baseline with new parts."""
        system, output = self._untuned(parts), self.folder / name
        (source, reference), models = self.dev_texts, self._models(parts)
        words: Words = [PROGRAM, "tune", system, "--source", source, "--reference", reference]
        words += ["-o", output, "--rounds", rounds]
        outputs = [output / INI_NAME, output / WEIGHTS]
        if SENTENCE in parts:
            words += ["--rescore", self._model(SENTENCE), "--rescore-name", self._feature(SENTENCE)]
            outputs.append(output / "rescoring.json")
        inputs = [Path(ini_of(str(system))), self.table, *models, source, reference]
        return command_step(f"tune.{name}", words, inputs, outputs, state=output)

    def train(self, part: Part, options: Sequence[str]) -> CommandStep:
        """Return the step that trains the model of a part."""
        model = self._model(part)
        inputs = {"phrases": [self.table], "text": [self.texts[1]], "sentences": [*self.texts]}
        files = inputs[part.learns_from]
        words = [PROGRAM, "train", *files, model, "--kind", part.kind, *options]
        state = model.with_name(f"{model.name}.training")
        return command_step(f"train.{part.name}", words, files, [model], state=state)

    def add(self, parts: Parts) -> Iterator[CommandStep]:
        """Yield the steps that add parts to the baseline: a column and a language model."""
        scored = self.folder / "phrase-table.gz"
        before = self.folder / "baseline"
        if PHRASE in parts:
            model = self._model(PHRASE)
            words: Words = [PROGRAM, "score", "--model", model, self.table, "-o", scored]
            yield command_step("score", words, [model, self.table], [scored])
            words = [PROGRAM, "ini", "add-column", before, "--table", scored]
            yield self._add("column", words, before, scored, (PHRASE,))
            before = self._untuned((PHRASE,))
        if LANGUAGE in parts:
            model = self._model(LANGUAGE)
            words = [PROGRAM, "ini", "add-language-model", before, "--model", model]
            words += ["--name", self._feature(LANGUAGE)]
            added = tuple(part for part in (PHRASE, LANGUAGE) if part in parts)
            yield self._add("language-model", words, before, model, added)

    def _add(self, what: str, words: Words, before: Path, new: Path, parts: Parts) -> CommandStep:
        after = self._untuned(parts)
        words = [*words, "--absolute-paths", "-o", after]
        name = f"ini.{'.'.join(part.name for part in parts)}"
        return command_step(name, words, [Path(ini_of(str(before))), new], [after])

    def decode(self, name: str, system: Path, output: Path) -> CommandStep:
        """Return the step that translates the dev set."""
        source = self.dev_texts[0]
        words = [PROGRAM, "decode", system, "-i", source, "-o", output]
        return command_step(f"decode.{name}", words, [Path(ini_of(str(system))), source], [output])

    def compare(self, name: str) -> Iterator[CommandStep]:
        """Yield the steps that compare a system with the baseline on the dev set."""
        texts = []
        for each in ("baseline", name):
            texts.append(self.folder / f"dev.{each}.txt")
            yield self.decode(each, self.folder / each, texts[-1])
        found, reference = self.comparison, self.dev_texts[1]
        words = [PROGRAM, "compare", "--reference", reference, "--metric", "bleu"]
        words += ["--baseline", texts[0], "--system", texts[1], "--json-file", found]
        yield command_step("compare", words, [*texts, reference], [found])

    @property
    def comparison(self) -> Path:
        """The record of the comparison."""
        return self.folder / "comparison.json"

    def pack(self, name: str) -> CommandStep:
        """Return the step that copies a tuned system to a folder that contains all its files."""
        system, output = self.folder / name, self.folder / "system"
        words = [PROGRAM, "ini", "pack", system, output]
        return command_step("pack", words, [system / INI_NAME, system / WEIGHTS], [output])

    def component(self, part: Part) -> str:
        """Return the name of a part's score among the components of weights."""
        if part is not PHRASE:
            return self._feature(part)
        ini = MosesIni.read(self.folder / "baseline" / INI_NAME)
        table = find_table_feature(ini)
        return f"{table.name}_{len(ini.weights[table.name])}"

    def _feature(self, part: Part) -> str:
        """Return a free name for the feature of a part."""
        taken = {each.name for each in MosesIni.read(self.start / INI_NAME).features}
        return next_name(taken, kind_named(part.kind).feature)

    def _model(self, part: Part) -> Path:
        return self.folder / "models" / part.name

    def _models(self, parts: Parts) -> list[Path]:
        return [self._model(part) for part in parts]

    def _untuned(self, parts: Parts) -> Path:
        """Return the system to tune: the given one without parts, else an ini with the parts."""
        names = [part.name for part in parts if part is not SENTENCE]
        if names:
            return self.folder / "inis" / f"{'.'.join(names)}.ini"
        return self.folder / "baseline" if parts else self.start
