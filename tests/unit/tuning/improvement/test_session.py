"""The decisions of ``improve``: what helps, what is kept, how time is divided, what is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from moses_integration.text.preparation import SystemText, TextSettings, write_settings
from phrasescore.errors import CorpusError, InputError, SettingsError
from phrasescore.runs.ledger import Entry, write_entry
from tests.support.toy_system import write_toy_system
from tuning.experiment.runner import CommandStep, command_step
from tuning.improvement.costs import Costs, rounds_for, shared, time_for
from tuning.improvement.plan import LANGUAGE, PARTS, PHRASE, SENTENCE, ImprovePlan
from tuning.improvement.session import (
    ALL_PARTS,
    ImproveRecord,
    _Improvement,
    helpful,
    judged,
    new_benefits,
    page,
)
from tuning.improvement.text_checks import check_texts, check_tokens, text_warnings
from tuning.loop.tuning_settings import ScoreBenefit, TuningRecord
from tuning.metrics.significance import SystemDifference


def benefit(name: str, low: float, weight: float | None = 0.1) -> ScoreBenefit:
    """Return a benefit whose interval begins at ``low``."""
    return ScoreBenefit(name, weight, low + 0.01, low, low + 0.02)


BASELINE = TuningRecord(objective="bleu", weights={"TranslationModel0": (0.1,) * 4, "LM0": (0.5,)})
STORED = (
    benefit("TranslationModel0_3", 0.9),  # an old score, which tells nothing about a new part
    benefit("TranslationModel0_4", -0.001),
    benefit("NeuralLM0", 0.002),
    benefit("AttentionModel0", 0.01),
    benefit("rescoring", -0.5, None),  # all that rescores, together
    benefit("TranslationModel0_3 + NeuralLM0 + TranslationModel0_4", 0.8, None),
    benefit("NeuralLM0 + TranslationModel0_4 + AttentionModel0", 0.0, None),
)


def test_scores_that_do_not_help_are_left_out() -> None:
    """A part is kept only if the interval of its score is above 0."""
    found = new_benefits(BASELINE, TuningRecord(objective="bleu", weights={}, benefits=STORED))
    names = [*(part.name for part in PARTS), ALL_PARTS]
    assert found == dict(zip(names, (*STORED[1:4], STORED[-1]), strict=True))
    assert helpful(found) == (LANGUAGE, SENTENCE)
    assert helpful({PHRASE.name: benefit("TranslationModel0_4", 0.0)}) == ()
    assert helpful({}) == ()


def test_parts_that_help_only_together_are_kept() -> None:
    """If no part is shown to help alone, but all are, those with a gain are kept."""
    found = {
        PHRASE.name: benefit("TranslationModel0_4", -0.001),
        LANGUAGE.name: benefit("NeuralLM0", -0.02),
        ALL_PARTS: benefit("", 0.001, None),
    }
    assert helpful(found) == (PHRASE,)
    assert helpful(found | {SENTENCE.name: benefit("AttentionModel0", 0.1)}) == (SENTENCE,)
    assert helpful(found | {ALL_PARTS: benefit("", 0.0, None)}) == ()


@pytest.mark.parametrize(
    ("low", "kept"), [(0.001, (SENTENCE,)), (0.0, ()), (-0.01, ()), (-0.03, ())]
)
def test_the_baseline_stays_unless_the_system_is_better(
    low: float, kept: tuple[object, ...]
) -> None:
    """The interval of the whole gain must be above 0, too."""
    gain = SystemDifference(low + 0.01, low, low + 0.02, 0.5, 0.5)
    verdict, left = judged(gain, (SENTENCE,))
    assert left == kept
    assert f"BLEU (95 % interval {100 * low:+.2f} to" in verdict
    assert ("so the result is the tuned baseline" in verdict) == (not kept)
    assert (": worse, so" in verdict) == (low + 0.02 < 0)
    assert judged(None, ()) == ("No part is shown to help, so the result is the tuned baseline", ())


def test_rounds_fit_into_the_time() -> None:
    """Tuning takes a share of the time, but at least two rounds; without a time all rounds."""
    assert [rounds_for(time, 250.0) for time in (60.0, 1500.0, 7200.0, None)] == [2, 5, 8, 8]
    assert [rounds_for(time_for(rounds, 250.0), 250.0) for rounds in (3, 6)] == [3, 6]


def test_a_slow_decoding_takes_longer_than_the_time() -> None:
    """Four rounds for the baseline, two slow tunings with new parts, a quarter of the time."""
    least = Costs(40.0, 60.0, 10_000).least(480.0, 4)
    assert least == pytest.approx(60 * 5 + 2 * 3 * (60 + 20) + 120 + 3 * 4 * 40)


@pytest.mark.parametrize("training", [40.0, 200.0, 3000.0])
def test_the_time_for_a_training_is_enough(training: float) -> None:
    """A call with this time, which has more rounds, leaves the seconds; a minute less does not."""
    costs, spent, rounds = Costs(10.0, 16.0, 9000), 150.0, 4
    minutes = costs.minutes_for(training, spent, rounds)
    more = costs.rounds_of_baseline(60 * minutes) - rounds
    after = costs.divided(60 * minutes, spent + more * costs.round, rounds + more)
    assert after["training"] >= training
    assert costs.divided(60 * (minutes - 1), spent, rounds)["training"] < training


def test_trainings_share_the_cores(tmp_path: Path) -> None:
    """On two cores, the sentence model learns all the time, beside the other models."""
    texts = tmp_path / "a", tmp_path / "b"
    plans = [ImprovePlan(tmp_path / "o", None, texts, texts, cores=cores) for cores in (1, 2, 8)]
    assert [plan.threads for plan in plans] == [1, 1, 4]
    found = [shared(100.0, plan.lanes) for plan in plans]
    names = [part.name for part in PARTS]
    assert [[one[name] for name in names] for one in found] == [
        pytest.approx(seconds) for seconds in ([30, 10, 60], [75, 25, 100], [75, 25, 100])
    ]


def test_the_page(tmp_path: Path) -> None:
    """It says what each part brought and how to translate, and names licences beside the texts."""
    (tmp_path / "LICENSE").write_text("CC0 1.0 Universal\nmore\n")
    texts = tmp_path / "a", tmp_path / "b"
    plan = ImprovePlan(tmp_path / "better", None, texts, texts)
    record = ImproveRecord(
        verdict="+1.00 BLEU", kept=("language-model",), seconds={"build": 1234.5},
        benefits={
            "language-model": benefit("NeuralLM0", 0.002), ALL_PARTS: benefit("", 0.003, None),
        },
        passes={"phrase-model": 0.05, "language-model": 4.9, "sentence-model": 2.0},
    )  # fmt: skip
    text = page(record, plan)
    assert "| phrase-model | 0.05 | left out: only 0.05 passes" in text
    assert "| sentence-model | 2.00 | no estimate | left out |" in text
    assert "| language-model | 4.90 | +1.20 BLEU (95 % interval +0.20 to +2.20) | kept |" in text
    assert "| all parts | | +1.30 BLEU (95 % interval +0.30 to +2.30) | |" in " ".join(text.split())
    assert f"phrasescore decode {tmp_path}/better/system <" in text
    assert "| build | 1,234 |" in text
    assert "Translate text that is prepared like the parallel text with" in text
    assert f"{tmp_path}/LICENSE: CC0 1.0 Universal\n" in text
    assert "does not use it" not in text
    for name, user in (("language-model", "the search"), ("sentence-model", "rescoring")):
        unused = dataclasses.replace(record, benefits={name: benefit("NeuralLM0", 0.002, 0.0)})
        assert f"+2.20); its weight is 0, so {user} does not use it |" in page(unused, plan)
    plan.folder.joinpath("system").mkdir(parents=True)
    for cut in (True, False):
        words = TextSettings("en", tokenize=cut)
        write_settings(plan.folder / "system", SystemText(words, words))
        assert ("/system --raw <" in page(record, plan)) == cut


def test_texts_are_checked_first(tmp_path: Path) -> None:
    """Swapped sides and unequal texts are refused before any step."""
    toy = write_toy_system(tmp_path / "toy")
    texts = toy.source, toy.reference
    check_texts(ImprovePlan(tmp_path / "better", toy.ini, texts, texts))
    with pytest.raises(SettingsError, match=r"words of .* its source side, and 100% on its target"):
        check_texts(ImprovePlan(tmp_path / "better", toy.ini, texts, texts[::-1]))
    with pytest.raises(SettingsError, match="Give text of the target language"):
        check_texts(ImprovePlan(tmp_path / "better", toy.ini, texts, texts, target_text=toy.source))
    short = tmp_path / "short"
    short.write_bytes(b"s1\n")
    for wrong in ((toy.source, short), (short, toy.reference)):
        for pairs in ((texts, wrong), (wrong, texts)):
            with pytest.raises(InputError, match=" has "):
                check_texts(ImprovePlan(tmp_path / "better", toy.ini, *pairs))
    for nothing in (b"", b"\n \n" * 100):
        short.write_bytes(nothing)
        for wrong in ((toy.source, short), (short, toy.reference)):
            with pytest.raises(InputError, match="short: the text contains no sentence"):
                check_texts(ImprovePlan(tmp_path / "better", toy.ini, texts, wrong))
    short.write_bytes(b"\xe9t\xe9\n")
    other = tmp_path / "other"
    other.write_bytes(b"summer\n")
    with pytest.raises(CorpusError, match="not UTF-8"):
        check_texts(ImprovePlan(tmp_path / "better", None, texts, (short, other)))


def test_prepared_texts_are_refused_where_raw_text_is_prepared(tmp_path: Path) -> None:
    """Otherwise the system would learn entities that were escaped twice."""
    raw, prepared = tmp_path / "raw", tmp_path / "prepared"
    raw.write_text("It's AT&amp;T.\n" * 60)
    prepared.write_text("it &apos;s .\n" * 2 + "no .\n" * 58)
    output, tokenize = tmp_path / "better", ("--tokenize", "en", "fr")
    check_tokens(ImprovePlan(output, None, (raw, raw), (raw, raw), tokenize), print)
    check_tokens(ImprovePlan(output, None, (prepared, prepared), (raw, raw)), print)
    with pytest.raises(InputError, match="2 lines with entities such as &apos;"):
        check_tokens(ImprovePlan(output, None, (raw, raw), (raw, prepared), tokenize), print)


def test_raw_texts_are_refused_for_a_system_of_tokens(tmp_path: Path) -> None:
    """The remedy names the text of the system, or the command that prepares a text."""
    toy, said = write_toy_system(tmp_path / "toy"), list[str]()
    folder, raw = toy.ini.parent, tmp_path / "raw"
    raw.write_text("A house.\n\nIs it a café?\n")
    texts = toy.source, toy.reference
    system, output = toy.ini, tmp_path / "better"
    check_tokens(ImprovePlan(output, system, (raw, raw), texts), said.append)
    assert said == [f"warning: {raw} looks like raw text; the system needs text in its tokens"] * 2
    said.clear()
    check_tokens(ImprovePlan(output, None, (raw, raw), (raw, raw)), said.append)
    assert said == [f"warning: {raw} looks like raw text; --tokenize would prepare it"] * 4
    words = TextSettings("en", tokenize=False)
    write_settings(folder, SystemText(words, words))
    check_tokens(ImprovePlan(output, system, (raw, raw), texts), said.append)
    assert len(said) == 4
    tokens = TextSettings("en")
    write_settings(folder, SystemText(tokens, tokens))
    check_tokens(ImprovePlan(output, system, texts, texts, (), toy.reference), said.append)
    for place in range(5):
        given = [*texts, *texts, toy.reference]
        given[place] = raw
        plan = ImprovePlan(output, system, (given[0], given[1]), (given[2], given[3]), (), given[4])
        side = "target" if place % 2 or place == 4 else "source"
        asked = f"preprocess {raw} --system {folder} --side {side}"
        with pytest.raises(InputError, match="looks like raw text") as found:
            check_tokens(plan, said.append)
        assert asked in str(found.value)
    corpus = folder / "corpus.source.gz", folder / "corpus.target.gz"
    for path in corpus:
        path.touch()
    with pytest.raises(InputError, match=f"--parallel {corpus[0]} {corpus[1]}"):
        check_tokens(ImprovePlan(output, folder, (raw, raw), texts), said.append)


def test_a_dev_set_from_the_training_text(tmp_path: Path) -> None:
    """A warning says so; a few common sentences are no reason for it."""
    texts = tmp_path / "a", tmp_path / "b"
    for path in texts:
        path.write_text("".join(f"{path.name} {number}\n" for number in range(100)))
    dev = tmp_path / "c", tmp_path / "d"
    for path, seen in zip(dev, texts, strict=True):
        lines = seen.read_text().split("\n")
        path.write_text("\n".join([*lines[:5], *(f"new {number}" for number in range(95)), ""]))
    assert [*text_warnings(ImprovePlan(tmp_path / "better", None, texts, dev))] == []
    (warning,) = text_warnings(ImprovePlan(tmp_path / "better", None, texts, texts))
    assert "100 of 100 sentence pairs of the dev set are in the parallel text" in warning


def test_begun_work_is_not_lost_when_its_limit_grows(tmp_path: Path) -> None:
    """Interrupted work first runs up to its old limit, and then up to the higher one."""
    texts = tmp_path / "a", tmp_path / "b"
    plan = ImprovePlan(tmp_path / "better", None, texts, texts)
    improvement, name = _Improvement(plan, 900.0, None, print), "train.phrase-model"
    record = tmp_path / "better" / "steps" / f"{name}.json"

    def limits(limit: float) -> list[float]:
        def make(each: float) -> CommandStep:
            return command_step(name, ["phrasescore"], (), limits={"--max-time": each})

        steps = improvement._continued(make, name, "--max-time", limit)
        return [step.limits["--max-time"] for step in steps]

    assert limits(60) == [60]
    for finished, expected in ((False, {30: [30], 60: [60], 90: [60, 90]}), (True, {30: [60]})):
        write_entry(record, Entry({"--max-time": 60}, finished=finished))
        assert {limit: limits(limit) for limit in expected} == expected
    assert limits(90) == [90]


def test_trainings_that_follow_others_take_longer(tmp_path: Path) -> None:
    """A longer time may let a model join, which then trains alone; the user is told before."""
    dev = tmp_path / "dev.en", tmp_path / "dev.fr"
    said: list[str] = []
    plan = ImprovePlan(tmp_path, None, dev, dev, cores=2)
    improvement = _Improvement(plan, 600.0, None, said.append)
    limits = {"sentence-model": 300.0, "language-model": 100.0, "phrase-model": 200.0}
    assert improvement._late(limits, 300.0) == 0
    for part, seconds in ((SENTENCE, 250.0), (LANGUAGE, 100.0)):
        entry = Entry({}, finished=True, seconds=seconds)
        write_entry(tmp_path / "steps" / f"{part.training}.json", entry)
    assert improvement._spent == 250
    assert improvement._spent_otherwise == 0
    assert improvement._late(limits, 300.0) == 250 + 200 - 300  # instead of 100 + 200 beside 300
    ImproveRecord().write(tmp_path / "result.json")
    improvement._foresee(600.0, 750.0, "training counts")
    assert said == [
        "note: training counts, so all steps may take longer than --time: up to about 13 min"
    ]


def test_misaligned_texts(tmp_path: Path) -> None:
    """Before any step, a warning names a text that is shifted; empty lines are no shift."""
    lines = ["word " * (number * 7 % 23) for number in range(100)]
    source, target, shifted = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    for path, content in ((source, lines), (target, lines), (shifted, lines[1:] + lines[:1])):
        path.write_text("".join(f"{line}{path.name}\n" for line in content))
    given, dev = (source, target), (source, shifted)
    found = [*text_warnings(ImprovePlan(tmp_path / "better", None, given, dev))]
    assert [
        warning.startswith(f"{source}: the lengths of lines 1 to 100 ") for warning in found
    ] == [True]
    source.write_text("".join(f"{line}a\n" if at % 20 else "\n" for at, line in enumerate(lines)))
    assert [*text_warnings(ImprovePlan(tmp_path / "better", None, given, given))][1:] == []
    source.write_text("\n" * 100)
    assert [*text_warnings(ImprovePlan(tmp_path / "better", None, given, given))][1:] == []
