"""``phrasescore nbest`` as a user runs it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model


def test_from_list_to_weights(
    bundled_golden: Path, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """Two models add two features, for which ``optimize`` finds weights."""
    decoded = bundled_golden / "decode"
    for folder, direction in (("there", "source-target"), ("back", "target-source")):
        words = ((decoded / f"input.{side}").read_bytes().split()[:200] for side in ("en", "fr"))
        save_random_model(tmp_path / folder, *words, direction=direction)  # type: ignore[arg-type]
    process = phrasescore(
        *("nbest", decoded / "default.nbest.gz", "--model", "there", "--model", "back"),
        *("--source", decoded / "input.en", "-o", "dev.rnn.nbest.gz", "--threads", "1"),
        *("--table", bundled_golden / "system" / "phrase-table.gz"),
    ).well()
    assert process.stderr.startswith(b"1,200 candidates of 8,167 phrase pairs, 384 of them scored")
    with (
        gzip.open(decoded / "default.nbest.gz") as before,
        gzip.open(tmp_path / "dev.rnn.nbest.gz") as after,
    ):
        for old, new in zip(before, after, strict=True):
            start = new.index(b" PhraseModel0= ")
            stop = new.index(b" |||", start)
            assert new[:start] + new[stop:] == old
            assert new[start:stop].split(b" ")[3] == b"PhraseModel1="
    phrasescore(
        *("optimize", "--nbest", "dev.rnn.nbest.gz", "--reference", decoded / "input.fr"),
        *("--restarts", "2", "-o", "weights.json"),
    ).well()
    weights = json.loads((tmp_path / "weights.json").read_text())["weights"]
    assert {"PhraseModel0", "PhraseModel1", "TranslationModel0"} < set(weights)


def test_whole_translations_killed_in_the_middle(tmp_path: Path, phrasescore: Phrasescore) -> None:
    """Models and given scores add the right numbers; after SIGKILL, bytes are equal."""
    words = [b"w%d" % number for number in range(60)]
    source = [b" ".join(words[n : n + 5]) for n in range(29)]
    rows = [
        b"%d ||| %s  ||| LM0= -1 ||| -1 ||| 0-1=0-0 2-4=1-2\n"
        % (n, b" ".join(words[(n + 7 * i) % 53 + j] for j in range(3)))
        for n in range(29)
        for i in range(220)
    ]
    (tmp_path / "list").write_bytes(b"".join(rows))
    (tmp_path / "source").write_bytes(b"\n".join(source) + b"\n")
    save_random_model(tmp_path / "there", words, words, kind="search")
    save_random_model(tmp_path / "back", words, words, "target-source", kind="encdec")
    save_random_model(tmp_path / "phrases", words, words)
    (tmp_path / "numbers").write_text("".join(f"{number}\n" for number in range(len(rows))))
    command = ["nbest", "list", "--source", "source", "--threads", "1", "--scores", "numbers"]
    for name in ("there", "back", "phrases"):
        command += ["--model", name]
    phrasescore.killed_after_a_block("out.gz", *command, "-o", "out.gz")
    again = phrasescore(*command, "-o", "out.gz")
    assert b"out.gz: continuing after line 1,250" in again.stderr
    assert b"6,380 candidates of 12,760 phrase pairs" in again.stderr
    phrasescore(*command, "-o", "whole.gz").well()
    assert (tmp_path / "out.gz").read_bytes() == (tmp_path / "whole.gz").read_bytes()
    lines = gzip.decompress((tmp_path / "out.gz").read_bytes()).splitlines()
    found = [line.split(b"|||")[2].split()[2:] for line in lines]
    names = [b"AttentionModel0=", b"AttentionModel1=", b"PhraseModel0=", b"Scores0="]
    assert all(features[::2] == names for features in found)
    assert [int(float(features[-1])) for features in found] == list(range(len(rows)))


def test_refusals(bundled_golden: Path, tmp_path: Path, phrasescore: Phrasescore) -> None:
    """Lists without phrases are refused with a remedy, as are names that do not match models."""
    save_random_model(tmp_path / "model", [b"a"], [b"un"])
    (tmp_path / "list").write_bytes(b"0 ||| un  ||| LM0= -1 ||| -1\n")
    (tmp_path / "source").write_bytes(b"a\n")
    common = ("nbest", "list", "--model", "model", "--source", "source", "-o", "out")
    process = phrasescore(*common).refused(3)
    assert process.stderr.startswith(
        b"phrasescore: list:1: the list does not say which phrases were used. Make the "
        b"list with -include-segmentation-in-n-best"
    )
    assert not (tmp_path / "out").exists()
    named = phrasescore(*common, "--name", "A", "--name", "B").refused(2)
    assert named.stderr == b"phrasescore: 2 names for 1 model. Give one --name for each.\n"


def test_a_source_that_the_model_does_not_know(tmp_path: Path, phrasescore: Phrasescore) -> None:
    """A source text in another language than the model's gets a warning."""
    save_random_model(tmp_path / "model", [b"the", b"house"], [b"la", b"maison"], kind="search")
    (tmp_path / "list").write_bytes(b"0 ||| la maison ||| LM0= -1 ||| -1\n")
    for source, warnings in ((b"the house", 0), (b"la maison", 1)):
        (tmp_path / "source").write_bytes(source + b"\n")
        common = ("nbest", "list", "--model", "model", "--source", "source", "-o", "out")
        done = phrasescore(*common).well()
        assert done.stderr.count(b"warning: the model does not know 100% of these") == warnings
        assert done.stderr.count(b"100.00% of the words of the source text are") == warnings
    (tmp_path / "source").write_bytes(b"the house\nthe house\n")
    done = phrasescore(*common)
    assert b"warning: the list ends after 1 sentence, but source has 2: is it" in done.stderr


