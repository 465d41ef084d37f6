"""Declares each command-line option once, as a typed field of a class of options.

Each command has a class of options, whose base classes are groups of options that several commands
share. The help lists the options of the class itself first, then the options of its base classes,
base by base. A declaration also says which other options an option needs or excludes. These rules
are checked when the command line is parsed.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

import click
from click.core import ParameterSource

from phrasescore.commands.paths import OUTPUT, label_of
from phrasescore.errors import SettingsError

_Given = TypeVar("_Given", bound="Options")
_Settings = TypeVar("_Settings")
# names of fields
_Names: TypeAlias = tuple[str, ...]
# a declared field, whose annotation is the type of its value once the command line is parsed
Field: TypeAlias = Any


@dataclasses.dataclass(frozen=True)
class _Declared:
    """A declared parameter; the name of the field is the name of the parameter.

    Args:
        kind: ``click.Option`` or ``click.Argument``.
        flags: The spellings; ``--name`` is added unless one of them begins with two dashes.
        attributes: Further arguments of click.
        needs: Names of fields; if there are any, at least one must be given with the parameter.
        excludes: Names of fields that must not be given with the parameter.
    """

    kind: type[click.Option] | type[click.Argument]
    flags: tuple[str, ...]
    attributes: Mapping[str, Any]
    needs: _Names = ()
    excludes: _Names = ()

    def named(self, name: str) -> click.Parameter:
        """Return click's parameter."""
        flags = [name, *self.flags]
        if self.kind is click.Option and not any(flag.startswith("--") for flag in flags):
            flags.append(f"--{name.replace('_', '-')}")
        return self.kind(flags, **self.attributes)


class Options:
    """The values of a command's options and arguments, which subclasses declare as fields.

    Attributes:
        one_of: Names of fields; if there are any, exactly one must be given.
        hint: What an argument too many may have meant, for the error.
    """

    one_of: ClassVar[_Names] = ()
    hint: ClassVar[str] = ""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    @classmethod
    def declared(cls) -> dict[str, _Declared]:
        """Return the parameters of the class, and then of its groups, by name."""
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
            others: Further fields, which take precedence over options.
        """
        names = [field.name for field in dataclasses.fields(cast(Any, kind))]
        return kind(**{name: vars(self)[name] for name in names if name in vars(self)} | others)

    def check(self) -> None:
        """Check options against each other, before the command begins and reads its inputs.

        Raises:
            SettingsError: Options contradict each other.
        """


class DeclaredCommand(click.Command):
    """A command that checks which options its options need or exclude."""

    options_class: type[Options] = Options

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line.

        Raises:
            SettingsError: An option is given without an option that it needs, or with an option
                that it excludes; none or several options of ``one_of`` are given; or
                `Options.check` refuses them.
            click.UsageError: There are more arguments than the command takes.
        """
        ctx.allow_extra_args = True  # click's own error would not name the option
        rest = super().parse_args(ctx, args)
        if ctx.args and not ctx.resilient_parsing:
            takes_i = any("-i" in each.opts for each in self.params)
            hint = self.options_class.hint or (" (name the input with -i)" if takes_i else "")
            ctx.fail(f"Too many arguments: {' '.join(ctx.args)}{hint}")
        labels = {str(each.name): label_of(each) for each in self.params}
        given = {
            name for name in labels if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        }
        if ctx.resilient_parsing:
            return rest
        one_of = self.options_class.one_of
        if one_of and len(given.intersection(one_of)) != 1:
            named = " and ".join(labels[name] for name in one_of)
            raise SettingsError(
                f"exactly one of {named} is needed", remedy="give one, and leave out the rest"
            )
        for name, each in self.options_class.declared().items():
            if name not in given:
                continue
            if each.needs and given.isdisjoint(each.needs):
                others = " or ".join(labels[other] for other in each.needs)
                raise SettingsError(
                    f"{labels[name]} needs {others}, which is not given",
                    remedy=f"add {others}, or leave out {labels[name]}",
                )
            for other in given.intersection(each.excludes):
                raise SettingsError(
                    f"{labels[name]} and {labels[other]} exclude each other",
                    remedy="leave out one of them",
                )
        self.options_class(**ctx.params).check()
        return rest


def option(
    kind: Any,
    text: str,
    *flags: str,
    many: bool = False,
    default: Any = None,
    needs: _Names = (),
    excludes: _Names = (),
    **attributes: Any,
) -> Field:
    """Declare an option with a value, named ``--field-name`` unless ``flags`` has another name.

    Args:
        kind: A click type; a function that converts the text or raises ``click.BadParameter``; a
            sequence of words to choose from; or a string, which allows any text and is the value's
            name in the help.
        text: The help text.
        flags: Further spellings, such as ``-o``; a spelling with two dashes replaces
            ``--field-name``.
        many: Whether the option may be repeated; if so, its value is a tuple.
        default: The default value, which the help shows.
        needs: Names of fields; if there are any, at least one must be given with the option.
        excludes: Names of fields that must not be given with the option.
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
    return _Declared(click.Option, flags, standard | attributes, needs, excludes)


def output_to(text: str) -> Field:
    """Declare ``-o FILE``; the default is standard output."""
    return option(OUTPUT, f"{text}  [default: standard output]", "-o", default="-")


def flag(
    text: str, *flags: str, needs: _Names = (), excludes: _Names = (), **attributes: Any
) -> Field:
    """Declare an option without a value, or a pair ``--yes/--no`` of such options; see ``option``.

    If neither option of a pair is given and there is no default, the value is ``None``.
    """
    if any("/" in each for each in flags):
        attributes = {"default": None, "show_default": "default" in attributes} | attributes
    settings = {"is_flag": True, "help": text} | attributes
    return _Declared(click.Option, flags, settings, needs, excludes)


def argument(kind: Any, metavar: str | None = None, **attributes: Any) -> Field:
    """Declare an argument; without ``metavar`` the help shows its name in capitals."""
    return _Declared(click.Argument, (), {"type": kind, "metavar": metavar} | attributes)


def command(
    name: str, kind: type[_Given], **settings: Any
) -> Callable[[Callable[[_Given], None]], click.Command]:
    """Turn a function of the options into a command; the function's docstring is the help.

    Args:
        name: The name that users type.
        kind: The class of its options.
        settings: See ``click.Command``.
    """

    def make(function: Callable[[_Given], None]) -> click.Command:
        def run(**values: Any) -> None:
            function(kind(**values))

        chosen = {"help": inspect.getdoc(function), "callback": run} | settings
        params = [declared.named(each) for each, declared in kind.declared().items()]
        made = DeclaredCommand(name, params=params, **chosen)
        made.options_class = kind
        return made

    return make
