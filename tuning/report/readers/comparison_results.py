"""What ``compare --json-file`` left: scores, tests, and the texts that they are of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phrasescore.errors import InputError, PhrasescoreError
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import METRICS, MetricName, TextScoring
from tuning.metrics.text_scores import ReferenceTexts
from tuning.report.contents import (
    Gain,
    Results,
    ScoredSystem,
    ScoreSet,
    SystemOutput,
    TranslatedText,
)
from tuning.report.readers.reading import Number, Positive, Probability, ResultFiles, left_out
from tuning.report.sentences import words_in

Lines = tuple[str, ...]
# scores of the texts of today that differ by more are of other texts
_SAME_SCORE = 1e-9


@dataclass(frozen=True)
class _System:
    """A system in one metric, as the file has it; the first one has no gain."""

    system: str
    runs: tuple[Number, ...]
    mean: Number
    deviation: Number | None = None
    gain: Number | None = None
    low: Number = 0.0
    high: Number = 0.0
    p_randomization: Probability = 1.0
    p_bootstrap: Probability = 1.0


@dataclass(frozen=True)
class _Comparison:
    """The file, as far as a report shows it."""

    metrics: dict[str, tuple[_System, ...]]
    signatures: dict[str, str]
    files: dict[str, tuple[str, ...]]
    references: tuple[str, ...]
    trials: Positive
    notes: tuple[str, ...] = ()
    known_words: dict[str, Any] | None = None

    def check(self, path: Path) -> None:
        """Refuse a comparison of nothing.

        Raises:
            InputError: It has no metric that is known, no reference or no system.
        """
        metrics = [systems for name, systems in self.metrics.items() if name in METRICS]
        named = all(self.files.get(each.system) for systems in metrics for each in systems)
        runs = all(each.runs for systems in metrics for each in systems)
        if not (metrics and all(metrics) and self.references and named and runs):
            raise InputError(
                "not what phrasescore writes: a metric, a reference, a system or its file is "
                "missing",
                path=path,
            )


def read_comparison(
    path: Path, name: str, files: ResultFiles, sources: Sequence[Lines] = ()
) -> Results:
    """Read a comparison, and the texts if they still have the scores that it says.

    Args:
        path: A file of JSON.
        name: What to call it.
        files: Those that may be read.
        sources: Texts of which one may be what was translated.
    """
    try:
        found = files.read(_Comparison, path)
        found.check(path)
    except PhrasescoreError as error:
        return Results(name, notes=(left_out(error),))
    scores = tuple(_score_set(found, metric, name) for metric in METRICS if metric in found.metrics)
    texts: tuple[TranslatedText, ...] = ()
    notes = found.notes
    try:
        texts = (_text(found, scores[0], path.parent, files, sources),)
    except PhrasescoreError as error:
        notes = (*notes, f"The sentences of {name} cannot be shown: {error}")
    return Results(name, scores=scores, texts=texts, notes=notes)


def _score_set(found: _Comparison, metric: MetricName, name: str) -> ScoreSet:
    return ScoreSet(
        text=Path(found.references[0]).name,
        file=name,
        metric=metric,
        systems=tuple(map(_system, found.metrics[metric])),
        trials=found.trials,
        signature=found.signatures.get(metric, ""),
    )


def _system(system: _System) -> ScoredSystem:
    gain = None
    if system.gain is not None:
        chances = system.p_bootstrap, system.p_randomization
        gain = Gain(system.gain, system.low, system.high, *chances)
    return ScoredSystem(system.system, system.runs, system.mean, system.deviation, gain)


def _text(
    found: _Comparison,
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
