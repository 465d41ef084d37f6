"""Our building agrees with real Moses on text that uses every rule, and Moses reads its systems."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from moses_integration.system_building.build_settings import BuildInputs
from moses_integration.system_building.word_alignment import grow_diag_final_and, link_lines
from tests.fidelity.test_system_building import build
from tests.support.aligned_corpora import ODD_WORDS, linked_otherwise, random_corpus, write_corpus
from tests.support.fresh_process import output_of, run_fresh
from tests.support.plain_symmetrization import links_of

pytestmark = pytest.mark.moses


def train_with_moses(folder: Path, moses_bin: Path, longest: int) -> Path:
    """Run steps 4 to 9 on corpus.f, corpus.e and aligned.gdfa; return the model folder."""
    (folder / "lm").write_text("not read\n")
    (folder / "model").mkdir()
    command = [
        *(moses_bin.parent / "scripts" / "training" / "train-model.perl", "-root-dir", "."),
        *("-corpus", "corpus", "-f", "f", "-e", "e"),
        *("-alignment-file", "aligned", "-alignment", "gdfa", "-first-step", "4"),
        *("-reordering", "msd-bidirectional-fe", "-max-phrase-length", str(longest)),
        *("-lm", f"0:3:{folder / 'lm'}:8", "-external-bin-dir", moses_bin),
    ]
    output_of(*command, cwd=folder)
    return folder / "model"


@pytest.mark.parametrize(
    ("seed", "words", "longest"), [(1, 21, 7), (2, 21, 3), (3, 21, 10), (4, 5, 7), (5, 3, 2)]
)
def test_same_tables(tmp_path: Path, moses_bin: Path, seed: int, words: int, longest: int) -> None:
    """train-model.perl writes equal bytes, including odd words and ties between alignments."""
    paths = write_corpus(tmp_path, random_corpus(seed, 300, ODD_WORDS[-words:], 14))
    model = train_with_moses(tmp_path, moses_bin, longest)
    inputs = BuildInputs(*paths[:2], paths[2:])
    build(tmp_path / "s", inputs, cleaning=False, max_phrase_length=longest)
    check_equal_tables(tmp_path / "s", model)


def test_two_alignments(tmp_path: Path, moses_bin: Path) -> None:
    """train-model.perl writes equal bytes from the text written once for each alignment."""
    corpus = random_corpus(6, 200, ODD_WORDS[-9:], 12)
    other = linked_otherwise(6, corpus)
    write_corpus(tmp_path, corpus + other)
    model = train_with_moses(tmp_path, moses_bin, 7)
    paths = []
    for name, each in (("one", corpus), ("other", other)):
        (tmp_path / name).mkdir()
        paths.append(write_corpus(tmp_path / name, each))
    inputs = BuildInputs(*paths[0][:2], (paths[0][2], paths[1][2]))
    build(tmp_path / "s", inputs, cleaning=False)
    check_equal_tables(tmp_path / "s", model)


def check_equal_tables(system: Path, model: Path) -> None:
    reordering = "reordering-table.wbe-msd-bidirectional-fe.gz"
    for own, theirs in (("phrase-table.gz",) * 2, ("reordering-table.gz", reordering)):
        with gzip.open(system / own) as one, gzip.open(model / theirs) as other:
            assert one.read() == other.read()
    for name in ("lex.e2f", "lex.f2e"):
        one_lines, other_lines = (
            sorted((folder / name).read_bytes().split(b"\n")) for folder in (system, model)
        )
        assert one_lines == other_lines


def test_same_symmetrisation(tmp_path: Path, moses_bin: Path, rng: np.random.Generator) -> None:
    """Moses's symal joins random alignments to equal links."""
    directions: tuple[list[set[tuple[int, int]]], ...] = ([], [])
    shapes, text = [], []
    for _ in range(300):
        sources, targets = (int(n) for n in rng.integers(1, 10, 2))
        of_target = [int(rng.integers(-1, sources)) for _ in range(targets)]
        of_source = [int(rng.integers(-1, targets)) for _ in range(sources)]
        directions[0].append({(s, t) for t, s in enumerate(of_target) if s >= 0})
        directions[1].append({(s, t) for s, t in enumerate(of_source) if t >= 0})
        shapes.append((sources, targets))
        text.append("1\n")
        for links in (of_target, of_source):
            words = " ".join("w" * len(links))
            text.append(f"{len(links)} {words}  # {' '.join(str(n + 1) for n in links)}\n")
    command = [moses_bin / "symal", "-a=grow", "-d=yes", "-f=yes", "-b=yes"]
    lengths = np.array(shapes).T
    forward, backward = map(links_of, directions)
    joint = grow_diag_final_and(forward, backward, lengths[0], lengths[1])
    own = b"".join(link_lines(joint, 1000)).split(b"\n")
    theirs = output_of(*command, input="".join(text).encode()).split(b"\n")
    assert [set(line.split()) for line in own] == [set(line.split()) for line in theirs]


def test_decoding(tmp_path: Path, bundled_golden: Path, moses_bin: Path) -> None:
    """`moses -f system/moses.ini` translates with the unchanged folder."""
    given = bundled_golden / "extraction"
    texts = [str(given / name) for name in ("corpus.en", "corpus.fr")]
    alignment = str(given / "aligned.grow-diag-final-and")
    run_fresh(tmp_path, "build", *texts, "system/", "--alignment", alignment).well()
    text = b"she wants to change jobs .\nis victor thirsty ?\n"
    said = output_of(moses_bin / "moses", "-f", "system/moses.ini", cwd=tmp_path, input=text)
    lines = [line.split() for line in said.split(b"\n")]
    assert len(lines) == 3
    assert lines[0] == [b"elle", b"veut", b"changer", b"de", b"travail", b"."]
    assert {b"victor", b"soif"} < set(lines[1])
