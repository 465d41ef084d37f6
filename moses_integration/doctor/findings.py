"""Findings about a system, printed as text or JSON."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partialmethod
from typing import Literal, get_args

from moses_integration.ini.problems import Severity
from moses_integration.language_model.arpa import OnlyMosesError
from phrasescore.errors import InterruptedWorkError, PhrasescoreError, counted

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
Decoder = Literal["moses", "embedded"]
# what a system may be used with
DECODERS: dict[Decoder, str] = {"moses": "real Moses", "embedded": "embedded decoder"}


@dataclass(frozen=True)
class Finding:
    """One fact about a system that the user should know.

    Args:
        severity: ``error`` if the system will fail or silently translate worse; ``moses error`` or
            ``embedded error`` if it will with this decoder only; ``warning`` if it may; ``note`` if
            nothing is wrong.
        what: The fact, one sentence without a final full stop.
        where: The file, perhaps with a line, or the part of the system.
        remedy: The advice, one sentence without a final full stop; empty for most notes.
    """

    severity: Severity
    what: str
    where: str
    remedy: str = ""

    def __str__(self) -> str:
        text = f"  {self.where}: {self.what}"
        return f"{text}\n    -> {self.remedy}" if self.remedy else text


class Diagnosis:
    """All findings about a system.

    A check adds its findings here instead of stopping at the first error.
    """

    def __init__(self) -> None:
        self._found: dict[Finding, None] = {}  # like a set, but in the order of discovery

    def add(self, severity: Severity, where: object, what: str, remedy: str = "") -> None:
        """Add a finding, unless it is already there, for this decoder or for both."""
        if Finding("error", what, str(where), remedy) not in self._found:
            self._found[Finding(severity, what, str(where), remedy)] = None

    error = partialmethod(add, "error")
    warning = partialmethod(add, "warning")
    note = partialmethod(add, "note")

    def add_error(
        self, error: PhrasescoreError, where: object, severity: Severity = "error"
    ) -> None:
        """Add an error under the file that it names, or under ``where`` if it names none."""
        place = where if error.path is None else place_of(error.path, error.line)
        self.add(severity, place, error.problem, error.remedy or "")

    @contextlib.contextmanager
    def collecting(self, where: object, severity: Severity = "error") -> Iterator[None]:
        """Turn an error that ends the block into a finding."""
        try:
            yield
        except InterruptedWorkError:
            raise
        except OnlyMosesError as error:
            self.add_error(error, where, "embedded error")
        except PhrasescoreError as error:
            self.add_error(error, where, severity)

    def errors(self, decoder: Decoder) -> list[Finding]:
        """Return the errors for which a decoder cannot use the system, or uses it wrongly."""
        return [each for each in self.findings if each.severity in ("error", f"{decoder} error")]

    @property
    def usable(self) -> dict[Decoder, bool]:
        """Whether each decoder can use the system."""
        return {decoder: not self.errors(decoder) for decoder in DECODERS}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, worst first, otherwise in the order of discovery."""
        return tuple(sorted(self._found, key=lambda each: SEVERITIES.index(each.severity)))

    def count(self, severity: Severity) -> int:
        """Return the number of findings of this severity."""
        return sum(finding.severity == severity for finding in self._found)

    def __str__(self) -> str:
        parts = [
            "\n".join([f"{severity}s", *map(str, found)])
            for severity, found in itertools.groupby(self.findings, lambda each: each.severity)
        ]
        counts = [counted(self.count(each), each) for each in ("error", "warning", "note")]
        verdicts = ["{}, {} and {}".format(*counts)]
        for decoder, name in DECODERS.items():
            advice = "this system can be tuned"
            if self.count("error"):
                advice = "repair the errors before tuning"
            elif self.errors(decoder):
                advice = f"cannot use this system; see the {decoder} errors"
            elif self.count("warning"):
                advice += "; read the warnings first"
            verdicts.append(f"{name}: {advice}")
        return "\n\n".join([*parts, "\n".join(f"{verdict}." for verdict in verdicts)])

    def to_json(self) -> dict[str, object]:
        """Return counts, the verdict for each decoder, and findings as JSON values."""
        counts = {f"{severity}s": self.count(severity) for severity in ("error", "warning", "note")}
        findings = [asdict(finding) for finding in self.findings]
        return {**counts, "usable": self.usable, "findings": findings}


def place_of(path: object, line: int | None = None) -> str:
    """Return ``path`` or ``path:line``."""
    return str(path) if line is None else f"{path}:{line}"
