"""docs/fidelity.md names code and tests that exist."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache

import click

from phrasescore.cli import cli
from tests.conftest import PROJECT

PACKAGES = ("phrasescore", "moses_integration", "tuning")
# options of other programs
FOREIGN = {"experiments/nmt/encdec.py", "torch.nn.GRU", "torch.nn.LSTM"}


def names() -> Iterator[str]:
    """Yield the names in the columns of code and tests, and text elsewhere that looks like one."""
    header: list[str] = []
    for line in (PROJECT / "docs" / "fidelity.md").read_text("utf-8").splitlines():
        cells = line.strip("| ").split(" | ")
        header = cells if not header and line.startswith("|") else header if cells[1:] else []
        for place, cell in enumerate(cells):
            checked = header and header[min(place, len(header) - 1)] in ("code", "test")
            for name in re.findall("`([^`]+)`", cell):
                looks_like_one = re.fullmatch(
                    r"[\w/]*[./]\w[\w./]*|test_\w+|[a-z ]*--[\w -]+", name
                )
                if (checked or looks_like_one) and name not in FOREIGN:
                    yield name


@cache
def defined_in_tests() -> set[str]:
    """Return the names of all tests."""
    trees = (ast.parse(path.read_text("utf-8")) for path in (PROJECT / "tests").rglob("test_*.py"))
    return {
        node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    }


def is_there(name: str) -> bool:
    """Return whether a name exists: a file, test, option, module, class or attribute."""
    if name in ("fast", "paper"):  # recipes
        return True
    if " " in name or name.startswith("--"):
        return is_option(name)
    if "/" in name or name.endswith(".py"):
        return (PROJECT / name).exists() or any(
            any((PROJECT / folder).rglob(name)) for folder in (*PACKAGES, "tests")
        )
    return name in defined_in_tests() or is_imported(*name.split("."))


def is_option(text: str) -> bool:
    """Return whether the named command, or any command if none is named, has the option."""
    words = text.removeprefix("phrasescore ").split()
    group: click.Command | None = cli
    while words and not words[0].startswith("--") and isinstance(group, click.Group):
        group = group.get_command(click.Context(group), words.pop(0))
    if group is None or not words:
        return group is not None
    commands = [group]
    if isinstance(group, click.Group):
        context = click.Context(group)
        found = (group.get_command(context, each) for each in group.list_commands(context))
        commands = [each for each in found if each]
    options = [word for word in words if word.startswith("--")]
    return all(any(o in p.opts for c in commands for p in c.params) for o in options)


def is_imported(first: str, *rest: str) -> bool:
    """Return whether a module or class of this name has this attribute."""
    for package in PACKAGES:
        for path in (PROJECT / package).rglob("*.py"):
            module = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
            if path.stem == first:
                found = importlib.import_module(module)
            elif re.search(rf"^class {first}\b", path.read_text("utf-8"), re.MULTILINE):
                found = getattr(importlib.import_module(module), first)
            else:
                continue
            for attribute in rest:
                found = getattr(found, attribute, None)
            if found is not None:
                return True
    return False


def test_every_name_is_there() -> None:
    """Every file, attribute, test and option in the document exists."""
    found = set(names())
    assert "recipes.RECIPES" in found and "score --unknown-column" in found
    assert [name for name in sorted(found) if not is_there(name)] == []
