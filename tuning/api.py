"""Scores, comparisons and tuning from Python; the package ``tuning`` exports these functions.

The functions run the same code as the commands ``evaluate``, ``compare`` and ``tune``, but print
nothing. A text is either a list of lines, or a ``pathlib.Path`` to a file (UTF-8, plain or gzip).
Scores are fractions: BLEU, chrF and accuracy from 0 to 1; error rates from 0, lower is better.
"""

from __future__ import annotations

import numbers
import re
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.closed_settings import check_number, check_path, check_type, check_whole_number
from phrasescore.errors import CorpusError, SettingsError
from phrasescore.runs.progress import Say
from phrasescore.table.text_blocks import MAX_SCORE
from tuning.loop.outer_loop import TuningReport, TuningResult
from tuning.loop.outer_loop import tune as run_tuning
from tuning.loop.tuning_settings import OPTIMIZERS, DecoderName, OptimizerName, TuningSettings
from tuning.metrics.metric_settings import (
    METRICS,
    TEST_SEED,
    TRIALS,
    USUAL_METRICS,
    MetricName,
    Objective,
    TextScoring,
)
from tuning.metrics.system_comparison import (
    SystemComparison,
    TextScores,
    compare_segment_scores,
    compare_systems,
)
from tuning.metrics.system_comparison import evaluate as evaluate_files
from tuning.metrics.text_scores import NamedLines, TextFile

__all__ = ["SystemComparison", "TextScores", "TuningReport", "TuningResult", "compare", "evaluate",
           "tune"]  # fmt: skip

Text: TypeAlias = "Path | Sequence[str]"
SegmentScores: TypeAlias = "Path | Sequence[float] | NDArray[np.floating]"
_SURROGATE = re.compile("[\ud800-\udfff]")  # UTF-8 cannot encode these code points


def evaluate(
    translation: Text,
    references: Text | Sequence[Text],
    *,
    metrics: MetricName | Sequence[MetricName] = USUAL_METRICS,
    tokenize: str = "none",
    lowercase: bool = False,
) -> TextScores:
    """Score a translation against references.

    Args:
        translation: N lines, words separated by spaces.
        references: One text of N lines, or a list of several.
        metrics: One or more of ``bleu``, ``chrf``, ``ter``, ``accuracy``, ``cer`` and ``wer``; by
            default the first three.
        tokenize: BLEU's tokenisation: ``none``, or sacrebleu's ``13a``, ``intl``, ``char``, ``zh``.
        lowercase: Whether to ignore case.

    Returns:
        The scores by metric (``scores``), and the parts of BLEU: ``precisions``,
        ``brevity_penalty``, ``words``, ``reference_words``.

    Raises:
        TypeError: A text is neither a list of strings nor a ``Path``.
        CorpusError: The texts have different numbers of lines, or no lines.
        SettingsError: A metric or tokenisation is unknown.
    """
    found = evaluate_files(
        [_text(translation, "translation", str)],
        _texts(references, "references"),
        TextScoring(_known(metrics), tokenize, lowercase),
    )
    return found.texts[0]


def compare(
    baseline: Text | Sequence[Text] | SegmentScores | Sequence[SegmentScores],
    systems: Mapping[str, Text | Sequence[Text] | SegmentScores | Sequence[SegmentScores]],
    references: Text | Sequence[Text] | None,
    *,
    metrics: MetricName | Sequence[MetricName] = USUAL_METRICS,
    tokenize: str = "none",
    lowercase: bool = False,
    trials: int = TRIALS,
    seed: int = TEST_SEED,
) -> SystemComparison:
    """Test whether systems differ from a baseline by more than chance (Clark et al. 2011).

    Args:
        baseline: The baseline's translation, or a list with one translation for each tuning run.
        systems: The name of each other system, mapped to its translation or translations.
        references: One text, or a list of several. ``None`` if ``baseline`` and ``systems`` hold
            segment scores of another metric (larger is better) instead of translations. Segment
            scores are lists of numbers, or files with one number per line.
        metrics: One or more of ``bleu``, ``chrf``, ``ter``, ``accuracy``, ``cer`` and ``wer``; by
            default the first three.
        tokenize: BLEU's tokenisation, as for ``evaluate``.
        lowercase: Whether to ignore case.
        trials: The number of trials of each test, by default 10,000.
        seed: The seed of each test.

    Returns:
        The comparison. ``scores`` has a tuple for each metric: first the baseline, then each
        system with its mean and its ``difference`` (gain, 95 % interval, p-values). The metric of
        segment scores is called ``segments``.

    Raises:
        TypeError: A text or a list of scores has the wrong type, or ``trials`` or ``seed`` is not a
            whole number.
        CorpusError: The texts have different numbers of lines, or no lines.
        SettingsError: A metric or tokenisation is unknown, a number is out of bounds, or a system
            is called ``baseline``.
    """
    check_whole_number("trials", trials, 1, 10_000_000)
    check_whole_number("seed", seed, 0, 2**53)
    if not isinstance(systems, Mapping):
        raise TypeError(f"systems: expected texts by name, got {type(systems).__name__}")
    if "baseline" in systems:
        raise SettingsError(
            "a system is called baseline, like the baseline itself", remedy="rename this system"
        )
    named = {"baseline": baseline, **systems}
    if references is None:
        scores = {name: _texts(runs, name, numbers.Real) for name, runs in named.items()}
        return compare_segment_scores(scores, trials=trials, seed=seed)
    return compare_systems(
        _texts(references, "references"),
        {name: _texts(runs, name) for name, runs in named.items()},
        scoring=TextScoring(_known(metrics), tokenize, lowercase),
        trials=trials,
        seed=seed,
    )


