"""Reads the results of ``experiment`` and ``compare``: scores, tests, and translations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import InputError, PhrasescoreError, counted
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.results import (
    ComparedSystem,
    ComparisonRecord,
    ExperimentRecord,
    ScoringRecord,
    TextBleu,
)
from tuning.experiment.experiment_settings import DEV
from tuning.experiment.result_files import slug
from tuning.experiment.results import KEPT, KeptResults, StepTime, SystemRun
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import METRICS, TRIALS, TextScoring
from tuning.metrics.significance import SystemDifference, SystemScores
from tuning.metrics.system_comparison import SEGMENTS
from tuning.metrics.text_scores import ReferenceTexts
from tuning.report.contents import (
    Provenance,
    Results,
    ScoreSet,
    Spent,
    SystemOutput,
    TranslatedText,
)
from tuning.report.records import read_record, runs_of_seeds, tuned_system
from tuning.report.result_files import (
    FoundResult,
    ResultFiles,
    entries_of,
    find_results,
    left_out,
    provenances,
)
from tuning.report.sentences import words_in

# the kind of work of a step, by a part of its name
_WORK = {".tune": "tuning", ".score": "scoring", ".rescore": "rescoring", ".optimize": "optimising"}


def read_experiment(record: ExperimentRecord, found: FoundResult, files: ResultFiles) -> Results:
    """Return an experiment, finished or not, with its tunings, scored tables and models.

    Args:
        record: Of ``experiment``.
        found: Its file.
        files: Those that may be read.
    """
    folder = found.folder
    kept = KeptResults()
    parts: list[Results] = []
    try:
        if (folder / KEPT).exists():
            kept = KeptResults.parse(files.content(folder / KEPT), folder / KEPT)
        parts.append(_of_runs(record, kept, folder, files))
    except PhrasescoreError as error:
        parts.append(Results(record.name, notes=(left_out(error),)))
    names = {slug(name): name for name in (*(row.name for row in record.systems), *kept.rows)}
    for path in map(Path, entries_of(folder / "systems")):
        system = names.get(path.name, path.name)
        for each in find_results(path, files, levels=0):
            if isinstance(each.record, ScoringRecord):
                of_seed = each.path.name.removesuffix("score.json").rstrip(".")
                name = f"{system}, {of_seed}" if of_seed else system
                # the time of the step is told already
                parts.append(replace(read_record(each, name, files), spent=()))
        parts.append(tuned_system(system, runs_of_seeds(path, files)))
    models = find_results(folder / "models", files) if (folder / "models").is_dir() else ()
    parts += [read_record(each, each.name, files) for each in models]
    try:
        first = _of_record(record, found.path)
    except PhrasescoreError as error:
        first = Results(record.name, notes=(left_out(error),))
    return reduce(Results.joined, parts, first)


def _of_record(record: ExperimentRecord, path: Path) -> Results:
    """Return the scores of the systems.

    Raises:
        InputError: A system has a score without a run, or the provenance is of another kind.
    """
    names = dict.fromkeys(text for row in record.systems for text in row.texts)
    if not names:
        begun = "The experiment is at its beginning."
        return Results(record.name, facts=_facts(record), unfinished=(begun,))
    if not all(score.bleu for row in record.systems for score in row.texts.values()):
        raise InputError("not what phrasescore writes: a score without a run", path=path)
    tests = [text for text in names if text != DEV]
    return Results(
        record.name,
        facts=_facts(record),
        scores=tuple(
            ScoreSet(
                text=text,
                metric="bleu",
                systems=tuple(
                    _system(row.name, row.texts[text])
                    for row in record.systems
                    if text in row.texts
                ),
                trials=TRIALS,
                is_dev=text == DEV,
            )
            for text in (*tests, *(text for text in names if text == DEV))
        ),
        provenances=provenances(f"experiment {record.name}", record.provenance, path),
        unfinished=tuple(_unfinished(record)),
        notes=tuple(
            f"{row.name} was not run: {row.not_run}."
            for row in record.systems
            if row.not_run and not row.texts
        ),
    )


def _of_runs(
    record: ExperimentRecord, kept: KeptResults, folder: Path, files: ResultFiles
) -> Results:
    """Return the texts and times of the runs whose results are kept.

    Raises:
        InputError: A run has a provenance of another kind.
    """
    texts = [_text(folder, record, kept, name, files) for name in kept.texts if name != DEV]
    made: dict[str, Provenance] = {}
    for name, row in kept.rows.items():
        for run in row.runs:
            what = f"{name}, {_run_name(run)}"
            made |= provenances(what, run.provenance, folder / KEPT)
    return Results(
        record.name,
        texts=tuple(text for text in texts if text is not None),
        spent=tuple(_spent(kept)),
        provenances=made,
    )


def _facts(table: ExperimentRecord) -> dict[str, str]:
    decoder = "real Moses" if table.decoder == "moses" else "the embedded decoder"
    sections = ", ".join(f"{name} {value}" for name, value in table.sections.items())
    facts = {
        "decoder": decoder + (f" ({sections})" if sections else ""),
        "tuning": f"{table.optimizer.upper()}, at most {counted(table.rounds, 'round')}, "
        f"{table.nbest_size}-best lists",
        "seeds": ", ".join(map(str, table.seeds)),
    }
    if table.per_seed:
        facts["another model for each seed"] = ", ".join(table.per_seed)
    return facts


def _system(name: str, scores: TextBleu) -> SystemScores:
    difference = None
    if (gain := scores.gain) is not None:
        chances = gain.randomization_p_value, gain.replica_p_value, gain.p_value
        difference = SystemDifference(gain.bleu, gain.low, gain.high, *chances)
    return SystemScores(name, scores.bleu, difference)


def _text(
    folder: Path, table: ExperimentRecord, kept: KeptResults, name: str, files: ResultFiles
) -> TranslatedText | None:
    """Return a text with its translations, or ``None`` if no run of it is kept."""
    outputs, notes = [], []
    for system in (row.name for row in table.systems):
        row = kept.rows.get(system)
        runs = [run for run in row.runs if name in run.texts] if row else []
        if runs:
            statistics = np.stack([kept.statistics(run, name) for run in runs])
            output, note = _output(folder, system, runs[0], statistics, name, files)
            outputs.append(output)
            notes += note
    if not outputs:
        return None
    text = kept.texts[name]
    lengths = np.array([int(words) for words in text.reference_lengths.split()])
    sides: dict[str, tuple[str, ...] | None] = {"source": None, "reference": None}
    for side in sides if name in table.texts else ():
        place = getattr(table.texts[name], side)
        lines, note = _side(name, getattr(text, side), place, folder, files)
        if lines is not None and len(lines) != len(lengths):
            lines, note = None, [f"{place} has other lines than {name} had."]
        sides[side] = lines
        notes += note
    return TranslatedText(name, "bleu", tuple(outputs), lengths, **sides, notes=tuple(notes))


def _side(
    name: str, digest: str, place: str, folder: Path, files: ResultFiles
) -> tuple[tuple[str, ...] | None, list[str]]:
    """Return the lines of a source or reference, or why they cannot be shown."""
    try:
        path = files.located(place, folder)
        if sha256_of(path) == digest:
            return files.text(path), []
        return None, [f"{path} has changed since {name} was translated."]
    except OSError as error:
        return None, [str(InputError(f"cannot be read ({error.strerror})", path=place))]
    except PhrasescoreError as error:
        return None, [str(error)]


def _output(
    folder: Path,
    system: str,
    run: SystemRun,
    statistics: NDArray[np.int64],
    text: str,
    files: ResultFiles,
) -> tuple[SystemOutput, list[str]]:
    seed = "" if run.seed is None else f"seed{run.seed}."
    path = folder / "systems" / slug(system) / f"{seed}{text}.txt"
    lines, notes = None, []
    try:
        read = files.text(path)
        lengths = [len(words_in(line)) for line in read]
        # of the text it was when it was scored
        if lengths == statistics[0][:, 1].tolist():
            lines = read
        else:
            notes.append(f"{path} has changed since it was scored.")
    except PhrasescoreError as error:
        notes.append(str(error))
    return SystemOutput(system, statistics, _run_name(run), lines), notes


def _run_name(run: SystemRun) -> str:
    return "one run" if run.seed is None else f"seed {run.seed}"


def _spent(kept: KeptResults) -> Iterator[Spent]:
    yield from _sums("all systems", kept.steps)
    for name, row in kept.rows.items():
        steps = dict(row.steps)
        for run in row.runs:
            steps.update(run.steps)
        yield from _sums(name, steps)


def _sums(name: str, steps: Mapping[str, StepTime]) -> Iterator[Spent]:
    kinds: dict[str, list[StepTime]] = {}
    for step, time in steps.items():
        kinds.setdefault(_work(step), []).append(time)
    for kind, times in kinds.items():
        several = f", {len(times)} steps" if len(times) > 1 else ""
        seconds = sum(time.seconds for time in times)
        yield Spent(f"{name}: {kind}{several}", seconds, sum(time.cpu_seconds for time in times))


def _work(step: str) -> str:
    if step.startswith("train."):
        return "training"
    if step == "filter":
        return "filtering"
    known = (kind for ending, kind in _WORK.items() if ending in f"{step}.")
    return next(known, "columns" if ".ini" in step else "translating")


def _unfinished(table: ExperimentRecord) -> Iterator[str]:
    wanted = len(table.seeds)
    for system in table.systems:
        if system.not_run:
            continue
        done = len(system.seeds)
        if not system.texts:
            yield f"{system.name}: no run is done yet."
        elif (done or not system.translate) and done < wanted:
            yield f"{system.name}: {done} of {counted(wanted, 'seed')} are done."


Lines = tuple[str, ...]
# if scoring a text again gives a score that differs by more, the text has changed
_SAME_SCORE = 1e-9


def read_comparison(
    record: ComparisonRecord, found: FoundResult, files: ResultFiles, sources: Sequence[Lines] = ()
) -> Results:
    """Return a comparison, and the texts if they still have the scores that it says.

    Args:
        record: Of ``compare``.
        found: Its file and name.
        files: Those that may be read.
        sources: Texts of which one may be what was translated.
    """
    try:
        _check(record, found.path)
    except PhrasescoreError as error:
        return Results(found.name, notes=(left_out(error),))
    scores = tuple(
        ScoreSet(
            text=Path(record.references[0]).name,
            file=found.name,
            metric=metric,
            systems=tuple(map(_compared_system, record.metrics[metric])),
            trials=record.trials,
            signature=record.signatures.get(metric, ""),
        )
        for metric in METRICS
        if metric in record.metrics
    )
    texts: tuple[TranslatedText, ...] = ()
    notes = record.notes
    try:
        texts = (_compared_text(record, scores[0], found.folder, files, sources),)
    except PhrasescoreError as error:
        notes = (*notes, f"The sentences of {found.name} cannot be shown: {error}")
    return Results(found.name, scores=scores, texts=texts, notes=notes)


def _check(record: ComparisonRecord, path: Path) -> None:
    """Refuse a comparison of nothing.

    Raises:
        InputError: The record has no metric that is known, no reference or no system.
    """
    if SEGMENTS in record.metrics:
        raise InputError(
            "a comparison of segment scores, which has no translations to show", path=path
        )
    metrics = [systems for name, systems in record.metrics.items() if name in METRICS]
    every = [each for systems in metrics for each in systems]
    named = all(record.files.get(each.system) and each.runs for each in every)
    if not (metrics and all(metrics) and record.references and named):
        raise InputError(
            "not what phrasescore writes: a metric, a reference, a system or its file is missing",
            path=path,
        )


def _compared_system(system: ComparedSystem) -> SystemScores:
    difference = None
    if system.gain is not None:
        # a record from elsewhere may lack p-values; 1 claims nothing
        p_values = system.p_randomization, system.p_replicas, system.p_bootstrap
        difference = SystemDifference(
            system.gain,
            system.low or 0.0,
            system.high or 0.0,
            *(1.0 if p_value is None else p_value for p_value in p_values),
        )
    return SystemScores(system.system, system.runs, difference)


def _compared_text(
    found: ComparisonRecord,
    scores: ScoreSet,
    folder: Path,
    files: ResultFiles,
    sources: Sequence[Lines],
) -> TranslatedText:
    """Score the texts again, and refuse them if that gives other scores.

    Raises:
        PhrasescoreError: A text is gone, or is another by now.
    """
    if found.known_words is not None:
        raise PhrasescoreError("only some of them were compared, those of words a model knows")
    references = ReferenceTexts(
        [files.located(path, folder) for path in found.references], _scoring(scores)
    )
    outputs = []
    for system in scores.systems:
        paths = [files.located(path, folder) for path in found.files[system.name]]
        texts = [references.score(path) for path in paths]
        columns = columns_of(scores.metric)
        statistics = np.stack([text.statistics[:, columns] for text in texts])
        now = metric_scores(scores.metric, statistics.sum(1))
        same = len(now) == len(system.runs)
        if not same or not np.allclose(now, system.runs, rtol=0, atol=_SAME_SCORE):
            raise PhrasescoreError(
                f"{system.name} no longer has the score that was compared", path=paths[0]
            )
        run = "run 1" if len(paths) > 1 else ""
        outputs.append(SystemOutput(system.name, statistics, run, files.text(paths[0])))
    lengths = np.array([len(words_in(line)) for line in references.lines[0]])
    source = next((lines for lines in sources if len(lines) == len(references)), None)
    notes = () if source else (_NO_SOURCE,)
    return TranslatedText(
        scores.text, scores.metric, tuple(outputs), lengths, source,
        tuple(references.lines[0]), notes,
    )  # fmt: skip


_NO_SOURCE = "A comparison does not say what was translated; name that text with --source."


def _scoring(scores: ScoreSet) -> TextScoring:
    """How the texts were scored, by the metric's signature."""
    # TER and chrF see the text as it is, whatever they call that
    found = re.search(r"\btok:([\w-]+)", scores.signature) if scores.metric == "bleu" else None
    lowercase = re.search(r"\bcase:lc\b", scores.signature) is not None
    return TextScoring((scores.metric,), found[1] if found else "none", lowercase)
