"""Runs an improvement: measures, trains, tunes, leaves out what does not help, packs the system.

Which steps follow depends on the results of earlier ones. So the steps run in groups, and each
decision is made again from recorded results when the command continues. Only the division of the
time depends on measured times; it is a step of the ledger itself, so it is made once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from moses_integration.doctor.texts import Text
from moses_integration.ini.moses_ini import ini_of
from moses_integration.system_building.build_settings import OR_LONGER
from moses_integration.text.preparation import SETTINGS_FILE, read_settings
from phrasescore.model.folder import PROVENANCE
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.identity import provenance
from phrasescore.runs.json_files import read_object
from phrasescore.runs.ledger import RECORD, Step, begin, entry_of, has_finished, write_entry
from phrasescore.runs.lock import held
from phrasescore.runs.progress import Say, compiled_seconds
from phrasescore.runs.results import RESULT, Record, Seconds, has_record, parse_record
from phrasescore.table.input_files import CHECK_LINES, read_lines
from tuning.experiment.runner import COMMANDS, STEPS, CommandStep, Runner, script
from tuning.improvement.costs import ROUNDS, Costs, shared, time_for
from tuning.improvement.plan import PARTS, PHRASE, SENTENCE, ImprovePlan, Parts, part_of, tuning_of
from tuning.improvement.text_checks import check_texts, check_tokens, text_warnings
from tuning.loop.tuning_settings import (
    AND,
    ANOTHER_SEARCH,
    MORE_ROUNDS,
    OptimizationSettings,
    ScoreBenefit,
    TuningRecord,
    weights_by_component,
)
from tuning.metrics.metric_settings import ScoreTable, gain_in_words, points
from tuning.metrics.significance import SystemDifference
from tuning.metrics.system_comparison import ComparisonRecord

_TIMED_STEP = "decode.untuned"  # its seconds tell how long a decoding takes
_SHORT_TIME = 60.0  # seconds; too few to build, tune and train
_CLEARLY_LONGER = 1.2  # if the steps take so many times the time, the user is told
_SCORED = 0.2  # the time of scoring the table with a phrase model, relative to a pass of training
_LEAST_PASSES = 0.25  # with fewer, a model hardly knows more than the frequencies of words
_LICENCES = "LICEN[CS]E*"
ALL_PARTS = "all parts"
_PAGE = """\
# Improved system

{verdict}.
{warnings}
Translate {text} with the result, a folder that can be moved and copied:

    phrasescore decode {system}{raw} < in > out

Estimated gains over lists of the dev set, given the other parts; for an only candidate, alone:

{parts}
A part is a candidate if its interval is above 0. If only the interval of all parts together is
above 0, each part with a gain above 0 is a candidate. If `sentence-model` is the only candidate,
its estimate without the other parts decides. The dev set is then translated with the candidates.
They are kept if these translations are shown to be better than the baseline's, by an interval
above 0.

If parts are kept, compare the result with `baseline/` on a test set: the weights are fitted to the
dev set, so on other text the gain may be smaller, or none.

Models that made few passes learn more with a longer `--time`: the same command then trains further
each model that gets more time than before. `commands.sh` has the commands of all steps, and
`models/NAME/provenance.json` the size of a model.