def tune(
    ini: str | Path,
    source: str | Path,
    references: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    optimizer: OptimizerName = "mert",
    objective: Mapping[str, float] | None = None,
    nbest_size: int = TuningSettings.nbest_size,
    rounds: int = TuningSettings.rounds,
    runs: int = TuningSettings.runs,
    seed: int = 1,
    threads: int | None = None,
    decoder: DecoderName = "embedded",
    say: Say | None = None,
) -> TuningReport:
    """Find the weights with which a system translates a dev set best.

    Args:
        ini: The moses.ini. Relative paths in it start at the current directory.
        source: The source side of the dev set, a file prepared like the training text.
        references: The file of the reference translation, or a list of several files.
        output: The folder for all results. The same call continues a run that was stopped.
        optimizer: ``mert``, ``pro`` or ``mira``.
        objective: The weight of each metric in the score to optimise; ``None`` for BLEU alone.
        nbest_size: The maximum number of distinct translations per sentence and round, by
            default 100.
        rounds: The maximum number of optimisations, by default 8; one more round only decodes.
        runs: The number of runs, by default 1; their seeds are ``seed``, ``seed`` + 1 and so on.
        seed: The seed of everything random in the first run.
        threads: The number of threads; ``None`` for all cores.
        decoder: ``embedded``, or ``moses`` for real Moses, which runs as a child process.
        say: A function to call with each progress line; ``None`` for silence.

    Returns:
        All runs, the best run with its weights (``best_run``), and the tuned ini.

    Raises:
        TypeError: An argument has another type.
        PhrasescoreError: An input cannot be used, or the folder belongs to another run.
    """
    _check_choice("optimizer", optimizer, OPTIMIZERS)
    _check_choice("decoder", decoder, typing.get_args(DecoderName))
    for name, number in {"nbest_size": nbest_size, "rounds": rounds, "runs": runs}.items():
        check_whole_number(name, number, 1, 2**31 - 1)
    check_whole_number("seed", seed, 0, 2**53)
    if threads is not None:
        check_whole_number("threads", threads, 1, 256)
    several = [references] if isinstance(references, str | Path) else [*references]
    for path in (ini, source, output, *several):
        check_path(f"{path!r:.80}", path)
    check_type("objective", objective, Mapping | None, "shares by metric")
    settings = TuningSettings(
        ini=str(ini),
        source=str(source),
        references=tuple(map(str, several)),
        optimizer=optimizer,
        objective=Objective.from_shares(objective or {}),
        seed=seed,
        threads=threads,
        decoder=decoder,
        rounds=rounds,
        nbest_size=nbest_size,
        runs=runs,
    )
    return run_tuning(settings, output, say or (lambda line: None))


def _check_choice(name: str, given: str, choices: Sequence[str]) -> None:
    check_type(name, given, str, "a name")
    if given not in choices:
        remedy = f"choose among {', '.join(choices)}"
        raise SettingsError(f"unknown {name} {given!r}", remedy=remedy)


def _known(metrics: MetricName | Sequence[MetricName]) -> tuple[MetricName, ...]:
    """Return metrics in their usual order."""
    names = [metrics] if isinstance(metrics, str) else [*map(str, metrics)]
    if not names or set(names) - set(METRICS):
        remedy = f"give a list of {', '.join(METRICS)}"
        raise SettingsError(f"unknown metrics {metrics!r}", remedy=remedy)
    return tuple(name for name in METRICS if name in names)


def _texts(texts: object, name: str, kind: type = str) -> list[TextFile]:
    """Return a list of texts, each a file or named lines; one text becomes a list of one."""
    if isinstance(texts, Path) or not isinstance(texts, Sequence | np.ndarray):
        return [_text(texts, name, kind)]
    if all(isinstance(each, kind) for each in texts):
        return [_text(texts, name, kind)]
    return [_text(each, f"{name}[{at}]", kind) for at, each in enumerate(texts)]


def _text(text: object, name: str, kind: type) -> TextFile:
    if isinstance(text, Path):
        check_path(name, text)
        return text
    one, several = ("a string", "lines") if kind is str else ("a number", "numbers")
    if isinstance(text, str | bytes) or not isinstance(text, Sequence | np.ndarray):
        raise TypeError(
            f"{name}: expected a list of {several} or a pathlib.Path, got {type(text).__name__}"
        )
    for number, line in enumerate(text):
        check_type(f"{name}[{number}]", line, kind, one)
        if kind is numbers.Real:
            check_number(f"{name}[{number}]", line, -MAX_SCORE, MAX_SCORE)
        if isinstance(line, str) and "\n" in line:
            raise CorpusError(f"{name}[{number}]: the line contains a line feed")
        if isinstance(line, str) and _SURROGATE.search(line):
            raise CorpusError(f"{name}[{number}]: a surrogate code point, which is not a character")
    return NamedLines(name, [line if isinstance(line, str) else repr(float(line)) for line in text])