def test_raw_text_is_told(tmp_path: Path, phrasescore: Phrasescore) -> None:
    """Commands that need tokens warn of raw text, which they could otherwise take for tokens."""
    save_random_model(tmp_path / "model", [b"the", b"house."], [b"la", b"maison"], kind="search")
    (tmp_path / "raw").write_bytes(b"the house.\n" * 3)
    (tmp_path / "tokens").write_bytes(b"la maison .\n" * 3)
    (tmp_path / "list").write_bytes(
        b"2 ||| la maison . ||| LM0= -1 ||| -1\n2 ||| la ||| LM0= -2 ||| -2\n"
    )
    model = ("--model", "model")
    for command in (
        ("nbest", "list", *model, "--source", "raw", "-o", "out"),
        ("translate", *model, "-i", "raw", "-o", "out"),
        ("score-text", *model, "raw", "tokens", "-o", "out"),
        ("optimize", "--nbest", "list", "--reference", "raw"),
    ):
        done = phrasescore(*command).well()
        assert done.stderr.count(b"warning: raw looks like raw text; ") == 1


def _list_of(candidates: int) -> bytes:
    return b"".join(
        b"%d ||| w%d ||| LM0= -%d ||| -1\n" % (number // 3, number, number + 1)
        for number in range(candidates)
    )


def test_scores_of_another_program(
    tmp_path: Path, phrasescore: Phrasescore, bundled_golden: Path
) -> None:
    """Each number of another program becomes a feature of its candidate."""
    rows = _list_of(6).splitlines(keepends=True)
    (tmp_path / "list").write_bytes(b"".join(rows))
    numbers = ["0.5", "-1e-3", "2", "-7.25", "0", "1234567"]
    with gzip.open(tmp_path / "comet.gz", "wb") as stream:
        stream.write("".join(f"{number}\r\n" for number in numbers).encode())
    (tmp_path / "rule").write_text("1\n1\n0\n0\n1\n0")
    scored = phrasescore(
        *("nbest", "list", "--scores", "comet.gz", "--scores", "rule", "-o", "out"),
        *("--name", "Comet", "--name", "Rule"),
    ).well()
    assert scored.stderr == b"6 candidates\n"
    found = (tmp_path / "out").read_bytes().splitlines(keepends=True)
    expected = ["0.5", "-0.001", "2", "-7.25", "0", "1.23457e+06"]
    for line, row, value, rule in zip(found, rows, expected, "110010", strict=True):
        before, features, after = row.rpartition(b" ||| ")
        assert line == before + f" Comet= {value} Rule= {rule}".encode() + features + after
    # without names they are counted from 0
    unnamed = phrasescore("nbest", "list", "--scores", "rule", "-o", "-")
    assert unnamed.stdout.count(b" Scores0= ") == 6


def test_refused_scores(tmp_path: Path, phrasescore: Phrasescore) -> None:
    """Too few, too many or no numbers get one sentence with the file; nothing is written."""
    (tmp_path / "list").write_bytes(_list_of(3))
    for text, message in [
        ("1\n2\n", "scores: 2 numbers, but the list has more candidates"),
        ("1\n2\n3\n4\n", "scores: 4 numbers, but the list has 3 candidates"),
        ("1\nnan\n3\n", "scores:2: 'nan' is not a number from -1e9 to 1e9"),
        ("1\n2 3\n3\n", "scores:2: '2 3' is not a number"),
        ("1\n\n3\n", "scores:2: '' is not a number"),
        ("1\n1e10\n3\n", "scores:2: '1e10' is not a number"),
    ]:
        (tmp_path / "scores").write_text(text)
        done = phrasescore("nbest", "list", "--scores", "scores", "-o", "out").refused(3, message)
        assert done.stderr.count(b"\n") == 1
        assert not (tmp_path / "out").exists()
    (tmp_path / "scores").write_text("1\n2\n3\n")
    for options, status, message in [
        (["--name", "LM0"], 3, "the list has a feature LM0 already"),
        (["--name", "A B"], 2, "'A B' cannot be the name of a feature"),
        (["--name", "A", "--name", "B"], 2, "2 names for 0 models and 1 file of scores"),
    ]:
        phrasescore("nbest", "list", "--scores", "scores", "-o", "out", *options).refused(
            status, message
        )
    nothing = phrasescore("nbest", "list", "-o", "out").refused(2)
    assert nothing.stderr.startswith(b"phrasescore: no model and no scores. Give --model FOLDER")


def test_a_list_of_another_text(tmp_path: Path, phrasescore: Phrasescore) -> None:
    """The lengths of its lines tell a source or a reference of another text."""
    save_random_model(tmp_path / "model", [b"the"], [b"la"], kind="search")
    lengths = [5 + line * 7 % 11 for line in range(120)]
    candidates = "{0} ||| {1}||| LM0= -1 ||| -1\n{0} ||| {1} la ||| LM0= -2 ||| -2\n"
    lines = [candidates.format(line, "la " * n) for line, n in enumerate(lengths)]
    (tmp_path / "list").write_text("".join(lines))
    for name, moved, warnings in (("same", 0, 0), ("moved", 1, 1)):
        text = "".join("the " * n + "\n" for n in lengths[moved:] + lengths[:moved])
        (tmp_path / name).write_text(text)
        scored = phrasescore("nbest", "list", "--model", "model", "--source", name, "-o", "out")
        found = phrasescore("optimize", "--nbest", "list", "--reference", name, "-o", "weights")
        for done in (scored.well(), found.well()):
            said = b"do not match those of the first candidates of list (correlation"
            assert done.stderr.count(said) == warnings
