"""Tuning from files to files: one run, or several that differ in their seeds, in a work folder."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moses_integration.bleu.statistics import ReferenceLength
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.table_feature import path_keys
from phrasescore.errors import CorpusError, IniError
from phrasescore.files import sha256_of, write_atomically
from phrasescore.provenance import provenance, write_json
from tuning.loop.decoding import DecoderSettings, prepare, read_source
from tuning.loop.outer_loop import NBestDecoder, Say, StopRules, Tuning, TuningResult, TuningTask
from tuning.loop.weight_plan import WeightPlan
from tuning.loop.work_folder import WorkFolder
from tuning.metrics.candidate_statistics import CandidateStatistics
from tuning.metrics.objective import Objective
from tuning.optimizers.optimizer_settings import OptimizerSettings

# they would overrule the weights of every round
_OTHER_WEIGHTS = ("weight-overwrite", "feature-overwrite", "alternate-weight-setting")


@dataclass(frozen=True)
class TuningSettings:
    """What to tune, and how.

    Args:
        ini: The system; its paths resolve against the current directory.
        source: The dev set, tokenised.
        references: Its translations.
        optimizer: Finds weights for given lists.
        decoder: Makes lists.
        stop: When a run ends.
        nbest_size: How many different translations of a sentence a round asks for.
        seed: Of the first run; the next have the next ones.
        runs: How many runs.
        objective: What is maximised.
        reference_length: ``closest``, ``shortest`` or ``average``.
        freeze: Names of features or components whose weights stay.
        bounds: Bounds of weights, ``NAME=LOW..HIGH``.
    """

    ini: str
    source: str
    references: tuple[str, ...]
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    decoder: DecoderSettings = field(default_factory=DecoderSettings)
    stop: StopRules = field(default_factory=StopRules)
    nbest_size: int = 100
    seed: int = 1
    runs: int = 1
    objective: Objective = field(default_factory=Objective)
    reference_length: str = "closest"
    freeze: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()

    @property
    def seeds(self) -> tuple[int, ...]:
        """One for each run."""
        return tuple(range(self.seed, self.seed + self.runs))

    def identity(self, ini: MosesIni) -> dict[str, Any]:
        """Return what makes a run this run, as JSON values.

        When to stop, how many runs there are and how many threads work is not part of it: a
        folder may continue for longer.
        """
        models = {
            f"{line.name} {key}": _size(line.options[key])
            for line in ini.features
            for key in path_keys(line)
        }
        return {
            "moses.ini": sha256_of(self.ini),
            "source": sha256_of(self.source),
            "references": [sha256_of(path) for path in self.references],
            "sizes of tables and models": models,
            "optimizer": self.optimizer.optimizer,
            "number of restarts": self.optimizer.restarts,
            "decoder": self.decoder.name,
            "settings of the search": dict(self.decoder.sections or {}),
            "n-best size": self.nbest_size,
            "seed": self.seed,
            "objective": str(self.objective),
            "reference length": self.reference_length,
            "frozen weights": list(self.freeze),
            "bounds": list(self.bounds),
        }

    def provenance(self) -> dict[str, Any]:
        """Return where the result comes from."""
        settings = dataclasses.asdict(self)
        for path in ("ini", "source", "references"):
            del settings[path]
        return provenance(inputs=[self.ini, self.source, *self.references], settings=settings)


def _size(path: str) -> int | None:
    return Path(path).stat().st_size if Path(path).is_file() else None


@dataclass(frozen=True)
class SeedResult:
    """The result of one run.

    Args:
        seed: Its seed.
        folder: Its folder.
        result: What it gave.
    """

    seed: int
    folder: Path
    result: TuningResult


@dataclass(frozen=True)
class TuningReport:
    """The results of all runs.

    Args:
        runs: In the order of their seeds.
        ini: The tuned system, with the weights of the best run.
    """

    runs: tuple[SeedResult, ...]
    ini: Path

    @property
    def best(self) -> SeedResult:
        """The run that decoded the dev set best, the first of equals."""
        return max(self.runs, key=lambda run: run.result.best.score)

    @property
    def scores(self) -> tuple[float, ...]:
        """The objective that each run reaches on the dev set."""
        return tuple(run.result.best.score for run in self.runs)

    @property
    def mean(self) -> float:
        """Of the scores."""
        return statistics.fmean(self.scores)

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the scores (n - 1); none of a single one."""
        return statistics.stdev(self.scores) if len(self.runs) > 1 else None


