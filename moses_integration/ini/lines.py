"""Single lines of a moses.ini: what Moses reads in them, and edits that change nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from phrasescore.errors import IniError

_BLANKS = " \t\r"
_BARS = "|||"
_TOKEN = re.compile(r"[^ \t\r]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def code_of(line: str) -> str:
    """Return a line without its comment and without the blanks around it.

    >>> code_of("  LM0= 0.5  # tuned")
    'LM0= 0.5'
    """
    return line.partition("#")[0].strip(_BLANKS)


def section_of(code: str) -> str | None:
    """Return the section that a line opens, or ``None`` for a value.

    Raises:
        IniError: The bracket is not closed; Moses would continue the section before.
    """
    if not code.startswith("["):
        return None
    name, closed, _ = code[1:].partition("]")
    if not closed:
        raise IniError(
            f"the section header {code!r} has no closing bracket", remedy="write it as [name]"
        )
    return name


def parse_feature(code: str) -> tuple[str, dict[str, str]]:
    """Parse a feature line into its class and its options.

    Raises:
        IniError: An argument has no ``=``, a key stands twice, or the name cannot stand in an
            n-best list.

    >>> parse_feature("KENLM name=LM0 factor=0")
    ('KENLM', {'name': 'LM0', 'factor': '0'})
    """
    kind, *arguments = _TOKEN.findall(code)
    options: dict[str, str] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise IniError(
                f"the feature line has {argument!r}, expected key=value",
                remedy="remove blanks around '=' and inside values; Moses cannot read a path "
                "with blanks",
            )
        if key in options:
            raise IniError(
                f"the feature line has the key {key} twice",
                remedy="keep one of them; Moses refuses both",
            )
        options[key] = value
    if _BARS in options.get("name", ""):
        raise IniError(
            f"the name of a feature has {_BARS}, which ends a column of an n-best list",
            remedy="call the feature otherwise, with letters, digits, '.', '-' and '_'",
        )
    return kind, options


def parse_weights(code: str) -> tuple[str, tuple[float, ...]]:
    """Parse a weight line into the name of its feature and the weights.

    Raises:
        IniError: The ``=`` is not glued to the name and followed by a blank, there is no weight,
            or one is not a finite number.

    >>> parse_weights("TranslationModel0= 0.2 0.3")
    ('TranslationModel0', (0.2, 0.3))
    """
    label, *tokens = _TOKEN.findall(code) or [""]
    name = label[:-1]
    if not label.endswith("=") or not name or "=" in name:
        raise IniError(
            f"the weight line {code[:80]!r} is not of the form 'Name= 0.3'",
            remedy="glue the '=' to the name and put a blank after it",
        )
    if not tokens:
        raise IniError(
            f"the weight line of {name} has no weight",
            remedy="give one number for each component of the feature, or delete the line",
        )
    return name, tuple(_parse_weight(name, token) for token in tokens)


def _parse_weight(name: str, token: str) -> float:
    value = float(token) if _NUMBER.fullmatch(token) else math.nan
    if not math.isfinite(value):
        raise IniError(
            f"a weight of {name} is {token!r}, expected a finite number",
            remedy="write it as a decimal number such as 0.2 or -1e-3",
        )
    return value


def format_weight(weight: float) -> str:
    """Write a weight with as few digits as give it back exactly.

    >>> format_weight(0.2), format_weight(1.0), format_weight(-1e-05)
    ('0.2', '1', '-1e-05')
    """
    text = repr(float(weight))
    return text.removesuffix(".0")


def with_option(line: str, key: str, value: str) -> str:
    """Return a feature line with one option set, at its place or after the last one.

    Raises:
        IniError: Moses could not read the value back.

    >>> with_option("KENLM  path=a order=3 # big", "path", "b")
    'KENLM  path=b order=3 # big'
    """
    refuse_unreadable(key, value)
    code, mark, comment = line.partition("#")
    for token in list(_TOKEN.finditer(code))[1:]:
        if token[0].partition("=")[0] == key:
            code = code[: token.start()] + f"{key}={value}" + code[token.end() :]
            break
    else:
        end = len(code.rstrip(_BLANKS))
        code = f"{code[:end]} {key}={value}{code[end:]}"
    return code + mark + comment


def refuse_unreadable(what: str, value: str) -> None:
    """Refuse a value that Moses would not read back.

    Raises:
        IniError: It is empty, or has blanks or a ``#``.
    """
    if not value or any(character in value for character in " \t\r\n#"):
        raise IniError(
            f"the {what} {value!r} cannot stand in a moses.ini: values have no blanks and no '#'",
            remedy="rename the file or make a link to it",
        )


def with_code(line: str, value: str) -> str:
    """Return a line with another value of one word; blanks around it and comments stay.

    >>> with_code("  weights.txt # sparse", "/data/weights.txt")
    '  /data/weights.txt # sparse'
    """
    refuse_unreadable("value", value)
    before = code_of(line)
    start = line.index(before)
    return line[:start] + value + line[start + len(before) :]


def with_weights(line: str, weights: Sequence[float]) -> str:
    """Return a weight line with other weights; a number that stays the same keeps its spelling.

    >>> with_weights("LM0= 0.50  1 # tuned", [0.5, 2, 3])
    'LM0= 0.50  2 3 # tuned'
    """
    code, mark, comment = line.partition("#")
    tokens = list(_TOKEN.finditer(code))[1:]
    kept, extra = tokens[: len(weights)], weights[len(tokens) :]
    parts = [code[: kept[0].start()]]
    for index, (token, weight) in enumerate(zip(kept, weights, strict=False)):
        if index:
            parts.append(code[kept[index - 1].end() : token.start()])
        parts.append(token[0] if float(token[0]) == weight else format_weight(weight))
    parts += [" " + format_weight(weight) for weight in extra]
    return "".join(parts) + code[tokens[-1].end() :] + mark + comment
