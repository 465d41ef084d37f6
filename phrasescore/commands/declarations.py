"""Options of commands: each is declared once, as a typed field of a class of options.

A command has one class. Its own options come first in the help; the classes it inherits from are
groups that several commands share, and their options follow in the order of the groups.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import click

_Given = TypeVar("_Given", bound="Options")
_Settings = TypeVar("_Settings")
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclasses.dataclass(frozen=True)
class _Declared:
    """A parameter whose name is that of its field.

    Args:
        add: ``click.option`` or ``click.argument``.
        flags: Its spellings; ``--name`` follows unless one begins with two dashes.
        attributes: What click is told besides.
    """

    add: Callable[..., _Decorator]
    flags: tuple[str, ...]
    attributes: Mapping[str, Any]

    def named(self, name: str) -> _Decorator:
        """Return the decorator of click that adds it."""
        flags = list(self.flags)
        if self.add is click.option and not any(flag.startswith("--") for flag in flags):
            flags.append(f"--{name.replace('_', '-')}")
        return self.add(name, *flags, **self.attributes)


class Options:
    """Values of a command's options and arguments, which subclasses declare as fields."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    @classmethod
    def declared(cls) -> dict[str, _Declared]:
        """Return the parameters by name: those of the class itself, then those of its groups."""
        found: dict[str, _Declared] = {}
        for group in cls.__mro__:
            for name, value in vars(group).items():
                if isinstance(value, _Declared):
                    found.setdefault(name, value)
        return found

    def settings(self, kind: Callable[..., _Settings], **others: Any) -> _Settings:
        """Make a dataclass of settings from the options that have the names of its fields.

        Args:
            kind: The dataclass.
            others: Fields that are no option of this name; they go first.
        """
        names = [field.name for field in dataclasses.fields(cast(Any, kind))]
        return kind(**{name: vars(self)[name] for name in names if name in vars(self)} | others)


def option(
    kind: Any, text: str, *flags: str, many: bool = False, default: Any = None, **attributes: Any
) -> Any:
    """Declare an option with a value, ``--field-name`` unless ``flags`` say otherwise.

    Args:
        kind: A type of click, or a function of the text that raises ``click.BadParameter``; for one
            of several words a sequence of them; for any text what the help calls it.
        text: The help text.
        flags: Other spellings, such as ``-o``; one with two dashes takes the place of the name.
        many: Whether it may be repeated; the command gets a tuple then.
        default: Its value where it is not given; shown in the help.
        attributes: See ``click.option``.
    """
    metavar = getattr(kind, "metavar", None)
    if isinstance(kind, str):
        kind, metavar = click.STRING, kind
    elif isinstance(kind, list | tuple):
        kind = click.Choice(kind)
    standard = {"type": kind, "help": text, "multiple": many, "metavar": metavar}
    if default is not None:
        standard |= {"default": default, "show_default": default != "-"}
    return _Declared(click.option, flags, standard | attributes)


def flag(text: str, *flags: str, **attributes: Any) -> Any:
    """Declare an option without a value, or with ``--yes/--no`` a pair of them.

    Of a pair the command gets ``None`` if neither is given, unless there is a default.
    """
    if any("/" in each for each in flags):
        attributes = {"default": None, "show_default": "default" in attributes} | attributes
    return _Declared(click.option, flags, {"is_flag": True, "help": text} | attributes)


def argument(kind: Any, metavar: str | None = None, **attributes: Any) -> Any:
    """Declare an argument; without ``metavar`` the help has its name in capitals."""
    return _Declared(click.argument, (), {"type": kind, "metavar": metavar} | attributes)


def command(
    name: str, kind: type[_Given], **settings: Any
) -> Callable[[Callable[[_Given], None]], click.Command]:
    """Make a command of a function that takes its options; the docstring is the help.

    Args:
        name: What users type.
        kind: The class of its options.
        settings: See ``click.command``.
    """

    def make(function: Callable[[_Given], None]) -> click.Command:
        def run(**values: Any) -> None:
            function(kind(**values))

        wanted: Callable[..., Any] = run
        for each, declared in reversed(kind.declared().items()):
            wanted = declared.named(each)(wanted)
        decorator: _Decorator = click.command(name, help=inspect.getdoc(function), **settings)
        made = decorator(wanted)
        assert isinstance(made, click.Command)
        return made

    return make
