"""Findings of the check: severity, fault, place and remedy; reports as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partialmethod
from typing import Literal

from phrasescore.errors import PhrasescoreError, counted

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
_WIDTH = 100
_INDENT = "    "


@dataclass(frozen=True)
class Finding:
    """One fact about a system that its user should know.

    Args:
        severity: ``error``: the system will fail or silently translate worse; ``warning``:
            it may; ``note``: nothing is wrong.
        what: The fact, one sentence without a final full stop.
        where: The file, perhaps with a line, or the part of the system.
        remedy: The advice, one sentence without a final full stop; empty for most notes.
    """

    severity: Severity
    what: str
    where: str
    remedy: str = ""

    @classmethod
    def from_error(
        cls, error: PhrasescoreError, where: object, severity: Severity = "error"
    ) -> Finding:
        """Turn an error into a finding at the error's own place, or else at ``where``."""
        if error.path is not None:
            where = Place(error.path, error.line)
        return cls(severity, error.problem, str(where), error.remedy or "")


@dataclass(frozen=True)
class Place:
    """The subject of findings: a file, or one of its lines."""

    path: object
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line is not None else str(self.path)

    def finding(self, severity: Severity, what: str, remedy: str = "") -> Finding:
        """Return a finding about this place."""
        return Finding(severity, what, str(self), remedy)

    error = partialmethod(finding, "error")
    warning = partialmethod(finding, "warning")
    note = partialmethod(finding, "note")


@dataclass(frozen=True)
class Diagnosis:
    """All findings about a system, the worst first.

    Args:
        findings: In the order of their severity, otherwise as they were found.
    """

    findings: tuple[Finding, ...]

    @classmethod
    def from_findings(cls, findings: Iterable[Finding]) -> Diagnosis:
        """Sort findings by severity; the same finding appears once."""
        distinct = list(dict.fromkeys(findings))
        return cls(tuple(sorted(distinct, key=lambda each: SEVERITIES.index(each.severity))))

    def count(self, severity: Severity) -> int:
        """Return the number of findings of this severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def is_healthy(self, *, strict: bool = False) -> bool:
        """Return whether there is no error (and no warning either, if strict)."""
        return not self.count("error") and not (strict and self.count("warning"))

    def __str__(self) -> str:
        parts = []
        for severity in SEVERITIES:
            found = [each for each in self.findings if each.severity == severity]
            if found:
                parts.append("\n".join([f"{severity}s", *map(_shown, found)]))
        return "\n\n".join([*parts, self._closing_line()])

    def _closing_line(self) -> str:
        counts = [counted(self.count(severity), severity) for severity in SEVERITIES]
        total = f"{', '.join(counts[:2])} and {counts[2]}"
        if self.count("error"):
            return f"{total}: repair the errors before tuning."
        if self.count("warning"):
            return f"{total}: this system can be tuned; read the warnings first."
        return f"{total}: this system can be tuned."

    def to_json(self) -> dict[str, object]:
        """Return counts and findings as JSON values."""
        return {
            "errors": self.count("error"),
            "warnings": self.count("warning"),
            "notes": self.count("note"),
            "findings": [asdict(finding) for finding in self.findings],
        }


def _shown(finding: Finding) -> str:
    lines = _wrapped(f"{finding.where}: {finding.what}", "  ")
    if finding.remedy:
        lines += _wrapped(f"-> {finding.remedy}", _INDENT)
    return "\n".join(lines)


def _wrapped(text: str, indent: str) -> list[str]:
    # break lines at blanks only, so that paths and tokens stay in one piece
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
