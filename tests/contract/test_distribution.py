"""The content of a source distribution, and its page on a package index."""

from __future__ import annotations

import email
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

from tests.conftest import PROJECT

_PARTS = ("phrasescore", "moses_integration", "tuning", "docs", "tests", "sample_corpus",
          "benchmarks", "experiments")  # fmt: skip
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.nb[ic]")
_BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the source distribution, by their paths in it."""
    copy, output = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("output")
    for path in PROJECT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    for part in _PARTS:
        shutil.copytree(PROJECT / part, copy / part, ignore=_NOT_COPIED)
    subprocess.run([sys.executable, "-c", _BUILD, output], cwd=copy, check=True, timeout=120)
    (archive,) = output.iterdir()
    with tarfile.open(archive) as opened:
        files = ((member, opened.extractfile(member)) for member in opened)
        return {member.name.partition("/")[2]: stream.read() for member, stream in files if stream}


def test_it_has_all_that_the_readme_uses(distribution: dict[str, bytes]) -> None:
    """It has documents, tests with data, the sample corpus and files of `make demo`, no others."""
    expected = {
        path.relative_to(PROJECT).as_posix()
        for part in _PARTS
        for path in (PROJECT / part).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix[:3] != ".nb"
    }
    expected |= {"Makefile", "constraints.txt", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}
    assert expected - set(distribution) == set()
    assert [name for name in distribution if re.search(r"\.py[co]$|\.nb[ic]$", name)] == []


def test_the_links_of_its_index_page(distribution: dict[str, bytes]) -> None:
    """No link is relative, because the index has only the page itself."""
    page = email.message_from_bytes(distribution["PKG-INFO"]).get_payload()
    assert "phrase table" in page
    assert [link for link in re.findall(r"\]\((.*?)\)", page) if "://" not in link] == []
