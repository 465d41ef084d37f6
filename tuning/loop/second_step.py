"""The second step of tuning: models and programs choose among the candidates of the dev set.

The search keeps its weights. The dev set is decoded into lists with them, the scores become
features of these lists, and a second set of weights is optimised over the lists. This is what
``decode --nbest``, ``nbest`` and ``optimize`` do one after the other. The result is the file
``rescoring.json`` of the tuned system, with copies of the models. Decoding, scoring and optimising
are steps of the ledger.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from moses_integration.ini.model_files import text_tables
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.rescoring_file import Rescoring, check_names, names_by_kind, place_model
from moses_integration.tables.copying import INI_NAME
from phrasescore.closed_settings import from_mapping
from phrasescore.model.folder import read_kind
from phrasescore.runs.ledger import Ledger, Step
from phrasescore.runs.progress import Say
from tuning.loop.decoding import FILTERED, NBestDecoder
from tuning.loop.lists import ListOptimization, optimize_lists
from tuning.loop.tuning_settings import OptimizationSettings, TunedChoice, TuningSettings
from tuning.loop.weights import WeightPlan
from tuning.metrics.metric_settings import points

_SIZE = 100
_OPTIMIZATION = [field.name for field in dataclasses.fields(OptimizationSettings)]


@dataclass(frozen=True)
class Scores:
    """The scores that choose among the candidates.

    Args:
        models: The folder of each model, by the name of its feature.
        scorers: The command of each program, by the name of its feature.
        candidates: The maximum number of candidates of a sentence.
        start: The start weight of each feature.
    """

    models: Mapping[str, Path]
    scorers: Mapping[str, str]
    candidates: int
    start: Mapping[str, float]

    @classmethod
    def of(cls, settings: TuningSettings, ini: MosesIni) -> Scores | None:
        """Return the scores that the settings or the folder of the system name, if any.

        Raises:
            PhrasescoreError: A model cannot be used, or a name or a command is wrong or missing.
        """
        before = Rescoring.read(ini.base)
        models: dict[str, Path] = {}
        if settings.rescore:
            named = names_by_kind(settings.rescore, [line.name for line in ini.features])
            models = dict(zip(named, map(Path, settings.rescore), strict=True))
        elif before is not None:
            found = zip(before.models, before.folders(Path(ini.base)), strict=True)
            models = {model.name: path for model, path in found}
            before.commands(settings.scorers, Path(ini.base), "--rescore-scorer")
        if not (names := [*models, *settings.scorers]):
            return None
        check_names(names, (line.name for line in ini.features))
        # the old weights fit those of the old search, so a score starts at 0 unless it is frozen
        old = before.weights if before else {}
        kept = old.keys() & set(settings.freeze)
        start = {name: old[name][0] if name in kept else 0.0 for name in names}
        size = settings.rescore_size or (before.candidates if before else _SIZE)
        return cls(models, settings.scorers, size, start)

    @cached_property
    def need_phrases(self) -> bool:
        """Whether a model scores the phrases of the candidates."""
        return not all(read_kind(path).of_sentences for path in self.models.values())


@dataclass(frozen=True)
class SecondStep:
    """The steps that find the second weights of a tuned system.

    Args:
        scores: The scores that choose.
        settings: The settings of tuning.
        decoder: The decoder of the dev set.
        weights: The weights of the search.
        best: The list of the round that decoded best, with these weights.
        ledger: The ledger in the work folder, which has the tuned ini.
        say: Prints a line for the user.
    """

    scores: Scores
    settings: TuningSettings
    decoder: NBestDecoder
    weights: Mapping[str, tuple[float, ...]]
    best: Path
    ledger: Ledger
    say: Say

    def run(self) -> tuple[TunedChoice, Rescoring]:
        """Find the second weights, and copy the models; ``rescoring.json`` is for the caller.

        Raises:
            PhrasescoreError: A model or program cannot be used; finished steps stay.
        """
        scores = self.scores
        tuned = self._optimized(self._scored(self._listed()))
        placed = (place_model(path, name, self._folder) for name, path in scores.models.items())
        rescoring = Rescoring(
            candidates=scores.candidates,
            weights=tuned.weights,
            models=tuple(placed),
            scorers=tuple(scores.scorers),
        )
        objective = str(self.settings.objective)
        self.say(
            f"rescoring: choosing among up to {scores.candidates} candidates of each sentence: "
            f"{objective} {points(tuned.start_score)} -> {points(tuned.score)}"
        )
        for benefit in tuned.benefits:
            self.say(f"note: {benefit.in_words(objective)}{benefit.unused_by('rescoring')}")
        return tuned, rescoring

    @property
    def _folder(self) -> Path:
        """The work folder, which becomes the tuned system."""
        return self.ledger.folder.parent

    def _file(self, name: str) -> Path:
        return self._folder / "rescoring" / name

    def _listed(self) -> Path:
        """Return the list of the best round, or decode the dev set once more for another list."""
        size, phrases = self.scores.candidates, self.scores.need_phrases
        if size == self.settings.nbest_size and not phrases:
            return self.best
        nbest, log = self._file("nbest.gz"), self._file("decoder.log")

        def decode() -> None:
            self.say(f"rescoring: decoding up to {size} candidates of each sentence")
            decoder = dataclasses.replace(self.decoder, shows_phrases=phrases)
            decoder.write_nbest(self.weights, size, nbest, log)

        settings = {"weights": self.weights, "size": size, "phrases": phrases}
        step = Step("rescoring.decode", decode, settings, (), (nbest,))
        self.ledger.do(step, self.say, outputs_are_whole=True)
        return nbest

    def _scored(self, nbest: Path) -> Path:
        """Add the scores to a list; return the new list."""
        scores, output = self.scores, self._file("scored.gz")
        filtered = MosesIni.read(self._folder / FILTERED / INI_NAME)
        tables = text_tables(filtered) if scores.need_phrases else []

        def score() -> None:
            from moses_integration.nbest import rescoring

            self.say(f"rescoring: computing {', '.join(scores.start)}")
            words = set().union(*map(rescoring.read_table_words, tables)) if tables else None
            models = [*map(rescoring.NBestModel.load, scores.models, scores.models.values())]
            source = self.settings.source
            task = rescoring.NBestRescoring(nbest, source, models, words, programs=scores.scorers)
            task.write(output)

        settings = {"models": list(scores.models), "scorers": dict(scores.scorers)}
        inputs = (nbest, *scores.models.values(), *tables)
        self.ledger.do(Step("rescoring.score", score, settings, inputs, (output,)), self.say)
        return output

    def _optimized(self, scored: Path) -> TunedChoice:
        """Return the second weights, and what they bring."""
        ini, scores = self._folder / INI_NAME, self.scores
        asked = {name: getattr(self.settings, name) for name in _OPTIMIZATION}
        task = ListOptimization(lists=(str(scored),), start=str(ini), **asked)

        def optimize() -> dict[str, Any]:
            report = optimize_lists(task, scores.start)
            # `run` tells the benefits, also of a step that an earlier call has done
            told = [each.in_words(str(task.objective)) for each in report.benefits]
            for note in (note for note in report.notes if note not in told):
                self.say(f"note: {note}")
            plan = WeightPlan.from_ini(MosesIni.read(ini))
            search = {name: report.weights.get(name, old) for name, old in plan.start.items()}
            shown = dataclasses.replace(plan, start=search).shown
            shown |= {name: report.weights[name] for name in scores.start}
            return {
                **{name: getattr(report, name) for name in ("score", "start_score")},
                "weights": {name: list(weights) for name, weights in shown.items()},
                "benefits": [dataclasses.asdict(each) for each in report.benefits],
            }

        # without inputs, and without what changes no result
        settings = {**task.without("lists", "references", "threads"), "start": scores.start}
        inputs = (scored, ini, *map(Path, task.references))
        step = Step("rescoring.optimize", optimize, settings, inputs, ())
        counts = self.ledger.do(step, self.say).counts
        found = from_mapping(TunedChoice, counts, where=str(self.ledger.path(step.name)))
        return dataclasses.replace(found, candidates=scores.candidates)