def tune(settings: TuningSettings, output: str | Path, say: Say) -> TuningReport:
    """Tune a system; the same call continues a run that was stopped.

    Args:
        settings: What and how.
        output: The work folder.
        say: Takes lines for the user.

    Raises:
        PhrasescoreError: The input cannot be used, the decoder failed, or the folder belongs to
            another run; what is done stays.
    """
    ini = _read_ini(settings.ini)
    plan = WeightPlan.from_ini(ini).restricted(settings.freeze, settings.bounds)
    texts = CandidateStatistics(
        settings.references, settings.objective, ReferenceLength(settings.reference_length)
    )
    _check_lines(settings, len(texts), say)
    task = TuningTask(
        ini=ini,
        plan=plan,
        statistics=texts,
        optimizer=settings.optimizer.build(),
        nbest_size=settings.nbest_size,
        seed=settings.seed,
        stop=settings.stop,
        provenance=settings.provenance(),
    )
    several = settings.runs > 1
    identity = {**settings.identity(ini), "several seeds": several}
    with WorkFolder(Path(output)).opened(identity) as work:
        decoder, tables = prepare(settings.decoder, ini, settings.source, work.path)
        for table in tables:
            say(f"{table.name}: {table.kept:,} of {table.lines:,} lines are for this text")
        if several:
            return _several(settings, task, decoder, work, say)
        result = Tuning(task, decoder, work, say).run()
        return TuningReport(
            (SeedResult(settings.seed, work.path, result),), work.path / "moses.ini"
        )


def _several(
    settings: TuningSettings, task: TuningTask, decoder: NBestDecoder, work: WorkFolder, say: Say
) -> TuningReport:
    """Run once for each seed; the first round, which is the same for all, is decoded once."""
    runs: list[SeedResult] = []
    for seed in settings.seeds:
        own = {**settings.identity(task.ini), "seed": seed}
        with WorkFolder(work.path / f"seed{seed}").opened(own) as folder:
            if runs:
                folder.round(1).adopt(WorkFolder(runs[0].folder).round(1))
            say(f"seed {seed}: {folder.path}")
            result = Tuning(dataclasses.replace(task, seed=seed), decoder, folder, say).run()
            runs.append(SeedResult(seed, folder.path, result))
    report = TuningReport(tuple(runs), work.path / "moses.ini")
    _write_summary(report, work, task.provenance)
    return report


def _write_summary(
    report: TuningReport, work: WorkFolder, provenance_of_runs: Mapping[str, Any]
) -> None:
    best = report.best
    content = {
        "weights": {name: list(values) for name, values in best.result.weights.items()},
        "bleu": best.result.best.bleu,
        "score": best.result.best.score,
        "seed": best.seed,
        "mean": report.mean,
        "deviation": report.deviation,
        "seeds": [
            {
                "seed": run.seed,
                "folder": run.folder.name,
                "bleu": run.result.best.bleu,
                "score": run.result.best.score,
                "round": run.result.best.number,
                "rounds": len(run.result.rounds),
                "why": run.result.why,
            }
            for run in report.runs
        ],
        "provenance": dict(provenance_of_runs),
    }
    write_atomically(report.ini, (best.folder / "moses.ini").read_bytes())
    write_json(work.path / "weights.json", content)


def _read_ini(path: str) -> MosesIni:
    ini = MosesIni.read(path)
    ini.refuse_old_style()
    for section in _OTHER_WEIGHTS:
        if ini.values(section):
            raise IniError(
                f"a [{section}] section, which would overrule the tuned weights",
                path=path,
                remedy="write what it says into [feature] and [weight]",
            )
    return ini


def _check_lines(settings: TuningSettings, references: int, say: Say) -> None:
    """Refuse texts of different lengths, and tell of lines that nothing can be learned from."""
    lines = read_source(settings.source)
    if len(lines) != references:
        raise CorpusError(
            f"{len(lines):,} lines, but {references:,} in {settings.references[0]}",
            path=settings.source,
            remedy="line i of the one must be the translation of line i of the other",
        )
    if empty := sum(not line for line in lines):
        say(
            f"note: {empty} of {len(lines):,} lines of {settings.source} are empty: they stay, "
            "and their translations are empty"
        )
