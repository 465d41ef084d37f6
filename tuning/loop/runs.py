"""Tuning from files to files: one run, or several that differ in their seeds, in a work folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.tables.filtering import INI_NAME
from phrasescore.errors import CorpusError, IniError
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import own_folder, write_atomically
from phrasescore.runs.json_files import write_json
from tuning.loop.decoding import prepare, read_source
from tuning.loop.dev_set import check_dev_set
from tuning.loop.outer_loop import NBestDecoder, Say, Tuning, TuningResult, TuningTask
from tuning.loop.tuning_settings import TuningSettings
from tuning.loop.weight_plan import WeightPlan
from tuning.loop.work_folder import WorkFolder
from tuning.metrics.candidate_statistics import CandidateStatistics
from tuning.metrics.significance import mean_and_deviation

# they would overrule the weights of every round
_OTHER_WEIGHTS = ("weight-overwrite", "feature-overwrite", "alternate-weight-setting")


@dataclass(frozen=True)
class TuningReport:
    """The results of all runs.

    Args:
        runs: In the order of their seeds.
        ini: The tuned system, with the weights of the best run.
    """

    runs: tuple[TuningResult, ...]
    ini: Path

    @property
    def best_run(self) -> TuningResult:
        """The run that decoded the dev set best, the first of equals."""
        return max(self.runs, key=lambda run: run.best.score)

    def mean_and_deviation(self) -> tuple[float, float | None]:
        """Of the objective that the runs reach on the dev set."""
        return mean_and_deviation([run.best.score for run in self.runs])


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
    texts = CandidateStatistics(settings.references, settings.objective, settings.reference_length)
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
        filtered = MosesIni.read(work.path / "filtered" / INI_NAME)
        check_dev_set(ini, filtered, settings.source, settings.references, say)
        if several:
            return _several(settings, task, decoder, work, say)
        result = Tuning(task, decoder, work, say).run()
        return TuningReport((result,), work.path / "moses.ini")


def _several(
    settings: TuningSettings, task: TuningTask, decoder: NBestDecoder, work: WorkFolder, say: Say
) -> TuningReport:
    """Run once for each seed; the first round, which is the same for all, is decoded once."""
    runs: list[TuningResult] = []
    for seed in settings.seeds:
        own = {**settings.identity(task.ini), "seed": seed}
        with WorkFolder(own_folder(work.path / f"seed{seed}")).opened(own) as folder:
            if runs:
                folder.round(1).adopt(WorkFolder(runs[0].folder).round(1))
            say(f"seed {seed}: {folder.path}")
            own_task = dataclasses.replace(task, seed=seed)
            runs.append(Tuning(own_task, decoder, folder, say).run())
    report = TuningReport(tuple(runs), work.path / "moses.ini")
    _write_summary(report, work, task.provenance)
    return report


def _write_summary(
    report: TuningReport, work: WorkFolder, provenance_of_runs: Mapping[str, Any]
) -> None:
    best = report.best_run
    mean, deviation = report.mean_and_deviation()
    content = {
        "weights": dict(best.weights),
        "bleu": best.best.bleu,
        "score": best.best.score,
        "seed": best.seed,
        "mean": mean,
        "deviation": deviation,
        "seeds": [
            {
                "seed": run.seed,
                "folder": run.folder.name,
                "bleu": run.best.bleu,
                "score": run.best.score,
                "round": run.best.number,
                "rounds": len(run.rounds),
                "why": run.why,
            }
            for run in report.runs
        ],
        "provenance": dict(provenance_of_runs),
    }
    write_atomically(report.ini, read_regular(best.folder / "moses.ini"))
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
