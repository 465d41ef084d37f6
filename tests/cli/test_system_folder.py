"""A system in a folder: search and rescoring with one command, wherever the folder is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from moses_integration import Decoder
from moses_integration.nbest.format import read_nbest_lists
from tests.conftest import Phrasescore
from tests.support.system_folders import MODELS, with_scorer, write_system_folder

TEXT = b"s0 s1 s2 s3\n\ns2 s4 s1 s0 s3\ns3\ns4 s4\ns1 s3 s0\n"  # no table has s4


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Return a system whose models of both directions and of phrases rescore."""
    write_system_folder(tmp_path / "system")
    (tmp_path / "text").write_bytes(TEXT)
    return tmp_path / "system"


def by_three_commands(phrasescore: Phrasescore, system: Path, folder: Path) -> bytes:
    """Decode with the ini alone into lists, score these, and rerank."""
    names = [word for name in MODELS for word in ("--model", name, "--name", name)]
    weights = json.loads((system / "rescoring.json").read_text())["weights"]
    (folder / "second.json").write_text(json.dumps(weights))
    listed = ["--nbest", "list", "--nbest-size", "20", "--include-segmentation-in-n-best"]
    for command in (
        ["decode", system / "moses.ini", "-i", "text", "-o", "/dev/null", *listed],
        ["nbest", "list", *names, "--source", "text", "--table", system / "table", "-o", "scored"],
        ["rerank", "scored", "--weights", "second.json", "--source", "text", "-o", "three"],
    ):
        phrasescore(*command).well()
    return (folder / "three").read_bytes()


def test_one_command_gives_the_translations_of_three(
    phrasescore: Phrasescore, system: Path, tmp_path: Path
) -> None:
    """``decode`` and ``Decoder`` choose as ``nbest`` and ``rerank`` do, from equal candidates."""
    absolute = system / "moses.ini"
    relative = absolute.read_text()
    absolute.write_text(relative.replace("path=", f"path={system}/"))
    expected = by_three_commands(phrasescore, system, tmp_path)
    absolute.write_text(relative)
    command = ["decode", system, "-i", "text", "-o", "out", "--nbest", "all", "--nbest-size", "5"]
    phrasescore(*command).well()
    assert [line.rstrip() for line in (tmp_path / "out").read_bytes().split(b"\n")] == [
        *expected.split(b"\n")
    ]
    assert phrasescore("decode", system, "--threads", "3", stdin=TEXT).stdout == (
        (tmp_path / "out").read_bytes()
    )
    # the list has all features, and the second score as the total, best first
    scored = dict(read_nbest_lists(tmp_path / "scored"))
    weights = json.loads((tmp_path / "second.json").read_text())
    for number, entries in read_nbest_lists(tmp_path / "all"):
        assert len(entries) == min(5, len(scored[number]))
        assert [e.total for e in entries] == sorted((e.total for e in entries), reverse=True)
        by_words = {entry.words: entry for entry in scored[number]}
        for entry in entries:
            assert entry.features == by_words[entry.words].features
            total = sum(
                weight * value
                for name, values in entry.features.items()
                for weight, value in zip(weights[name], values, strict=True)
            )
            assert entry.total == pytest.approx(total, rel=1e-4)
    check = "--include-segmentation-in-n-best", "--nbest", "spans", "-o", "/dev/null"
    phrasescore("decode", system, "-i", "text", *check).well()
    same = phrasescore(
        "force-score", system, "-i", "text", "--nbest", "spans", "--check", "2e-3"
    ).well()
    assert b"There: differs by up to 0.000000" in same.stderr
    found = Decoder(system).translate(TEXT.decode().split("\n")[:-1], nbest=3)
    assert [each[0].text for each in found] == expected.decode().split("\n")[:-1]
    assert list(found[0][0].features)[-3:] == list(MODELS)
    assert found[0][0].score >= found[0][1].score
    # the second weights matter: the search alone chooses otherwise
    absolute.write_text(relative.replace("path=", f"path={system}/"))
    alone = phrasescore("decode", absolute, stdin=TEXT)
    assert f"rescoring.json beside {absolute} is not used".encode() in alone.stderr
    assert alone.stdout != (tmp_path / "out").read_bytes()


def test_a_folder_moves(phrasescore: Phrasescore, system: Path, tmp_path: Path) -> None:
    """Paths start in the folder, wherever it is, even where an ini could not express the path."""
    before = phrasescore("decode", system, stdin=TEXT).well()
    moved = tmp_path / "another place"
    system.rename(moved)
    assert phrasescore("decode", moved, stdin=TEXT).stdout == before.stdout
    phrasescore("doctor", moved).well()


def test_a_killed_run_continues(phrasescore: Phrasescore, system: Path, tmp_path: Path) -> None:
    """After SIGKILL, the same command gives the same bytes; with another model it starts again."""
    (tmp_path / "text").write_bytes(TEXT * 60)
    command = ["decode", system, "-i", "text", "--nbest", "list"]
    phrasescore.killed_after_a_block("out", *command, "-o", "out")
    again = phrasescore(*command, "-o", "out")
    assert b"out: continuing after line " in again.stderr
    lists = (tmp_path / "list").read_bytes()
    phrasescore(*command, "-o", "whole").well()
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "list").read_bytes() == lists


def test_a_program_scores(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """The program gets source and candidate, and its numbers choose; without models, no torch."""
    write_system_folder(tmp_path / "system", ())
    with_scorer(tmp_path / "system", "Short", 100.0)
    script = tmp_path / "short.py"
    script.write_text(
        "import sys\n"
        "assert 'torch' not in sys.modules\n"
        "for line in sys.stdin.buffer:\n"
        "    source, candidate = line.rstrip(b'\\n').split(b'\\t')\n"
        "    assert source.startswith(b's')\n"
        "    print(-len(candidate.split()))\n"
    )
    phrasescore("decode", "system", stdin=TEXT).refused(2, "--scorer Short='COMMAND'")
    text = b"s0 s1 s2 s3\ns2 s1 s0 s3\n"
    given = "--scorer", f"Short={sys.executable} {script}"
    chosen = phrasescore("decode", "system", *given, stdin=text).well()
    phrasescore("decode", "system", *given, "--scorer", "Shrt=x", stdin=text).refused(
        2, "did you mean Short"
    )
    (tmp_path / "system" / "rescoring.json").unlink()
    alone = phrasescore("decode", "system", stdin=text)
    for short, usual in zip(chosen.stdout.split(b"\n"), alone.stdout.split(b"\n"), strict=True):
        assert len(short.split()) <= len(usual.split())
    assert chosen.stdout != alone.stdout


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise SystemExit(3)", "ended with status 3"),
        ("print('good')", "wrote 'good' for candidate 1, and no number"),
        ("print(1.5)", "wrote 1 number for 9 candidates"),
        ("[print(1) for line in sys.stdin]; print(2)", "wrote 10 numbers for 9 candidates"),
    ],
)
def test_a_faulty_program(phrasescore: Phrasescore, tmp_path: Path, body: str, said: str) -> None:
    """One sentence says what a program did wrong, and what it has to write."""
    write_system_folder(tmp_path / "system", ())
    with_scorer(tmp_path / "system", "Own", 1.0)
    (tmp_path / "own.py").write_text(f"import sys\n{body}\n")
    command = f"Own={sys.executable} {tmp_path / 'own.py'}"
    process = phrasescore("decode", "system", "--scorer", command, stdin=b"s0\ns1\ns3\n").refused(
        3, f"the scorer Own {said}."
    )
    assert b"one number for each line" in process.stderr
