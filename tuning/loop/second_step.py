"""The second step of tuning: models and programs choose among the candidates of the dev set.

The search keeps its weights. The dev set is decoded into lists with them, the scores become
features of these lists, and a second set of weights is optimised over the lists. This is what
``decode --nbest``, ``nbest`` and ``optimize`` do one after the other. The result is the file
``rescoring.json`` of the tuned system, with copies of the models. Each part is a step of the
ledger.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from moses_integration.ini.edits import next_name
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.rescoring_file import (
    Rescoring,
    RescoringModel,
    check_names,
    place_model,
)
from moses_integration.tables.filtering import INI_NAME
from phrasescore.closed_settings import from_mapping
from phrasescore.errors import SettingsError, counted
from phrasescore.model.folder import load_model, load_weights
from phrasescore.model.kinds import kind_named
from phrasescore.runs.ledger import Ledger, Step
from tuning.loop.decoding import NBestDecoder, Say, text_tables
from tuning.loop.lists import ListOptimization, optimize_lists
from tuning.loop.score_benefit import benefit_in_words
from tuning.loop.tuning_settings import (
    OptimizationSettings,
    RescoredLists,
    ScoreBenefit,
    TuningSettings,
)
from tuning.metrics.score_tables import points

_SIZE = 100
_DEVICE = "auto"


@dataclass(frozen=True)
class Scores:
    """The scores that choose among the candidates.

    Args:
        models: The folder of each model, by the name of its feature.
        scorers: The command of each program, by the name of its feature.
        candidates: The maximum number of candidates of a sentence.
        start: The start weights of the features; 0 for a feature that has none.
    """

    models: Mapping[str, Path]
    scorers: Mapping[str, str]
    candidates: int
    start: Mapping[str, float]

    @classmethod
    def of(cls, settings: TuningSettings, ini: MosesIni) -> Scores | None:
        """Return the scores that the settings or the system's folder name; ``None`` if no one does.

        Raises:
            PhrasescoreError: A model cannot be used, or a name or a command is wrong or missing.
        """
        before = Rescoring.read(ini.base) if ini.base else None
        models: dict[str, Path] = {}
        if settings.rescore:
            models = _named(settings, ini)
        elif before is not None:
            folders = before.folders(Path(ini.base))
            models = dict(zip(before.names, folders, strict=False))
            for name in before.scorers:
                if name not in settings.scorers:
                    raise SettingsError(
                        f"the system has a feature {name}, which a program computes",
                        remedy=f"name the program: --rescore-scorer {name}='COMMAND'",
                    )
        names = [*models, *settings.scorers]
        if not names:
            return None
        check_names(names)
        if taken := set(names).intersection(FeatureLayout.from_ini(ini).names):
            raise SettingsError(
                f"the system has a feature {taken.pop()}", remedy="give another --rescore-name"
            )
        old = before.weights if before else {}
        start = {name: old[name][0] if name in old else 0.0 for name in names}
        size = settings.rescore_size or (before.candidates if before else _SIZE)
        return cls(models, settings.scorers, size, start)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(self.start)

    @cached_property
    def need_phrases(self) -> bool:
        """Whether a model scores the phrases of the candidates."""
        kinds = (kind_named(load_weights(path).settings.kind) for path in self.models.values())
        return not all(kind.of_sentences for kind in kinds)


def _named(settings: TuningSettings, ini: MosesIni) -> dict[str, Path]:
    """Return the folders of ``--rescore`` with their given names, or with names by kind."""
    names = list(settings.rescore_names)
    if names and len(names) != len(settings.rescore):
        given, models = counted(len(names), "name"), counted(len(settings.rescore), "model")
        raise SettingsError(f"{given} for {models}", remedy="give one --rescore-name for each")
    if not names:
        taken = [line.name for line in ini.features]
        for path in settings.rescore:
            feature = kind_named(load_weights(path).settings.kind).feature
            names.append(next_name([*taken, *names], feature))
    check_names(names)
    return dict(zip(names, map(Path, settings.rescore), strict=True))


@dataclass(frozen=True)
class TunedChoice:
    """The result of the second step.

    Args:
        lists: What the second weights choose in the lists of the dev set.
        weights: The second weights by feature.
        benefits: The estimated benefit of each score, and of all together.
    """

    lists: RescoredLists
    weights: dict[str, tuple[float, ...]]
    benefits: tuple[ScoreBenefit, ...]


def tune_choice(
    scores: Scores,
    settings: TuningSettings,
    decoder: NBestDecoder,
    weights: Mapping[str, tuple[float, ...]],
    best: Path,
    ledger: Ledger,
    say: Say,
) -> TunedChoice:
    """Find the second weights of a tuned system, and write its ``rescoring.json``.

    Args:
        scores: The scores.
        settings: The settings of tuning.
        decoder: The decoder of the dev set.
        weights: The weights of the search.
        best: The list of the round that decoded best, with these weights.
        ledger: The ledger in the work folder, which has the tuned ini.
        say: Prints a line for the user.
    """
    step = _SecondStep(scores, settings, decoder, weights, ledger, say)
    fits = scores.candidates == settings.nbest_size and not scores.need_phrases
    scored = step.scored(best if fits else step.decoded())
    tuned, placed = step.optimized(scored), step.placed_models()
    lists = tuned.lists
    say(
        f"rescoring: choosing among up to {scores.candidates} candidates of each sentence: "
        f"{settings.objective} {points(lists.start_score)} -> {points(lists.score)}"
    )
    for benefit in tuned.benefits:
        say(f"note: {benefit_in_words(benefit, str(settings.objective))}")
    Rescoring(
        candidates=scores.candidates,
        weights=tuned.weights,
        models=placed,
        scorers=tuple(scores.scorers),
    ).write(step.folder)
    return tuned


@dataclass(frozen=True)
class _SecondStep:
    """The steps of the ledger; the arguments are those of `tune_choice`."""

    scores: Scores
    settings: TuningSettings
    decoder: NBestDecoder
    weights: Mapping[str, tuple[float, ...]]
    ledger: Ledger
    say: Say

    @property
    def folder(self) -> Path:
        """The folder of the tuned system."""
        return self.ledger.folder.parent

    @property
    def _work(self) -> Path:
        return self.folder / "rescoring"

    def decoded(self) -> Path:
        """Decode the dev set with the weights of the search; return the list."""
        size, phrases = self.scores.candidates, self.scores.need_phrases
        nbest = self._work / "nbest.gz"

        def decode() -> dict[str, Any]:
            self.say(f"rescoring: decoding up to {size} candidates of each sentence")
            log = self._work / "decoder.log"
            self.decoder.write_nbest(self.weights, size, nbest, log, phrases=phrases)
            return {}

        settings = {"weights": self.weights, "size": size, "phrases": phrases}
        step = Step("rescoring.decode", decode, settings, (), (nbest,))
        self.ledger.do(step, self.say, outputs_are_whole=True)
        return nbest

    def scored(self, nbest: Path) -> Path:
        """Add the scores to a list; return the new list."""
        output, scores = self._work / "scored.gz", self.scores
        tables = text_tables(MosesIni.read(self.folder / "filtered" / INI_NAME))
        phrases = bool(scores.need_phrases and tables)

        def score() -> dict[str, Any]:
            from moses_integration.nbest.rescoring import (
                NBestModel,
                read_table_words,
                rescore_nbest,
            )

            self.say(f"rescoring: computing {', '.join(scores.names)}")
            words = set().union(*map(read_table_words, tables)) if phrases else None
            models = [
                NBestModel.load(name, path, load_model(path), _DEVICE)
                for name, path in scores.models.items()
            ]
            source = self.settings.source
            rescore_nbest(nbest, source, output, models, words, programs=scores.scorers)
            return {}

        settings = {"models": list(scores.models), "scorers": dict(scores.scorers)}
        inputs = (nbest, *scores.models.values(), *(tables if phrases else ()))
        self.ledger.do(Step("rescoring.score", score, settings, inputs, (output,)), self.say)
        return output

    def optimized(self, scored: Path) -> TunedChoice:
        """Return the second weights, and what they bring."""
        ini, scores = self.folder / INI_NAME, self.scores
        asked = {
            field.name: getattr(self.settings, field.name)
            for field in dataclasses.fields(OptimizationSettings)
        }
        task = ListOptimization(lists=(str(scored),), start=str(ini), **asked)

        def optimize() -> dict[str, Any]:
            report = optimize_lists(task, scores.start)
            told = [benefit_in_words(each, str(task.objective)) for each in report.benefits]
            for note in (note for note in report.notes if note not in told):
                self.say(f"note: {note}")
            lists = RescoredLists(scores.candidates, report.score, report.start_score)
            shown = {
                each.name: [
                    weight
                    for weight, is_tuned in zip(
                        report.weights[each.name], each.tuneable, strict=True
                    )
                    if is_tuned
                ]
                for each in FeatureLayout.from_ini(MosesIni.read(ini)).features
                if any(each.tuneable)
            }
            shown |= {name: list(report.weights[name]) for name in scores.names}
            return {
                "lists": dataclasses.asdict(lists),
                "weights": shown,
                "benefits": [dataclasses.asdict(each) for each in report.benefits],
            }

        settings = {**asked, "start": scores.start, "objective": str(task.objective)}
        for name in ("references", "threads"):
            del settings[name]
        inputs = (scored, ini, *map(Path, task.references))
        step = Step("rescoring.optimize", optimize, settings, inputs, ())
        outcome = self.ledger.do(step, self.say)
        return from_mapping(TunedChoice, outcome.counts, where=str(self.ledger.path(step.name)))

    def placed_models(self) -> tuple[RescoringModel, ...]:
        """Copy the models into the folder of the system."""
        placed = []
        for name, path in self.scores.models.items():

            def place(name: str = name, path: Path = path) -> dict[str, Any]:
                place_model(path, name, self.folder)
                return {}

            copy = self.folder / "models" / name
            self.ledger.do(Step(f"rescoring.{name}", place, {}, (path,), (copy,)), self.say)
            placed.append(place_model(path, name, self.folder))
        return tuple(placed)
