"""Declarations of command-line options, each once, as a typed field of a class of options.

A command has one such class. Its own options come first in the help. Its base classes are groups of
options that several commands share, and follow in the order of the bases.
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
        flags: Its spellings; ``--name`` is added unless one of them begins with two dashes.
        attributes: Further arguments of click.
    """

    add: Callable[..., _Decorator]
    flags: tuple[str, ...]
    attributes: Mapping[str, Any]

    def named(self, name: str) -> _Decorator:
        """Return click's decorator that adds the parameter."""
        flags = list(self.flags)
        if self.add is click.option and not any(flag.startswith("--") for flag in flags):
            flags.append(f"--{name.replace('_', '-')}")
        return self.add(name, *flags, **self.attributes)


class Options:
    """The values of a command's options and arguments, which subclasses declare as fields."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    @classmethod
    def declared(cls) -> dict[str, _Declared]:
        """Return the parameters by name: those of the class first, then those of its groups."""
        found: dict[str, _Declared] = {}
        for group in cls.__mro__:
            for name, value in vars(group).items():
                if isinstance(value, _Declared):
                    found.setdefault(name, value)
        return found

    def settings(self, kind: Callable[..., _Settings], **others: Any) -> _Settings:
        """Make a dataclass of settings from the options with the names of its fields.

        Args:
            kind: The dataclass.
            others: Further fields, which take precedence over options.
        """
        names = [field.name for field in dataclasses.fields(cast(Any, kind))]
        return kind(**{name: vars(self)[name] for name in names if name in vars(self)} | others)


def option(
    kind: Any, text: str, *flags: str, many: bool = False, default: Any = None, **attributes: Any
) -> Any:
    """Declare an option with a value, ``--field-name`` unless ``flags`` say otherwise.

    Args:
        kind: A type of click, or a function of the text that raises ``click.BadParameter``; a
            sequence of words to choose from; or, for any text, its name in the help.
        text: The help text.
        flags: Further spellings, such as ``-o``; one with two dashes replaces the field's name.
        many: Whether it may be repeated; then the command gets a tuple.
        default: Its default value, which the help shows.
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

    Without a default, the command gets ``None`` if neither of a pair is given.
    """
    if any("/" in each for each in flags):
        attributes = {"default": None, "show_default": "default" in attributes} | attributes
    return _Declared(click.option, flags, {"is_flag": True, "help": text} | attributes)


def argument(kind: Any, metavar: str | None = None, **attributes: Any) -> Any:
    """Declare an argument; without ``metavar`` the help shows its name in capitals."""
    return _Declared(click.argument, (), {"type": kind, "metavar": metavar} | attributes)


def command(
    name: str, kind: type[_Given], **settings: Any
) -> Callable[[Callable[[_Given], None]], click.Command]:
    """Turn a function of the options into a command; the docstring is the help.

    Args:
        name: The name that users type.
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