{times}
Licences beside the texts: {licences}
"""


@dataclass(frozen=True, kw_only=True)
class ImproveRecord(Record):
    """The record of ``improve``.

    Args:
        verdict: A sentence about the result; empty while the work is not finished.
        kept: The names of the parts that the result has.
        benefits: The estimated benefit of the score of each part, and of `ALL_PARTS` together; a
            part may have no estimate.
        passes: The passes over its examples that the training of each part made.
        seconds: The time of each step.
        warnings: Reasons not to rely on the texts, or on the tuning of the result.
        provenance: The provenance of the result.
    """

    kind: ClassVar[str] = "improve"
    verdict: str = ""
    kept: tuple[str, ...] = ()
    benefits: dict[str, ScoreBenefit] = field(default_factory=dict)
    passes: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, Seconds] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    provenance: dict[str, object] = field(default_factory=dict)


def improve(plan: ImprovePlan, time: float | None, passes: int | None, say: Say) -> ImproveRecord:
    """Make a better system; the same call continues work that was stopped.

    Args:
        plan: The inputs and the folder.
        time: The seconds of all steps together, as a target; ``None`` with ``passes``.
        passes: The passes of the sentence model over the text; other models make fewer.
        say: Prints a line for each step.

    Raises:
        PhrasescoreError: An input cannot be used, or a step failed; finished steps are kept.
        InterruptedWorkError: Ctrl-C, SIGTERM or SIGHUP.
    """
    if time is not None and time < _SHORT_TIME:
        say(f"note: --time is {time:.0f} seconds; for minutes, write {time:.0f}m")
    check_texts(plan)
    check_tokens(plan, say)
    warnings = tuple(text_warnings(plan))
    for warning in warnings:
        say(f"warning: {warning}")
    with held(plan.folder, inside=True):
        inputs = [*plan.inputs, *([Path(ini_of(str(plan.system)))] if plan.system else ())]
        settings: dict[str, object] = {"build": [*plan.build], "system": str(plan.system or "")}
        if plan.seed != OptimizationSettings.seed:  # else the folder may be of an earlier version
            settings["seed"] = plan.seed
        work = entry_of(settings, inputs)
        # no step has finished, so a call with corrected inputs may begin
        if has_record(plan.folder, ImproveRecord) and not has_finished(plan.folder / STEPS):
            write_entry(plan.folder / RECORD, work)
        begin(plan.folder, work, inputs, "name a new folder, or give the inputs as before")
        if not has_record(plan.folder, ImproveRecord):
            ImproveRecord().write(plan.folder / RESULT)
        return _Improvement(plan, time, passes, say).run(warnings)


class _Improvement:
    def __init__(self, plan: ImprovePlan, time: float | None, passes: int | None, say: Say) -> None:
        self._plan, self._time, self._passes, self._say = plan, time, passes, say
        self._steps: list[CommandStep] = []
        self._end = time  # the foreseen seconds of all steps
        self._costs = Costs.foreseen(0.0, 0)  # until the first decoding
        self._runner = Runner(plan.folder, Path.cwd(), say, self._relay, self._announce)

    def run(self, warnings: tuple[str, ...]) -> ImproveRecord:
        """Run all steps, and write the page and the record, with warnings of the given texts."""
        plan = self._plan
        self._do(plan.first_steps())
        words = sum(1 for _ in Text.read(plan.dev_texts[0]).tokens())
        self._costs = Costs.foreseen(self._seconds_of(_TIMED_STEP), words)
        rounds = self._costs.rounds_of_baseline(self._time)
        if self._time is not None:
            self._foresee(self._time, self._spent_otherwise + self._costs.least(self._time, rounds))
        rounds = self._tune("baseline", rounds)
        limits, rounds = self._limits(rounds)
        passes, learnt = self._train(limits)
        benefits: dict[str, ScoreBenefit] = {}
        if learnt:
            self._tune("all", rounds, learnt)
            benefits = new_benefits(self._tuned("baseline"), self._tuned("all"))
        kept = helpful(benefits)
        name = "all" if kept == learnt else "kept" if kept else "baseline"
        if name == "kept":
            self._tune(name, rounds, kept)
            # it chooses among lists, as the estimate does; other parts change the search
            if kept == (SENTENCE,):
                own = new_benefits(self._tuned("baseline"), self._tuned(name))
                kept, benefits = helpful(own), {**benefits, **own}
        gain = None
        if kept:
            *decodings, compare = plan.compare(name)
            self._end = self._end and self._spent + self._costs.comparing
            self._do(decodings)
            self._end = self._end and self._spent  # the last steps are short
            self._do([compare])
            gain = _read(plan.comparison, ComparisonRecord).metrics["bleu"][1].difference
        verdict, kept = judged(gain, kept)
        final = name if kept else "baseline"
        self._end = self._end and self._spent
        self._do([plan.pack(final)])
        if self._time is not None and self._spent > _CLEARLY_LONGER * self._time:
            self._say(
                f"note: all steps took {self._spent / 60:.0f} min, which is longer than --time"
            )
        tuning = self._last_step(tuning_of(final))
        asked = {"time": self._time, "passes": self._passes, "build": [*plan.build]}
        baseline = points(self._tuned("baseline").bleu)
        told = [line.removeprefix("warning: ") for line in self._told(tuning, "warning: ")]
        found = dict.fromkeys([*told, *self._tuned(final).warnings])  # users may delete logs
        advised = (self._advised(each, tuning) for each in found)
        record = ImproveRecord(
            verdict=f"{verdict} (baseline: {baseline} BLEU on the dev set)",
            kept=tuple(part.name for part in kept),
            benefits=benefits,
            passes=passes,
            seconds=self._seconds,
            warnings=(*warnings, *advised),
            provenance=provenance(inputs=plan.inputs, settings={**asked, "seed": plan.seed}),
        )
        write_atomically(plan.folder / "improve.md", page(record, plan).encode())
        record.write(plan.folder / RESULT)
        return record

    def _foresee(self, time: float, end: float, why: str = "") -> None:
        """Note when all steps will end; tell the user, once, if that is clearly after ``time``."""
        before = _read(self._plan.folder / RESULT, ImproveRecord)
        is_done = before.verdict and before.provenance["settings"]["time"] == time
        if (self._end or 0.0) <= _CLEARLY_LONGER * time < end and not is_done:
            why = why or f"decoding the dev set took {self._seconds_of(_TIMED_STEP):,.0f} s"
            self._say(
                f"note: {why}, so all steps may take longer than --time: up to about "
                f"{math.ceil(end / 60)} min"
            )
        self._end = max(end, time)

    def _do(self, steps: Iterable[CommandStep], jobs: int = 1) -> None:
        """Run the next steps, some of them at a time; those known so far are in the script."""
        new = [step for step in steps if step not in self._steps]
        self._steps += new
        write_atomically(self._plan.folder / COMMANDS, script(Path.cwd(), self._steps))
        self._runner.run(new, jobs)

    def _announce(self, step: CommandStep) -> None:
        """Print the command of a step, with the time so far and the time left."""
        spent = self._spent
        told = f"{spent / 60:.0f} min"
        if self._end is not None and spent > self._end:
            told += ", longer than foreseen"
        elif self._end is not None:
            told += f", up to about {math.ceil((self._end - spent) / 60)} min left"
        self._say(f"[{told}] {step.work}")

    def _relay(self, step: CommandStep) -> None:
        """Print what a step of building or tuning has told the user."""
        if step.work.words[1] in ("build", "preprocess", "tune"):
            for line in self._told(step, "note: ", "warning: "):
                self._say(f"{step.name}: {self._advised(line, step)}")

    def _told(self, step: CommandStep, *beginnings: str) -> Iterator[str]:
        """Yield the notes or warnings of a step; the texts' alignment was judged before."""
        for line in self._runner.printed(step):
            if line.startswith(beginnings) and not line.endswith(CHECK_LINES):
                yield line

    def _advised(self, warning: str, step: CommandStep) -> str:
        """Return a warning of a step with the advice that fits this command."""
        advice, rounds = f"improve stops at {ROUNDS} rounds; phrasescore tune can take more", ROUNDS
        if self._time is not None:
            rounds = int(step.limits.get("--rounds", ROUNDS))
        if rounds < ROUNDS:
            is_first, costs = step.name == tuning_of("baseline"), self._costs
            cost = costs.of_baseline if is_first else costs.with_parts
            minutes = math.ceil(time_for(rounds + 1, cost) / 60)
            advice = f"about --time {minutes}m allows one more round (at most {ROUNDS})"
        warning = warning.replace(ANOTHER_SEARCH, "a longer dev set may help")
        warning = warning.replace(OR_LONGER, "").removesuffix(" (--side)")
        return warning.replace(MORE_ROUNDS, advice)

    @property
    def _seconds(self) -> dict[str, float]:
        """The seconds of each finished step and of each training, also of earlier calls."""
        steps = (step.name for step in self._steps if step.name in self._runner.done)
        names = (*steps, *(part.training for part in PARTS))
        entries = {name: self._runner.ledger.entry(name) for name in names}
        return {name: entry.seconds for name, entry in entries.items() if entry is not None}

    def _last_step(self, name: str) -> CommandStep:
        """Return the step with the present limit; one that was continued is listed twice."""
        return [step for step in self._steps if step.name == name][-1]

    def _seconds_of(self, name: str) -> float:
        """Return the seconds of a finished step, minus those of compiling, which happens once."""
        printed = self._runner.printed(self._last_step(name))
        return self._seconds[name] - sum(map(compiled_seconds, printed))

    @property
    def _spent(self) -> float:
        """The seconds of all steps so far; lanes of trainings run at the same time."""
        seconds = self._seconds
        lanes = ((seconds.get(part.training, 0.0) for part in lane) for lane in self._plan.lanes)
        return self._spent_otherwise + max(map(sum, lanes))

    @property
    def _spent_otherwise(self) -> float:
        """The seconds of all steps so far but trainings, which an earlier call may have begun."""
        trainings = {part.training for part in PARTS}
        return sum(each for name, each in self._seconds.items() if name not in trainings)

    def _limits(self, rounds: int) -> tuple[Mapping[str, float], int]:
        """Return the limit of each training, and the rounds of the tunings with new parts."""
        if self._time is None:
            passes = self._passes or 1
            return {part.name: max(1.0, round(passes * part.passes)) for part in PARTS}, rounds
        time, weights = self._time, self._plan.folder / "baseline" / "weights.json"
        once = self._seconds_of(tuning_of("baseline")) / (rounds + 1)
        self._costs = replace(self._costs, round=once)
        settings = {"the time": time, "the lanes": len(self._plan.lanes)}
        divide = partial(self._costs.divided, time, self._spent_otherwise, rounds)
        step = Step("time", divide, settings, (weights,), ())
        found = self._runner.ledger.do(step).counts  # announced nowhere: no command of the user's
        self._foresee(time, float(found["end"]))
        return shared(float(found["training"]), self._plan.lanes), int(found["rounds"])

    def _say_left_out(self, name: str, passes: float, training: float, spent: float) -> None:
        """Say that a model is left out, and the time that would be enough.

        Args:
            name: The part.
            passes: The passes that the model makes.
            training: The seconds of all trainings of a lane.
            spent: The seconds of all steps before the trainings.
        """
        rounds = int(self._last_step(tuning_of("baseline")).limits["--rounds"])
        needed = _CLEARLY_LONGER * training * _LEAST_PASSES / max(passes, 0.001)
        minutes = self._costs.minutes_for(needed, spent, rounds)
        advice = f"about --time {minutes}m would be enough"
        self._say(f"note: {name}: {few_passes(passes)} ({advice})")

    def _train(self, limits: Mapping[str, float]) -> tuple[dict[str, float], Parts]:
        """Train the models; return the passes that each makes over its text, and what to try."""
        plan, passes = self._plan, dict[str, float]()
        parts = [part for lane in plan.lanes for part in lane]
        training = sum(limits[part.name] for part in plan.lanes[-1])
        spent = self._spent_otherwise
        fit = 1.0 if self._time is None else self._phrase_passes(limits[PHRASE.name])
        if fit < _LEAST_PASSES:
            parts.remove(PHRASE)
            passes[PHRASE.name] = fit
            self._say_left_out(PHRASE.name, fit, training, spent)
            others = [[part for part in lane if part is not PHRASE] for lane in plan.lanes]
            limits = shared(training, others)
        elif self._end is not None:
            self._end += _SCORED * limits[PHRASE.name] / fit
        if self._time is not None and self._end is not None:
            why = "the training of earlier calls counts"
            self._foresee(self._time, self._end + self._late(limits, training), why)
        option = "--max-epochs" if self._time is None else "--max-time"
        trainings = [
            self._continued(
                partial(plan.train, part, option), part.training, option, round(limits[part.name])
            )
            for part in parts
        ]
        # all that an earlier call began, and then all
        self._do([begun for begun, *longer in trainings if longer], jobs=len(plan.lanes))
        self._do([steps[-1] for steps in trainings], jobs=len(plan.lanes))
        made = {part.name: _training(plan.model(part))["passes"] for part in parts}
        # the machine may be slower than it was when measured; what is trained may as well be tried
        tried = tuple(part for part in PARTS if made.get(part.name, 0.0) >= _LEAST_PASSES / 2)
        for part in parts:
            if self._time is not None and part not in tried:
                self._say_left_out(part.name, made[part.name], training, spent)
        return passes | made, tried

    def _late(self, limits: Mapping[str, float], training: float) -> float:
        """Return how much longer the trainings take because their lanes do not begin together."""
        done = self._seconds
        lanes = (
            sum(max(0, limits.get(part.name, 0) - done.get(part.training, 0)) for part in lane)
            for lane in self._plan.lanes
        )
        return self._spent - self._spent_otherwise + max(lanes) - training

    def _tune(self, name: str, rounds: int, parts: Parts = ()) -> int:
        """Add parts and tune; return the rounds, which are more if an earlier call made more."""
        make = partial(self._plan.tune, name, parts)
        steps = self._continued(make, tuning_of(name), "--rounds", rounds)
        self._do([*self._plan.add(parts), *steps])
        return int(steps[-1].limits["--rounds"])

    def _continued(
        self, make: Callable[[float], CommandStep], name: str, option: str, limit: float
    ) -> list[CommandStep]:
        """Return the step, or the two steps, that bring a training or tuning to a limit.

        A finished step keeps a higher limit. Unfinished work may depend on its limit: if an earlier
        call began it with a lower one, a first step finishes it up to that limit.
        """
        entry = self._runner.ledger.entry(name)
        old_limit = entry.settings.get(option, limit) if entry else limit
        if entry and entry.finished:
            return [make(max(old_limit, limit))]
        return [make(each) for each in sorted({min(old_limit, limit), limit})]

    def _phrase_passes(self, time: float) -> float:
        """Measure how many passes a small phrase model makes in a time."""
        self._do([step := self._plan.measure(time)])
        found = _training(step.outputs[0])
        return found["passes"] * time / found["seconds"]

    def _tuned(self, name: str) -> TuningRecord:
        return _read(self._plan.folder / name / RESULT, TuningRecord)


