"""Runs an improvement: measures, trains, tunes, leaves out what does not help, packs the system.

Which steps follow depends on the results of earlier ones. So the steps run in groups, and each
decision is made again from recorded results when the command continues. Only the division of the
time depends on measured times; it is a step of the ledger itself, so it is made once.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from moses_integration.doctor.texts import Text, TextWords
from phrasescore.errors import InputError, SettingsError, counted
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.identity import provenance
from phrasescore.runs.json_files import read_object
from phrasescore.runs.ledger import Step, read_entry, refuse_files
from phrasescore.runs.lock import held
from phrasescore.runs.results import RESULT, Number, Record, Seconds, has_record, parse_record
from phrasescore.table.input_files import read_lines
from tuning.experiment.plan import COMMANDS, CommandStep, script
from tuning.experiment.runner import Runner, Say
from tuning.improvement.plan import PARTS, ImprovePlan, Parts, TrainingText
from tuning.loop.score_benefit import benefit_in_words
from tuning.loop.tuning_settings import ScoreBenefit, TuningRecord, TuningSettings
from tuning.metrics.score_tables import ScoreTable, points
from tuning.metrics.system_comparison import ComparisonRecord

ROUNDS, _FEWEST_ROUNDS = TuningSettings.rounds, 2
# A tuning may take this share of the time. A language model in the search doubles the time of a
# decoding, and there are up to two tunings with new parts.
_TUNING_SHARE, _SLOWER, _TUNINGS = 0.12, 2.0, 2
_OPTIMISED = 1.5  # the time of a round, relative to decoding the dev set once
_SECONDS_TO_RESCORE = 0.3  # for a sentence: a hundred candidates, in three decodings
_LEAST_TRAINING = 0.25  # share of the time; without training, nothing can help
_CLEAR = 0.2  # languages share names and numbers, so a smaller difference may be chance
_LICENCES = ("LICEN[CS]E*", "COPYING*")


@dataclass(frozen=True)
class PartResult:
    """What a part brought.

    Attributes:
        name: The name of the part.
        kept: Whether the result has the part.
        benefit: The estimated benefit of its score; ``None`` if there is no estimate.
    """

    name: str
    kept: bool
    benefit: ScoreBenefit | None = None


@dataclass(frozen=True, kw_only=True)
class ImproveRecord(Record):
    """The record of ``improve``.

    Args:
        verdict: A sentence about the result; empty while the work is not finished.
        parts: The parts that were tried.
        baseline: The BLEU of the tuned baseline on the dev set.
        gain: The BLEU that the result gains over the baseline on the dev set; 0 for the baseline.
        low: The lower end of the gain's 95 % interval.
        high: The upper end of the interval.
        seconds: The time of each step.
        commands: The command of each step.
        licences: The first line of each file beside the texts that states a licence.
        provenance: The provenance of the result.
    """

    kind: ClassVar[str] = "improve"
    verdict: str = ""
    parts: tuple[PartResult, ...] = ()
    baseline: Number | None = None
    gain: Number = 0.0
    low: Number = 0.0
    high: Number = 0.0
    seconds: dict[str, Seconds] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    licences: dict[str, str] = field(default_factory=dict)
    provenance: dict[str, object] = field(default_factory=dict)


def improve(plan: ImprovePlan, time: float | None, passes: int | None, say: Say) -> ImproveRecord:
    """Make a better system; the same call continues work that was stopped.

    Args:
        plan: The inputs and the folder.
        time: The seconds of all steps together, as a target; ``None`` with ``passes``.
        passes: The passes of each training over its examples.
        say: Prints a line for each step.

    Raises:
        PhrasescoreError: An input cannot be used, or a step failed; finished steps are kept.
        InterruptedWorkError: Ctrl-C, SIGTERM or SIGHUP.
    """
    check_texts(plan)
    with held(plan.folder, inside=True):
        if not has_record(plan.folder, ImproveRecord):
            refuse_files(plan.folder, f"record of improve ({RESULT})")
            ImproveRecord().write(plan.folder / RESULT)
        return _Improvement(plan, time, passes, say).run()


class _Improvement:
    def __init__(self, plan: ImprovePlan, time: float | None, passes: int | None, say: Say) -> None:
        self._plan, self._time, self._passes, self._say = plan, time, passes, say
        self._steps: list[CommandStep] = []
        self._runner = Runner(plan.folder, Path.cwd(), 1, say, lambda step: None, self._announce)

    def run(self) -> ImproveRecord:
        """Run all steps, and write the page and the record."""
        plan = self._plan
        self._do(plan.first_steps())
        rounds = ROUNDS
        if self._time:
            once = self._seconds["decode.untuned"] * _OPTIMISED
            rounds = _rounds(self._time, once)
        self._do([plan.tune("baseline", rounds)])
        limits, rounds = self._limits(rounds)
        for part in PARTS:
            options = self._text.options(part, limits[part.name], is_time=bool(self._time))
            self._do([plan.train(part, options)])
        self._do([*plan.add(PARTS), plan.tune("all", rounds, PARTS)])
        benefits = self._benefits()
        kept = helpful(benefits)
        for benefit in benefits.values():
            if benefit is not None:
                self._say(benefit_in_words(benefit, "bleu"))
        name = "all" if kept == PARTS else "kept" if kept else "baseline"
        if name == "kept":
            self._do([*plan.add(kept), plan.tune(name, rounds, kept)])
        found = ImproveRecord(baseline=self._tuned("baseline").bleu)
        if kept:
            self._do(plan.compare(name))
            record = _read(plan.comparison, ComparisonRecord)
            difference = record.metrics["bleu"][1].difference
            assert difference is not None
            gain, low, high = difference.gain, difference.low, difference.high
            found = dataclasses.replace(found, gain=gain, low=low, high=high)
        parts = tuple(PartResult(each.name, each in kept, benefits[each.name]) for each in PARTS)
        verdict = verdict_on(found, parts)
        if found.low <= 0:
            name, parts = "baseline", tuple(dataclasses.replace(x, kept=False) for x in parts)
        self._do([plan.pack(name)])
        return self._finished(dataclasses.replace(found, verdict=verdict, parts=parts))

    def _do(self, steps: Iterable[CommandStep]) -> None:
        """Run the next steps; those known so far are in the script."""
        new = [step for step in steps if step not in self._steps]
        self._steps += new
        write_atomically(self._plan.folder / COMMANDS, script(Path.cwd(), self._steps))
        self._runner.run(new)

    def _announce(self, step: CommandStep) -> None:
        """Print the command of a step, with the time so far and the time left."""
        spent = sum(self._seconds.values())
        told = f"{spent / 60:.0f} min"
        if self._time:
            told += f", about {max(0.0, self._time - spent) / 60:.0f} min left"
        self._say(f"[{told}] {step.work}")

    @property
    def _seconds(self) -> dict[str, float]:
        """The seconds of each finished step, also of earlier calls."""
        entries = {name: read_entry(self._runner.ledger.path(name)) for name in self._runner.done}
        return {name: entry.seconds for name, entry in entries.items() if entry is not None}

    @cached_property
    def _text(self) -> TrainingText:
        counts = Counter(
            word for line in read_lines(self._plan.texts[1]) for word in line.split(b" ")
        )
        return TrainingText(counts.total(), sum(number > 1 for number in counts.values()))

    def _limits(self, rounds: int) -> tuple[Mapping[str, float], int]:
        """Return the limit of each training, and the rounds of the tunings with new parts."""
        if not self._time:
            return {part.name: float(self._passes or 0) for part in PARTS}, ROUNDS
        time, weights = self._time, self._plan.folder / "baseline" / "weights.json"

        def divide() -> dict[str, Any]:
            spent = sum(self._seconds.values())
            once = _SLOWER * self._seconds["tune.baseline"] / (rounds + 1)
            after = _rounds(time, once)
            lines = len(Text.read(self._plan.dev_texts[0]).lines)
            rest = _TUNINGS * (after + 1) * once + lines * _SECONDS_TO_RESCORE
            left = max(_LEAST_TRAINING * time, time - spent - rest)
            return {"rounds": after, **{part.name: part.share * left for part in PARTS}}

        step = Step("time", divide, {"the time": time}, (weights,), ())
        found = self._runner.ledger.do(step, self._say).counts
        return found, int(found["rounds"])

    def _benefits(self) -> dict[str, ScoreBenefit | None]:
        """Return the estimated benefit of each part, by its name."""
        found = {each.name: each for each in self._tuned("all").benefits}
        return {part.name: found.get(self._plan.component(part)) for part in PARTS}

    def _tuned(self, name: str) -> TuningRecord:
        return _read(self._plan.folder / name / RESULT, TuningRecord)

    def _finished(self, record: ImproveRecord) -> ImproveRecord:
        plan = self._plan
        record = dataclasses.replace(
            record,
            seconds=self._seconds,
            commands=tuple(str(step.work) for step in self._steps),
            licences=licences([*plan.parallel, *plan.dev]),
            provenance=provenance(
                inputs=[*plan.parallel, *plan.dev],
                settings={"time": self._time, "passes": self._passes, "build": list(plan.build)},
            ),
        )
        write_atomically(plan.folder / "improve.md", page(record, plan.folder).encode())
        record.write(plan.folder / RESULT)
        return record


def _rounds(time: float, once: float) -> int:
    """Return the rounds of a tuning that takes its share of the time; ``once`` for each round."""
    return min(ROUNDS, max(_FEWEST_ROUNDS, int(_TUNING_SHARE * time / max(once, 1e-9)) - 1))


def helpful(benefits: Mapping[str, ScoreBenefit | None]) -> Parts:
    """Return the parts whose benefit has an interval above 0."""
    return tuple(
        part for part in PARTS if (found := benefits[part.name]) is not None and found.low > 0
    )


def verdict_on(found: ImproveRecord, parts: Sequence[PartResult]) -> str:
    """Return a sentence about the result."""
    names = [part.name for part in parts if part.kept]
    if not names:
        return "no part is shown to help, so the result is the tuned baseline"
    gain, low, high = (points(x, sign=True) for x in (found.gain, found.low, found.high))
    said = f"{gain} BLEU on the dev set (95 % interval {low} to {high}) with {', '.join(names)}"
    if found.low > 0:
        return said
    return f"{said}: not shown to be better, so the result is the tuned baseline"


def page(record: ImproveRecord, folder: Path) -> str:
    """Return the page about the result, as Markdown."""
    rows = []
    for part in record.parts:
        found, cells = part.benefit, ["no estimate", ""]
        if found is not None:
            low, high = points(found.low, sign=True), points(found.high, sign=True)
            cells = [points(found.gain, sign=True), f"{low} to {high}"]
        rows.append([part.name, *cells, "kept" if part.kept else "left out"])
    times = [[name, f"{seconds:,.0f}"] for name, seconds in record.seconds.items()]
    licences = [f"* `{path}`: {line}\n" for path, line in record.licences.items()]
    run = f"phrasescore decode {folder / 'system'} --raw < in > out"
    return (
        f"# {record.verdict[0].upper()}{record.verdict[1:]}\n\n"
        f"The tuned baseline has {points(record.baseline)} BLEU on the dev set. `system/` is the "
        f"result; it can be moved and copied. Translate raw text:\n\n```sh\n{run}\n```\n\n"
        "## What each part brings\n\n"
        "An estimate over lists of the dev set, given all other parts: weights of one half of the "
        "sentences choose in the other half. A part is kept if its interval is above 0.\n\n"
        + ScoreTable(["part", "BLEU", "95 %", ""], rows).to_markdown()
        + "\n`models/` has the size and the training of each model (`provenance.json`).\n\n"
        "## Licences\n\n"
        + ("".join(licences) or "No file beside the texts states a licence.\n")
        + "\n## Steps\n\n`commands.sh` has the commands.\n\n"
        + ScoreTable(["step", "seconds"], times).to_markdown()
    )


def licences(texts: Iterable[Path]) -> dict[str, str]:
    """Return the first line of each file beside some texts that is named as a licence is."""
    found = {}
    for folder in dict.fromkeys(text.parent for text in texts):
        for path in sorted(path for name in _LICENCES for path in folder.glob(name)):
            first = next((line for line in read_lines(path) if line.strip()), b"")
            found[str(path)] = first.decode("utf-8", "replace").strip()
    return found


def check_texts(plan: ImprovePlan) -> None:
    """Check the texts before any long step.

    Raises:
        InputError: A text is missing or empty, texts have different numbers of lines, or the sides
            of the dev set are swapped.
        IniError: The system has no phrase table in text form.
    """
    if plan.system is not None:
        plan.table  # noqa: B018 - raises an error if there is no such table
    texts = [[Text.read(path) for path in pair] for pair in (plan.parallel, plan.dev)]
    for source, target in texts:
        for text in (source, target):
            if not any(line.strip() for line in text.lines):
                raise InputError("the text is empty", path=text.path)
        if len(source.lines) != len(target.lines):
            raise InputError(
                f"{counted(len(target.lines), 'line')}, but {source.path} has "
                f"{len(source.lines):,}",
                path=target.path,
                remedy="line i of one text must be the translation of line i of the other",
            )
    (known, other), dev = ([set(each.tokens()) for each in texts[0]], texts[1])
    for text, own, swapped in ((dev[0], known, other), (dev[1], other, known)):
        words = TextWords(text.tokens())
        own_share, share = (1 - words.unknown_share(each.__contains__) for each in (own, swapped))
        if share > own_share + _CLEAR:
            raise SettingsError(
                f"the parallel text has {share:.0%} of the words of {text.path} on the other "
                f"side, and {own_share:.0%} on its own",
                remedy="swap --source and --reference, or the two files of --parallel",
            )


def _read(path: Path, kind: type[Any]) -> Any:
    """Return the record in a file that a step has written."""
    return parse_record(read_object(path), kind)
