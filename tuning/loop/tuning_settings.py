"""Settings of optimisation, tuning and reranking; the record of tuning, and warnings about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from phrasescore.errors import SettingsError
from phrasescore.runs.identity import provenance, sha256_of
from phrasescore.runs.processes import usable_cores
from phrasescore.runs.results import Count, Number, Positive, Record, Seconds
from tuning.metrics.metric_settings import Objective, gain_in_words

if TYPE_CHECKING:
    from moses_integration.ini.moses_ini import MosesIni
    from tuning.optimizers.optimizer import Optimizer


OptimizerName = Literal["mert", "pro", "mira"]
OPTIMIZERS: tuple[OptimizerName, ...] = ("mert", "pro", "mira")


@dataclass(frozen=True, kw_only=True)
class OptimizationSettings:
    """Settings of an optimisation: the objective, the frozen weights, and the optimiser.

    Args:
        references: The reference files; all translate the same text.
        optimizer: Minimum error rate training, pairwise ranking, or batch MIRA.
        restarts: The number of MERT's climbs after the first two.
        objective: The score to maximise.
        freeze: Names of features or components whose weights must not change.
        seed: The seed of everything random.
        threads: The number of threads; ``None`` for all cores.
    """

    references: tuple[str, ...]
    optimizer: OptimizerName = "mert"
    restarts: int = 20
    objective: Objective = field(default_factory=Objective)
    freeze: tuple[str, ...] = ()
    seed: int = 1
    threads: int | None = None

    def without(self, *names: str) -> dict[str, object]:
        """Return the settings by name, except some, with the objective as text."""
        settings = {**dataclasses.asdict(self), "objective": str(self.objective)}
        return {name: value for name, value in settings.items() if name not in names}

    def choose_optimizer(self, *, near: bool = False) -> Optimizer:
        """Return the chosen optimiser; import only its module.

        Args:
            near: Whether MERT stays near the start weights.
        """
        if self.optimizer == "pro":
            from tuning.optimizers.pro import run_pro

            return run_pro
        if self.optimizer == "mira":
            from tuning.optimizers.mira import run_mira

            return run_mira
        from tuning.optimizers.mert import run_mert

        threads = self.threads or usable_cores()
        return partial(run_mert, restarts=self.restarts, threads=threads, near=near)


# the settings of the models that choose among the candidates
_SECOND_STEP = "rescore", "rescore_size", "scorers"
AND = " + "  # between the names of scores that are judged together
LIMITS = ("rounds", "runs")  # the limits of tuning
DecoderName = Literal["embedded", "moses"]


@dataclass(frozen=True, kw_only=True)
class TuningSettings(OptimizationSettings):
    """Settings of tuning; the first run has seed ``seed``, further runs the seeds after it.

    Args:
        ini: The system; relative paths in it start at the current directory.
        source: The dev set, tokenised.
        decoder: The embedded decoder or real Moses.
        moses: The binary of real Moses or its folder; ``None`` to search for the binary.
        sections: Search settings that override the moses.ini, by section name.
        nbest_size: The maximum number of distinct translations per sentence and round.
        rounds: The maximum number of optimisations.
        runs: The number of runs.
        rescore: The folders of models that choose among the candidates; empty for those of the
            system's ``rescoring.json``, if it has one.
        rescore_size: The maximum number of candidates of a sentence; ``None`` for that of
            ``rescoring.json``, or 100.
        scorers: The commands of programs that score candidates, by the names of their features.
    """

    ini: str
    source: str
    decoder: DecoderName = "embedded"
    moses: str | None = None
    sections: Mapping[str, str] = field(default_factory=dict)
    nbest_size: int = 100
    rounds: int = 8
    runs: int = 1
    rescore: tuple[str, ...] = ()
    rescore_size: int | None = None
    scorers: Mapping[str, str] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """The input files other than tables and models."""
        from moses_integration.ini.moses_ini import ini_of

        return ini_of(self.ini), self.source, *self.references

    def recorded(self, ini: MosesIni) -> dict[str, object]:
        """Return everything that the search's weights depend on, except the input files.

        The second step may change: its steps of the ledger have their own settings.
        The number of threads changes no result. ``LIMITS`` names the settings that may change.
        """
        from moses_integration.ini.model_files import named_paths

        models = {
            f"{line.name}'s {key} (size or digest)": _size_or_digest(Path(path))
            for line, key, path in named_paths(ini)
        }
        settings = self.without("ini", "source", "references", "moses", "threads", *_SECOND_STEP)
        return {**settings, **models, "several seeds": self.runs > 1}

    def provenance(self) -> dict[str, object]:
        """Return the digests of the inputs, the settings and the program version."""
        settings = dataclasses.asdict(self)
        for path in ("ini", "source", "references"):
            del settings[path]
        return provenance(inputs=self.files, settings=settings)


def _size_or_digest(path: Path) -> int | str | None:
    """Return the size of a file, which may be large, or the digest of a model folder."""
    if path.is_dir():
        from phrasescore.model.folder import DIGESTS

        return sha256_of(path / DIGESTS) if (path / DIGESTS).is_file() else None
    return path.stat().st_size if path.is_file() else None


@dataclass(frozen=True, kw_only=True)
class Reranking:
    """The settings of one reranking.

    Args:
        nbest: The n-best list.
        output: The file for the translations, one per line; ``-`` is standard output.
        weights: A weights file or a moses.ini; ``None`` to use the totals in the list.
        source: The source text of the list, to check that no sentence is missing.
        minimum_bayes_risk: Whether to choose by risk instead of the highest score.
        mbr_size: The number of distinct candidates to compare.
        mbr_scale: The factor of the model scores, 0 or more.

    Raises:
        SettingsError: There are neither weights nor a risk to choose by.
    """

    nbest: str
    output: str
    weights: str | None = None
    source: str | None = None
    minimum_bayes_risk: bool = False
    mbr_size: int = 200
    mbr_scale: float = 1.0

    def __post_init__(self) -> None:
        if self.weights is None and not self.minimum_bayes_risk:
            raise SettingsError(
                "the command does not say how to choose",
                remedy="give --weights FILE, --minimum-bayes-risk, or both",
            )


@dataclass(frozen=True)
class Optimized:
    """The optimisation after a round: its score and start score on all candidates, and its time.

    ``share`` is the part of the way from the best decoded weights to the weights found; the next
    round decodes with the weights at this point.
    """

    score: Number | None = None
    start_score: Number | None = None
    seconds: Seconds = 0.0
    share: Number = 1.0


@dataclass(frozen=True)
class TunedRound:
    """One round of a tuning.

    Attributes:
        number: The index of the round, from 1.
        weights: The weights that the round decoded with, by component.
        score: The value of the objective for the decoded translations.
        bleu: The BLEU of the decoded translations.
        length_ratio: The number of words of the decoded translations per reference word.
        new: The number of candidates that did not occur in an earlier round.
        candidates: The number of candidates of all rounds so far.
        optimized: The result of the optimisation that followed.
    """

    number: Positive
    weights: dict[str, Number]
    score: Number
    bleu: Number
    length_ratio: Number
    new: Count
    candidates: Count
    optimized: Optimized = Optimized()


@dataclass(frozen=True)
class ScoreBenefit:
    """The estimated benefit of a score that is ln p of a model; twofold, over n-best lists.

    Attributes:
        name: The component, such as ``TranslationModel0_4``.
        weight: Its tuned weight; ``None`` for several scores together.
        gain: The objective with the score minus the objective without it.
        low: The lower end of the gain's 95 % interval, which accounts for the choice of sentences.
        high: The upper end of the interval.
    """

    name: str
    weight: Number | None
    gain: Number
    low: Number
    high: Number

    def in_words(self, objective: str) -> str:
        """Say in a sentence whether the score helps or harms.

        >>> ScoreBenefit("NeuralLM0", 0.2, 0.004, 0.001, 0.007).in_words("bleu")
        'NeuralLM0 helps: +0.40 bleu (95 % interval +0.10 to +0.70), an estimate over lists'
        """
        one, several = "is not shown to help", "are not shown to help"
        if self.low > 0 or self.high < 0:
            one, several = ("helps", "help") if self.low > 0 else ("harms", "harm")
            one = "may help" if self.low > 0 and self.weight == 0 else one
        verdict = several if AND in self.name else one
        gain = gain_in_words(self.gain, self.low, self.high, objective)
        said = f"{self.name} {verdict}: {gain}, an estimate over lists"
        if self.weight is not None and self.weight < 0:
            said += "; its weight is negative, so translations that its model finds probable lose"
        return said

    def unused_by(self, user: str) -> str:
        """Return the end of a sentence about a score of weight 0, else an empty text.

        >>> ScoreBenefit("NeuralLM0", 0.0, 0.0, 0.0, 0.0).unused_by("the search")
        '; its weight is 0, so the search does not use it'
        """
        return f"; its weight is 0, so {user} does not use it" if self.weight == 0 else ""


@dataclass(frozen=True)
class TunedChoice:
    """The choice among the candidates of the dev set by the second weights.

    Attributes:
        score: The objective of the candidates that the second weights choose.
        start_score: The objective of the candidates that the weights of the search choose.
        weights: The second weights, by feature.
        candidates: The maximum number of candidates of a sentence.
        benefits: The estimated benefit of each score, and then of all together.
    """

    score: Number
    start_score: Number
    weights: dict[str, tuple[Number, ...]]
    candidates: Count = 0
    benefits: tuple[ScoreBenefit, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TuningRecord(Record):
    """The record of ``tune``, for a single run or for the best of several runs.

    Args:
        objective: The metric that is maximised.
        curve: The finished rounds; empty for several runs, each of which has a record with a curve.
        weights: The best weights by feature; the latest weights if the run is not finished.
        bleu: The BLEU of the best round.
        score: The value of the objective in the best round.
        why: The reason why the run ended; empty for an unfinished run and for several runs.
        round: The best round, counted from 1.
        rounds: The number of rounds.
        seed: The seed of the best run, if there are several; ``None`` if the average is best.
        mean: The mean of the objective over seeds.
        deviation: The standard deviation of the objective over seeds.
        average: The objective of the average of the runs' weights, if there are several.
        warnings: Reasons not to rely on the result.
        seeds: A summary of each finished run, if there are several runs.
        benefits: The estimated benefit of each score that is ln p of a model, in the best run
            of a seed; then that of each score that rescores, and of all these together.
        rescoring: The second step, if the system has one.
        provenance: The provenance of the weights.
    """

    kind: ClassVar[str] = "tune"
    objective: str
    curve: tuple[TunedRound, ...] = ()
    weights: dict[str, tuple[Number, ...]]
    bleu: Number | None = None
    score: Number | None = None
    why: str = ""
    round: Positive | None = None
    rounds: Count | None = None
    seed: int | None = None
    mean: Number | None = None
    deviation: Number | None = None
    average: Number | None = None
    warnings: tuple[str, ...] = ()
    seeds: list[object] | None = None
    benefits: tuple[ScoreBenefit, ...] = ()
    rescoring: TunedChoice | None = None
    provenance: dict[str, object] = field(default_factory=dict)

    def about(self, benefit: ScoreBenefit) -> str:
        """Say in a sentence whether a score helps, and what does not use it."""
        known = dict(weights_by_component(self.weights))
        user = "rescoring" if self.rescoring and benefit.name not in known else "the search"
        return benefit.in_words(self.objective) + benefit.unused_by(user)


def weights_by_component(weights: Mapping[str, Sequence[float]]) -> Iterator[tuple[str, float]]:
    """Yield weights by component: ``LM0``, ``TranslationModel0_0``, ``TranslationModel0_1``."""
    for name, values in weights.items():
        for place, number in enumerate(values):
            yield (name if len(values) == 1 else f"{name}_{place}"), number


_STILL_RISING = 0.001  # a gain of the last round that promises more
_RUNAWAY_LENGTH = 1.5  # the length ratio of translations that are of no use
_LENGTH_TOLERANCE = 0.1  # a larger difference of the translations' length from 1 is told
_LEAST_PLAUSIBLE_BLEU = 0.01  # less suggests that the texts do not belong together
# advice, for which another command may have its own
ANOTHER_SEARCH = "try another --optimizer, another --seed or a longer dev set"
MORE_ROUNDS = "more --rounds continue this run"


def warnings_about(rounds: Sequence[TunedRound], best: TunedRound) -> Iterator[str]:
    """Yield a sentence for each sign that the result of a run should not be relied on."""
    last, earlier = rounds[-1], max((each.score for each in rounds[:-1]), default=best.score)
    if best.number == 1 and best.bleu < 1:
        yield (
            "no round decoded better than the start weights, so the search keeps them; "
            f"{ANOTHER_SEARCH}"
        )
    if best.bleu < _LEAST_PLAUSIBLE_BLEU:
        yield "BLEU is below 1: check that each reference line translates the same source line"
    elif last is best and last.score > earlier + _STILL_RISING and last.optimized == Optimized():
        yield f"the score was still rising in the last round; {MORE_ROUNDS}"
    if away := [str(each.number) for each in rounds if each.length_ratio > _RUNAWAY_LENGTH]:
        most = max(each.length_ratio for each in rounds)
        yield (
            f"lengths ran away in round {', '.join(away)}: up to {most:.1f} words per word of the "
            "reference; after such a round, tuning returns to the best weights"
        )
    if abs(best.length_ratio - 1) > _LENGTH_TOLERANCE:
        yield (
            f"the translations of the dev set have {best.length_ratio:.2f} words per word of the "
            "reference; check that both are prepared like the training text; if they are, the dev "
            "set may be another kind of text"
        )