def few_passes(passes: float) -> str:
    """Say why a model is left out.

    >>> few_passes(0.157)
    'left out: only 0.16 passes fit into its time, but 0.25 are needed'
    """
    return f"left out: only {passes:.2f} passes fit into its time, but {_LEAST_PASSES} are needed"


def new_benefits(baseline: TuningRecord, tuned: TuningRecord) -> dict[str, ScoreBenefit]:
    """Return the estimated benefit of each new part, by its name, and of `ALL_PARTS` if several.

    If the baseline has scores of models itself, there is no estimate of the new parts together.
    """
    old = dict(weights_by_component(baseline.weights))
    # the benefit of several scores together has no weight
    new = (each for each in tuned.benefits if each.name not in old and each.weight is not None)
    found = {part_of(each.name).name: each for each in new}
    names = {each.name for each in found.values()}
    together = [each for each in tuned.benefits if {*each.name.split(AND)} == names]
    return found | ({ALL_PARTS: together[-1]} if together and len(names) > 1 else {})


def helpful(benefits: Mapping[str, ScoreBenefit]) -> Parts:
    """Return the parts that help alone; if there are none but all help together, those with a gain.

    A part helps if its interval is above 0.
    """
    found = [(part, benefits[part.name]) for part in PARTS if part.name in benefits]
    alone = tuple(part for part, own in found if own.low > 0)
    if alone or ALL_PARTS not in benefits or benefits[ALL_PARTS].low <= 0:
        return alone
    return tuple(part for part, own in found if own.gain > 0)


