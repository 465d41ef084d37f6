"""What ``compare --json-file`` left: scores, tests, and the texts that they are of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from phrasescore.errors import InputError, PhrasescoreError
from phrasescore.runs.results import ComparedSystem, ComparisonRecord
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import METRICS, TextScoring
from tuning.metrics.significance import SystemDifference, SystemScores
from tuning.metrics.text_scores import ReferenceTexts
from tuning.report.contents import Results, ScoreSet, SystemOutput, TranslatedText
from tuning.report.readers.result_files import FoundResult, ResultFiles, left_out
from tuning.report.sentences import words_in

Lines = tuple[str, ...]
# scores of the texts of today that differ by more are of other texts
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
            systems=tuple(map(_system, record.metrics[metric])),
            trials=record.trials,
            signature=record.signatures.get(metric, ""),
        )
        for metric in METRICS
        if metric in record.metrics
    )
    texts: tuple[TranslatedText, ...] = ()
    notes = record.notes
    try:
        texts = (_text(record, scores[0], found.folder, files, sources),)
    except PhrasescoreError as error:
        notes = (*notes, f"The sentences of {found.name} cannot be shown: {error}")
    return Results(found.name, scores=scores, texts=texts, notes=notes)


def _check(record: ComparisonRecord, path: Path) -> None:
    """Refuse a comparison of nothing.

    Raises:
        InputError: The record has no metric that is known, no reference or no system.
    """
    metrics = [systems for name, systems in record.metrics.items() if name in METRICS]
    every = [each for systems in metrics for each in systems]
    named = all(record.files.get(each.system) and each.runs for each in every)
    if not (metrics and all(metrics) and record.references and named):
        raise InputError(
            "not what phrasescore writes: a metric, a reference, a system or its file is missing",
            path=path,
        )


def _system(system: ComparedSystem) -> SystemScores:
    if system.gain is None:
        return SystemScores(system.system, system.runs)
    difference = SystemDifference(
        system.gain,
        system.low or 0.0,
        system.high or 0.0,
        _chance(system.p_randomization),
        _chance(system.p_replicas),
        _chance(system.p_bootstrap),
    )
    return SystemScores(system.system, system.runs, difference)


def _chance(p_value: float | None) -> float:
    return 1.0 if p_value is None else p_value


def _text(
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
