"""Finds faults in the results of cases, by rules that hold for every command."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.hostile.cases import Case
from tests.support.warm_process import PROJECT, Observed

MEMORY = 400 << 20  # bytes beyond those of the imported modules
SECONDS = 30.0
_LITTER = re.compile(r"^\..*\.(part|lock|journal)$|\.training$|^core")
_NOISE = (b"Traceback", b"internal error", b"Warning:", b"Exception ignored")
_READER_GONE = 141
# the status if disk or memory was too small; finished work is kept
_NO_ROOM = 8
# after these statuses the same command can continue with finished work
_WORK_IS_KEPT = (_NO_ROOM, 141)
_KEPT = re.compile(r"^\..*\.(part|journal)$|\.training(/|$)")

Tree = Mapping[str, tuple[object, ...]]


def documented_statuses() -> frozenset[int]:
    """Return the exit codes of docs/errors.md, except that of an internal error."""
    text = (PROJECT / "docs" / "errors.md").read_text("utf-8")
    codes = {int(code) for code in re.findall(r"(?m)^\| (\d+) \|", text)}
    return frozenset(codes - {70})


_DOCUMENTED = documented_statuses()


def tree_of(folder: Path) -> Tree:
    """Return the type, inode number and content of each name in a folder."""
    found: dict[str, tuple[object, ...]] = {}
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(here, name)
            status = path.lstat()
            content = ""
            if stat.S_ISLNK(status.st_mode):
                content = str(path.readlink())
            elif stat.S_ISREG(status.st_mode):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(folder))] = (status.st_mode, status.st_ino, content)
    return found


def faults(case: Case, ended: Observed, before: Tree, after: Tree) -> Iterator[str]:
    """Yield each fault in a few words; nothing if all rules hold."""
    if ended.status not in _DOCUMENTED:
        yield f"status {ended.status}"
    yield from (
        f"says {noise.decode()}" for noise in _NOISE if noise in ended.errors + ended.output
    )
    if ended.status == 0 and case.outcome == "refused":
        yield "accepted"
    if ended.status != 0 and case.outcome == "accepted":
        yield "refused"
    if ended.status not in (0, _READER_GONE) and not _has_differences(case, ended):
        yield from _faults_of_words(case, ended)
    yield from _faults_of_files(case, ended, before, after)
    if ended.left:
        yield f"{ended.left} processes left"
    if ended.peak > MEMORY:
        yield f"{ended.peak >> 20} MiB"
    if ended.seconds > SECONDS:
        yield f"{ended.seconds:.0f} s"


def _faults_of_words(case: Case, ended: Observed) -> Iterator[str]:
    """Check that one message on standard error states the problem and names the place."""
    said = ended.errors.decode("utf-8", "surrogateescape")
    sentences = re.findall(r"(?m)^(?:phrasescore: |Error: )(.*(?:\n  .*)*)", said)
    if _has_findings(case, ended):
        sentences = [ended.output.decode("utf-8", "surrogateescape")]
    if len(sentences) != 1:
        yield f"{len(sentences)} sentences"
    told = " ".join(sentences)
    if ended.status == _NO_ROOM and "out of memory" in told:
        return
    if not any(form in told for name in case.named for form in _shown(name)):
        yield "names no place"


def _shown(name: str) -> tuple[str, ...]:
    """Return the spellings of a name in a message."""
    raw = name.encode("utf-8", "surrogateescape")
    return name, raw.decode("utf-8", "backslashreplace"), name.encode("unicode_escape").decode()


def _faults_of_files(case: Case, ended: Observed, before: Tree, after: Tree) -> Iterator[str]:
    """Check that only outputs change, and only if the command succeeds."""
    well = ended.status == 0 or _has_findings(case, ended) or _has_differences(case, ended)
    # there was no room for the report of the command, but the work itself is complete
    well = well or (ended.status == _NO_ROOM and case.place == "out/result.json")
    may = [f"work/{write.path}" for write in case.call.writes() if well or write.keeps]
    may += [f"work/{path}" for path in case.unfinished]
    may += [os.path.normpath(f"work/{path}") for path in case.written if well]
    may += ["home/.cache"]
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    for name in sorted(changed):
        if Path(name).name == "letter":
            yield f"changes a user's {_place(name)}"
        elif ended.status in _WORK_IS_KEPT and _KEPT.search(name.rpartition("/out/")[2]):
            continue
        elif _LITTER.search(Path(name).name) and name not in before:
            yield f"leaves {_place(name)}"
        elif not any(name == each or name.startswith(f"{each}/") for each in may):
            yield f"{'changes' if name in before else 'writes'} {_place(name)}"


def _has_findings(case: Case, ended: Observed) -> bool:
    """Return whether the doctor found an error, which is a valid result."""
    return case.call.command == ("doctor",) and ended.status == 1 and bool(ended.output)


def _has_differences(case: Case, ended: Observed) -> bool:
    """Return whether force-score --check found differences, which is a valid result."""
    return case.place == "--check" and ended.status == 1 and b"of them off by more" in ended.errors


def _place(name: str) -> str:
    """Return a short name without process numbers."""
    name = re.sub(r"\.\d+\.", ".N.", name)
    return name if len(name) < 80 else f"{name[:40]}..."