def judged(found: SystemDifference | None, kept: Parts) -> tuple[str, Parts]:
    """Return a sentence about the parts that help, and the parts that the result keeps.

    Args:
        found: The gain of the parts over the baseline on the dev set.
        kept: The parts.
    """
    if found is None or found.low == found.high == 0:
        return "No part is shown to help, so the result is the tuned baseline", ()
    names = ", ".join(part.name for part in kept)
    said = f"{_interval(found)} with {names} on the dev set, which the weights are fitted to"
    if found.low > 0:
        return said, kept
    verdict = "worse" if found.high < 0 else "not shown to be better"
    return f"{said}: {verdict}, so the result is the tuned baseline", ()


def _interval(found: SystemDifference | ScoreBenefit) -> str:
    return gain_in_words(found.gain, found.low, found.high, "BLEU")


def page(record: ImproveRecord, plan: ImprovePlan) -> str:
    """Return the page about the result, as Markdown."""
    rows = []
    for name, passes in record.passes.items():
        found = few_passes(passes) if passes < _LEAST_PASSES else "no estimate"
        if (own := record.benefits.get(name)) is not None:
            user = "rescoring" if name == SENTENCE.name else "the search"
            found = _interval(own) + own.unused_by(user)
        rows.append([name, f"{passes:.2f}", found, "kept" if name in record.kept else "left out"])
    if ALL_PARTS in record.benefits:
        rows.append([ALL_PARTS, "", _interval(record.benefits[ALL_PARTS]), ""])
    times = [[name, f"{seconds:,.0f}"] for name, seconds in record.seconds.items()]
    folders = dict.fromkeys(text.parent for text in plan.inputs)
    files = sorted(path for folder in folders for path in folder.glob(_LICENCES))
    stated = (f"{path}: {next(read_lines(path), b'').decode('utf-8', 'replace')}" for path in files)
    system = plan.folder / "system"
    is_raw = (system / SETTINGS_FILE).exists() and read_settings(system).source.takes_raw_text
    return _PAGE.format(
        verdict=record.verdict,
        warnings="".join(f"\nWarning: {warning}.\n" for warning in record.warnings),
        system=system,
        text="raw text" if is_raw else "text that is prepared like the parallel text",
        raw=" --raw" if is_raw else "",
        parts=ScoreTable(["part", "passes over its text", "gain", "result"], rows).to_markdown(),
        times=ScoreTable(["step", "seconds"], times).to_markdown(),
        licences="; ".join(stated) or "none found",
    )


def _training(model: Path) -> Mapping[str, Any]:
    """Return the record of a training: its passes, seconds and others."""
    found: Any = read_object(model / PROVENANCE)["training"]
    return found  # the ledger repeats a training whose files have changed


def _read(path: Path, kind: type[Any]) -> Any:
    """Return the record in a file that a step has written."""
    return parse_record(read_object(path), kind)
