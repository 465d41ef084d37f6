"""What ``compare --json-file`` left: scores, tests, and the texts that they are of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from moses_integration.system_building.corpus.text_preparation import read_text
from phrasescore.errors import PhrasescoreError
from phrasescore.files.json_files import read_object
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
from tuning.report.readers.reading import DAMAGE, located, why_not
from tuning.report.sentences import words_in

Lines = tuple[str, ...]
# scores of the texts of today that differ by more are of other texts
_SAME_SCORE = 1e-9


def read_comparison(path: Path, name: str, sources: Sequence[Lines] = ()) -> Results:
    """Read a comparison, and the texts if they still have the scores that it says.

    Args:
        path: A file of JSON.
        name: What to call it.
        sources: Texts of which one may be what was translated.
    """
    try:
        content = read_object(path)
        metrics = [metric for metric in METRICS if metric in content["metrics"]]
        scores = tuple(_score_set(content, metric, name) for metric in metrics)
    except (OSError, *DAMAGE) as error:
        return Results(name, notes=(why_not(path, error),))
    texts: tuple[TranslatedText, ...] = ()
    notes = [str(note) for note in content.get("notes", [])]
    try:
        texts = (_text(content, scores[0], path.parent, sources),)
    except PhrasescoreError as error:
        notes.append(f"The sentences of {name} cannot be shown: {error}")
    except DAMAGE as error:
        notes.append(why_not(path, error))
    return Results(name, scores=scores, texts=texts, notes=tuple(notes))


def _score_set(content: Mapping[str, Any], metric: MetricName, name: str) -> ScoreSet:
    return ScoreSet(
        text=Path(content["references"][0]).name,
        file=name,
        metric=metric,
        systems=tuple(_system(system) for system in content["metrics"][metric]),
        trials=int(content["trials"]),
        signature=str(content["signatures"][metric]),
    )


def _system(system: Mapping[str, Any]) -> ScoredSystem:
    gain = None
    if "gain" in system:
        keys = ("gain", "low", "high", "p_bootstrap", "p_randomization")
        gain = Gain(*(float(system[key]) for key in keys))
    deviation = system["deviation"]
    return ScoredSystem(
        str(system["system"]),
        tuple(map(float, system["runs"])),
        float(system["mean"]),
        None if deviation is None else float(deviation),
        gain,
    )


def _text(
    content: Mapping[str, Any], scores: ScoreSet, folder: Path, sources: Sequence[Lines]
) -> TranslatedText:
    """Score the texts again, and refuse them if that gives other scores.

    Raises:
        PhrasescoreError: A text is gone, or is another by now.
    """
    if "known_words" in content:
        raise PhrasescoreError("only some of them were compared, those of words a model knows")
    references = ReferenceTexts(
        [located(path, folder) for path in content["references"]], _scoring(scores)
    )
    outputs = []
    for system in scores.systems:
        paths = [located(path, folder) for path in content["files"][system.name]]
        texts = [references.score(path) for path in paths]
        columns = columns_of(scores.metric)
        statistics = np.stack([text.statistics[:, columns] for text in texts])
        now = metric_scores(scores.metric, statistics.sum(1))
        if not np.allclose(now, system.runs, rtol=0, atol=_SAME_SCORE):
            raise PhrasescoreError(
                f"{system.name} no longer has the score that was compared", path=paths[0]
            )
        run = "run 1" if len(paths) > 1 else ""
        lines = tuple(read_text(paths[0]))
        outputs.append(SystemOutput(system.name, statistics, run, lines))
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
