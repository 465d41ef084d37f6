"""Reading alignment files, and the errors in them."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from moses_integration.system_building.word_alignment import Links, link_lines, read_kept_links
from phrasescore.errors import CorpusError

LINKS = st.lists(st.lists(st.tuples(st.integers(0, 120), st.integers(0, 999)), max_size=5))


@given(sentences=LINKS, at_once=st.integers(1, 4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip(tmp_path: Path, sentences: list[list[tuple[int, int]]], at_once: int) -> None:
    """Links are read as they were written, including lines without links."""
    lines = [b" ".join(b"%d-%d" % link for link in links) + b"\n" for links in sentences]
    (tmp_path / "links").write_bytes(b"".join(lines))
    links = Links.read(tmp_path / "links")
    assert links.sentences == len(sentences)
    assert b"".join(link_lines(links, at_once)) == b"".join(lines)


def test_blanks(tmp_path: Path) -> None:
    """Double spaces, tabs, carriage returns and a missing last line feed are accepted."""
    (tmp_path / "links").write_bytes(b" 0-0  1-2\t\r\n\n3-4")
    links = Links.read(tmp_path / "links")
    assert b"".join(link_lines(links, 10)) == b"0-0 1-2\n\n3-4\n"


@pytest.mark.parametrize(
    "bad", ["0:0", "0-", "-1", "0-0-0", "0", "a-b", "0?1", "1-1234567", "0-1,", "0-1\x0b2-2"]
)
def test_what_is_no_link(tmp_path: Path, bad: str) -> None:
    """Anything but digits, a minus sign and digits is an error with its line."""
    path = tmp_path / "links"
    path.write_text(f"0-0\n1-1 {bad} 2-2\n")
    with pytest.raises(CorpusError, match="is not a link such as 0-1") as caught:
        Links.read(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_kept_pairs(tmp_path: Path) -> None:
    """Only the links of the kept pairs are taken."""
    (tmp_path / "links").write_bytes(b"0-0 1-1\n2-2\n\n3-4\n")
    kept, lengths = np.array([True, False, False, True]), np.array([5, 5])
    chosen = read_kept_links(tmp_path / "links", kept, (lengths, lengths))
    assert b"".join(link_lines(chosen, 10)) == b"0-0 1-1\n3-4\n"


def test_unequal_lines(tmp_path: Path) -> None:
    """The numbers of lines of links and of text must be equal."""
    (tmp_path / "links").write_bytes(b"\n\n")
    with pytest.raises(CorpusError, match="2 lines of word alignment for 3 sentence pairs"):
        read_kept_links(tmp_path / "links", np.ones(3, bool), (np.ones(3, int), np.ones(3, int)))


@pytest.mark.parametrize(("link", "word"), [((2, 0), "source"), ((0, 3), "target")])
def test_out_of_range(tmp_path: Path, link: tuple[int, int], word: str) -> None:
    """A link to a word that does not exist is an error in the line of its sentence."""
    path = tmp_path / "aligned"
    path.write_bytes(b"9-9\n1-2\n9-9\n%d-%d\n" % link)
    lengths = np.array([2, 2]), np.array([3, 3])
    with pytest.raises(CorpusError, match="points outside its sentence pair") as caught:
        read_kept_links(path, np.array([False, True, False, True]), lengths)
    assert f"{link[0]}-{link[1]}" in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, 4)
    assert f"{2 if word == 'source' else 3} {word}" in str(caught.value)
