"""Scores, comparisons and tuning from Python; the package ``tuning`` exports these functions.

They do what the commands ``evaluate``, ``compare`` and ``tune`` do, by the same code, and print
nothing. A text is a list of lines or, as a ``pathlib.Path``, a file (UTF-8, plain or gzip). Scores
are fractions: BLEU, chrF and accuracy from 0 to 1, error rates from 0 (lower is better).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from phrasescore.errors import SettingsError
from tuning.loop.decoding import Say
from tuning.loop.outer_loop import TuningReport, TuningResult
from tuning.loop.outer_loop import tune as run_tuning
from tuning.loop.tuning_settings import DecoderName, TuningSettings
from tuning.metrics.evaluation import TextScores
from tuning.metrics.evaluation import evaluate as evaluate_files
from tuning.metrics.metric_settings import (
    METRICS,
    TEST_SEED,
    TRIALS,
    USUAL_METRICS,
    MetricName,
    Objective,
    TextScoring,
)
from tuning.metrics.system_comparison import SystemComparison, compare_systems
from tuning.metrics.text_scores import NamedLines, TextFile
from tuning.optimizers.optimizer_settings import OptimizerName

__all__ = ["SystemComparison", "TextScores", "TuningReport", "TuningResult", "compare", "evaluate",
           "tune"]  # fmt: skip

Text: TypeAlias = "Path | Sequence[str]"


def evaluate(
    translation: Text,
    references: Text | Sequence[Text],
    *,
    metrics: Sequence[MetricName] = USUAL_METRICS,
    tokenize: str = "none",
    lowercase: bool = False,
) -> TextScores:
    """Score a translation.

    Args:
        translation: N lines, words separated by spaces.
        references: One text of N lines, or a list of several.
        metrics: Among ``bleu``, ``chrf``, ``ter``, ``accuracy``, ``cer`` and ``wer``.
        tokenize: Of BLEU: ``none``, or ``13a``, ``intl``, ``char`` or ``zh`` as in sacrebleu.
        lowercase: Whether to compare without case.

    Returns:
        The scores by metric (``scores``), and what BLEU is made of: ``precisions``,
        ``brevity_penalty``, ``words``, ``reference_words``.

    Raises:
        TypeError: A text is neither a list of strings nor a ``Path``.
        CorpusError: The texts have different numbers of lines, or none.
        SettingsError: A metric or tokenisation is unknown.
    """
    found = evaluate_files(
        [_text(translation, "translation")],
        _texts(references, "references"),
        TextScoring(_known(metrics), tokenize, lowercase),
    )
    return found.texts[0]


def compare(
    baseline: Text | Sequence[Text],
    systems: Mapping[str, Text | Sequence[Text]],
    references: Text | Sequence[Text],
    *,
    metrics: Sequence[MetricName] = USUAL_METRICS,
    tokenize: str = "none",
    lowercase: bool = False,
    trials: int = TRIALS,
    seed: int = TEST_SEED,
) -> SystemComparison:
    """Compare systems with a baseline: is a difference more than chance (Clark et al. 2011)?

    Args:
        baseline: Its translation, or a list of translations, one for each tuning run.
        systems: The same for each other system, by name.
        references: One text, or a list of several.
        metrics: Among ``bleu``, ``chrf``, ``ter``, ``accuracy``, ``cer`` and ``wer``.
        tokenize: Of BLEU, as for :func:`evaluate`.
        lowercase: Whether to compare without case.
        trials: Of each test.
        seed: Of each test.

    Returns:
        By metric, in ``scores``, the baseline and then each system with its mean and ``difference``
        (gain, 95 % interval, p-values); ``to_text()`` is the table of the command.

    Raises:
        As :func:`evaluate`.
    """
    if not isinstance(systems, Mapping):
        raise TypeError(f"systems: expected texts by name, got {type(systems).__name__}")
    if "baseline" in systems:
        raise SettingsError("two systems are called baseline", remedy="give the other another name")
    named = {"baseline": baseline, **systems}
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
    """Find the weights of a system that translate a dev set best; works on files.

    Args:
        ini: The moses.ini; its paths resolve against the current directory.
        source: The dev set, prepared like the training text.
        references: Its translation, or a list of several.
        output: The folder for everything; the same call continues a run that was stopped.
        optimizer: ``mert``, ``pro`` or ``mira``.
        objective: Shares of the metrics; ``None`` for BLEU.
        nbest_size: Different translations of each sentence in a round.
        rounds: Most optimisations.
        runs: How many runs, with seeds from ``seed`` on.
        seed: Of all that is random.
        threads: Cores to use; ``None`` for all.
        decoder: ``embedded``, or ``moses`` for real Moses, which runs as a child process.
        say: Takes lines about how the work goes on; ``None`` for silence.

    Returns:
        The runs, the best of them with its ``weights`` (``best_run``), and the tuned ini.

    Raises:
        PhrasescoreError: An input cannot be used, or the folder belongs to another run.
    """
    several = [references] if isinstance(references, str | Path) else references
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


def _known(metrics: Sequence[MetricName]) -> tuple[MetricName, ...]:
    """Return metrics in their usual order."""
    remedy = f"give a list of {', '.join(METRICS)}"
    if isinstance(metrics, str):
        raise SettingsError(f"metrics is the text {metrics!r}, not a list", remedy=remedy)
    if not metrics or set(metrics) - set(METRICS):
        raise SettingsError(f"unknown metrics {metrics!r}", remedy=remedy)
    return tuple(name for name in METRICS if name in metrics)


def _texts(texts: Text | Sequence[Text], name: str) -> list[TextFile]:
    """Return one text, or each of several, as a file or named lines."""
    one = isinstance(texts, Path) or (
        isinstance(texts, Sequence) and all(isinstance(each, str) for each in texts)
    )
    if one or not isinstance(texts, Sequence):
        return [_text(texts, name)]
    return [_text(each, f"{name}[{at}]") for at, each in enumerate(texts)]


def _text(text: object, name: str) -> TextFile:
    if isinstance(text, Path):
        return text
    if isinstance(text, str | bytes) or not isinstance(text, Sequence):
        raise TypeError(
            f"{name}: expected a list of lines or a pathlib.Path, got {type(text).__name__}"
        )
    for number, line in enumerate(text):
        if not isinstance(line, str):
            raise TypeError(f"{name}[{number}]: expected a string, got {type(line).__name__}")
    return NamedLines(name, text)
