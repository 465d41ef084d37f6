"""Runs an improvement: measures, trains, tunes, leaves out what does not help, packs the system.

Which steps follow depends on the results of earlier ones. So the steps run in groups, and each
decision is made again from recorded results when the command continues. Only the division of the
time depends on measured times; it is a step of the ledger itself, so it is made once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
from tuning.improvement.plan import PARTS, ImprovePlan, Parts, part_of
from tuning.loop.tuning_settings import (
    ScoreBenefit,
    TuningRecord,
    TuningSettings,
    weights_by_component,
)
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
_PAGE = """\
# Improved system

Result: {verdict}.

The tuned baseline has {baseline} BLEU on the dev set. `system/` is the result; it can be moved and
copied. Translate raw text:

```sh
phrasescore decode {system} --raw < in > out
```

## What each part brings

These are estimates over lists of the dev set, given the other parts: weights of one half of the
sentences choose in the other half. A part is kept if its interval is above 0.

{parts}
`models/` has the size and the training of each model (`provenance.json`).

## Licences

{licences}
## Steps

`commands.sh` has their commands.

{times}"""


@dataclass(frozen=True, kw_only=True)
class ImproveRecord(Record):
    """The record of ``improve``.

    Args:
        verdict: A sentence about the result; empty while the work is not finished.
        kept: The names of the parts that the result has.
        benefits: The estimated benefit of the score of each part; a part may have no estimate.
        baseline: The BLEU of the tuned baseline on the dev set.
        gain: The BLEU that the parts that help gain over the baseline on the dev set.
        low: The lower end of the gain's 95 % interval.
        high: The upper end of the interval.
        seconds: The time of each step.
        licences: The first line of each file beside the texts that states a licence.
        provenance: The provenance of the result.
    """

    kind: ClassVar[str] = "improve"
    verdict: str = ""
    kept: tuple[str, ...] = ()
    benefits: dict[str, ScoreBenefit] = field(default_factory=dict)
    baseline: Number | None = None
    gain: Number = 0.0
    low: Number = 0.0
    high: Number = 0.0
    seconds: dict[str, Seconds] = field(default_factory=dict)
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
        is_time = self._time is not None
        self._do([plan.train(part, limits[part.name], is_time=is_time) for part in PARTS])
        self._do([*plan.add(PARTS), plan.tune("all", rounds, PARTS)])
        benefits = new_benefits(self._tuned("baseline"), self._tuned("all"))
        kept = helpful(benefits)
        name = "all" if kept == PARTS else "kept" if kept else "baseline"
        if name == "kept":
            self._do([*plan.add(kept), plan.tune(name, rounds, kept)])
        record = ImproveRecord(benefits=benefits, baseline=self._tuned("baseline").bleu)
        if kept:
            self._do(plan.compare(name))
            compared = _read(plan.comparison, ComparisonRecord).metrics["bleu"][1].difference
            record = dataclasses.replace(
                record, gain=compared.gain, low=compared.low, high=compared.high
            )
        record = judged(record, kept)
        self._do([plan.pack(name if record.kept else "baseline")])
        return self._finished(record)

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

    def _tuned(self, name: str) -> TuningRecord:
        return _read(self._plan.folder / name / RESULT, TuningRecord)

    def _finished(self, record: ImproveRecord) -> ImproveRecord:
        plan = self._plan
        record = dataclasses.replace(
            record,
            seconds=self._seconds,
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


def new_benefits(baseline: TuningRecord, tuned: TuningRecord) -> dict[str, ScoreBenefit]:
    """Return the estimated benefit of each new part, by its name; a part may have no estimate."""
    old = dict(weights_by_component(baseline.weights))
    # the benefit of several scores together has no weight
    new = (each for each in tuned.benefits if each.name not in old and each.weight is not None)
    return {part_of(each.name).name: each for each in new}


def helpful(benefits: Mapping[str, ScoreBenefit]) -> Parts:
    """Return the parts whose benefit has an interval above 0."""
    return tuple(part for part in PARTS if part.name in benefits and benefits[part.name].low > 0)


def judged(record: ImproveRecord, kept: Parts) -> ImproveRecord:
    """Return the record with a verdict, and with the parts that the result keeps."""
    names = tuple(part.name for part in kept)
    gain, low, high = (points(x, sign=True) for x in (record.gain, record.low, record.high))
    said = f"{gain} BLEU on the dev set (95 % interval {low} to {high}) with {', '.join(names)}"
    if not names:
        said = "no part is shown to help, so the result is the tuned baseline"
    elif record.low <= 0:
        said += ": not shown to be better, so the result is the tuned baseline"
        names = ()
    return dataclasses.replace(record, verdict=said, kept=names)


def page(record: ImproveRecord, folder: Path) -> str:
    """Return the page about the result, as Markdown."""
    rows = []
    for part in PARTS:
        cells = ["no estimate", ""]
        if (found := record.benefits.get(part.name)) is not None:
            gain, low, high = (points(x, sign=True) for x in (found.gain, found.low, found.high))
            cells = [gain, f"{low} to {high}"]
        rows.append([part.name, *cells, "kept" if part.name in record.kept else "left out"])
    return _PAGE.format(
        verdict=record.verdict,
        baseline=points(record.baseline),
        system=folder / "system",
        parts=ScoreTable(["part", "BLEU", "95 %", "result"], rows).to_markdown(),
        licences="".join(f"* `{path}`: {line}\n" for path, line in record.licences.items())
        or "No file beside the texts states a licence.\n",
        times=ScoreTable(
            ["step", "seconds"], [[name, f"{each:,.0f}"] for name, each in record.seconds.items()]
        ).to_markdown(),
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
