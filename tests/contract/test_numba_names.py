"""The code uses only documented names of numba and llvmlite, which new releases keep."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import PROJECT

_LIBRARIES = ("numba", "llvmlite")
# names in numba's user and extension manuals, and llvmlite names that the extension manual uses
_DOCUMENTED = {
    "numba": {"njit", "types"},
    "numba.core": {"event"},
    "numba.extending": {"intrinsic", "overload"},
    "llvmlite": {"ir"},
}
# options of `njit` in numba's user manual and its notes on inlining
_OPTIONS = {"boundscheck", "cache", "error_model", "fastmath", "inline", "nogil"}
_FILES = [
    path
    for package in ("phrasescore", "moses_integration", "tuning")
    for path in (PROJECT / package).rglob("*.py")
    if any(name in path.read_text("utf-8") for name in (*_LIBRARIES, "phrasescore.compiled"))
]


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield module and name of everything imported from the libraries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in _LIBRARIES:
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert alias.name in _LIBRARIES or alias.name.split(".")[0] not in _LIBRARIES


def _used(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield module and name of all used attributes of imported modules."""
    modules = {*_LIBRARIES, *(name for _, name in _imported(tree))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in modules:
            assert isinstance(node.ctx, ast.Load), f"{ast.unparse(node)} is assigned"
            assert not node.attr.startswith("_"), ast.unparse(node)
            if ast.unparse(node.value) in _LIBRARIES:
                yield ast.unparse(node.value), node.attr


def test_there_are_such_files() -> None:
    assert len(_FILES) > 40


@pytest.mark.parametrize("path", _FILES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_names(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    for module, name in (*_imported(tree), *_used(tree)):
        assert name in _DOCUMENTED.get(module, ()), f"{module}.{name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("njit", "_compiled_with")
        ):
            options = {keyword.arg for keyword in node.keywords} - {None}
            assert options <= _OPTIONS, ast.unparse(node)
