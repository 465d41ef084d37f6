"""Makes all cases: valid calls with one damaged part each."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.hostile.calls import CALLS, Argument, Call, Read
from tests.hostile.content_damage import CONTENTS, NUMBERS, TYPES, Damage
from tests.hostile.kind_damage import (
    ARPA,
    LINKS,
    NBEST,
    REORDERING,
    SEGMENTED,
    TABLE,
    TEXT,
    WEIGHTS,
)
from tests.hostile.model_damage import model_damage
from tests.hostile.name_damage import input_names, neighbours, output_damage
from tests.hostile.option_damage import option_damage
from tests.hostile.outcomes import Outcome, outcome_of
from tests.hostile.surroundings_damage import surroundings_damage
from tests.hostile.system_damage import INI, TOML, WRONG_PATHS

_OWN: Mapping[str, Mapping[str, Damage]] = {
    "table": {**NUMBERS, **TABLE},
    "reordering": {**NUMBERS, **REORDERING},
    "nbest": {**NUMBERS, **NBEST},
    "segmented": {**NUMBERS, **SEGMENTED},
    "arpa": {**NUMBERS, **ARPA},
    "weights": {**NUMBERS, **WEIGHTS},
    "links": LINKS,
    "text": TEXT,
    "ini": INI,
    "toml": TOML,
}
# a pipe is a legitimate input, which can be read once
PIPE = "a pipe"


@dataclass(frozen=True)
class Case:
    """A call with one damaged part.

    Args:
        call: The call, which is valid without the damage.
        group: The kind of the damaged part.
        place: The damaged part: a file, an option, an output, the surroundings.
        damage: The damage.
        words: The arguments.
        prepare: Damages the files, in the folder where the command runs.
        named: Names of which an error message must contain at least one.
        outcome: The permitted outcome.
        more: Other arguments of `Surroundings`.
        pipe: A file that is replaced by a pipe with the same content.
        written: Files besides the outputs that may change, e.g. the target of a link.
        unfinished: Files that the case puts in the place of unfinished work; the command may
            remove them with any outcome.
    """

    call: Call
    group: str
    place: str
    damage: str
    words: tuple[str, ...]
    prepare: Callable[[Path], object] = lambda _: None
    named: tuple[str, ...] = ()
    outcome: Outcome = "refused"
    more: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    pipe: str | None = None
    written: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the case in lists."""
        return f"{self.call.name} | {self.place} | {self.damage}"


def cases() -> Iterator[Case]:
    """Yield all cases, call by call."""
    for call in CALLS:
        yield _make(call, "nothing", "nothing", "as it is")
        for maker in (_contents, _names, _outputs, _options, _surroundings):
            yield from maker(call)


def chosen(every: Iterable[Case], share: float) -> list[Case]:
    """Return a fixed share of the cases of each call, and each damage at least once.

    Slow calls get fewer cases, and each damage is tried on a fast call first.
    """
    found: list[Case] = []
    seen: set[tuple[str, str]] = set()
    for case in sorted(every, key=lambda case: case.call.cost):
        part = share / case.call.cost
        # the name of a damage may begin with the name of the damaged file
        damage = (case.group, case.damage.removeprefix(f".{Path(case.place).name}."))
        if damage not in seen or zlib.crc32(os.fsencode(case.name)) < part * (1 << 32):
            seen.add(damage)
            found.append(case)
    return found


def _make(call: Call, group: str, place: str, damage: str, **more: Any) -> Case:
    name = f"{call.name} | {place} | {damage}"
    more.setdefault("words", _words(call))
    return Case(call, group, place, damage, outcome=outcome_of(group, name), **more)


# the file to damage in a folder of this kind
_FILES = {"settings": "text.json", "normaliser": "normaliser.json"}


def _words(call: Call, changed: Argument | None = None, name: str = "") -> tuple[str, ...]:
    return tuple(
        each if isinstance(each, str) else name if each == changed else each.path
        for each in call.arguments
    )


def _contents(call: Call) -> Iterator[Case]:
    named = (*(read.path for read in (*call.reads(), *call.beside)), *WRONG_PATHS)
    for read in dict.fromkeys((*call.reads(), *call.beside)):
        for damage, spoil in _damage_of(read):
            yield _make(
                call,
                read.kind,
                read.path,
                damage,
                prepare=lambda folder, spoil=spoil, path=read.path: spoil(folder / path),
                named=named,
            )
        if not read.is_folder:
            yield _make(call, read.kind, read.path, PIPE, named=named, pipe=read.path)


def _damage_of(read: Read) -> Iterator[tuple[str, Damage]]:
    if read.kind == "model":
        yield from model_damage()
        return
    if read.kind in _FILES:
        file = _FILES[read.kind]
        for name, damage in {**TYPES, **CONTENTS}.items():
            yield f"{file}: {name}", lambda path, damage=damage: damage(path / file)  # type: ignore[misc]
        return
    for table in (TYPES, CONTENTS, _OWN.get(read.kind, {})):
        yield from table.items()


def _names(call: Call) -> Iterator[Case]:
    for read in dict.fromkeys(call.reads()):
        for damage, (name, more) in input_names(read.path).items():
            named = (name[:30], "standard input") if name else tuple(_options_of(call, read))
            if name == "-":
                # an empty file may be reported as too short for another file
                named += tuple(each.path for each in call.reads())
            words = _words(call, read, name)
            yield _make(call, "names", read.path, damage, words=words, named=named, more=more)


def _options_of(call: Call, argument: Argument) -> Iterator[str]:
    """Yield the names that an error may use for an empty name: its option or its argument."""
    before = call.arguments[max(0, call.arguments.index(argument) - 1)]
    yield before if isinstance(before, str) and before.startswith("-") else "''"
    yield "an empty name"


def _outputs(call: Call) -> Iterator[Case]:
    for write in call.writes():
        for spoilt in output_damage(call, write):
            named = (spoilt.name[:30], write.name, "standard output")
            onto_input = (spoilt.name,) if spoilt.damage.startswith("the input") else ()
            yield _make(
                call,
                "outputs",
                write.path,
                spoilt.damage,
                words=_words(call, write, spoilt.name),
                prepare=spoilt.prepare,
                named=named if spoilt.name else tuple(_options_of(call, write)),
                more=spoilt.more,
                written=(*spoilt.written, *onto_input),
            )
        for name, damage, prepare in neighbours(write):
            more = {"prepare": prepare, "named": (write.name,), "unfinished": (f"out/{name}",)}
            yield _make(call, "neighbours", write.path, f"{name}: {damage}", **more)


def _options(call: Call) -> Iterator[Case]:
    if call.variant:
        return
    for spoilt in option_damage(call):
        words = (*_words(call), spoilt.option, spoilt.value)
        group = "numbers" if spoilt.is_number else "text of options"
        case = _make(call, group, spoilt.option, spoilt.damage, words=words, named=spoilt.named)
        yield case


def _surroundings(call: Call) -> Iterator[Case]:
    for damage, more in surroundings_damage(call):
        yield _make(call, "surroundings", "", damage, more=more, named=("",))
