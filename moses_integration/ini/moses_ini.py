r"""The text of a moses.ini: parsed by Moses's rules, and edited without touching other bytes.

``#`` starts a comment anywhere on a line. ``[name]`` opens a section; every other line that is not
blank is a value of the section above it. If a section is opened twice, the second part continues
the first. ``[feature]`` lines are ``Class key=value ...``. The name of a feature is the value of
``name=``, or else its class and a running index. ``[weight]`` lines are ``Name= number ...``; if a
name has several lines, the last line counts.

Values are ``str``. Bytes that are not UTF-8 are kept as surrogates, so that ``to_bytes`` returns
every file unchanged. ``feature_weights`` checks that weights and features fit together, and
``model_files`` checks that files exist. Source: Parameter.cpp and FeatureFunction.cpp of
mosesdecoder 34452895f.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from moses_integration.ini.parameters import OLD_STYLE_SECTIONS, REWRITING_SECTIONS
from phrasescore.errors import IniError, InputError, did_you_mean, located
from phrasescore.table.input_files import finite_number, read_whole

_CONVERSION = "convert the file with Moses's scripts/training/convert-moses-ini-to-v2.perl"
_BLANKS = " \t\r"
_BARS = "|||"
_TOKEN = re.compile(r"[^ \t\r]+")
# the options of KENLM that Moses reads more than once; the last one counts
_REPEATABLE = frozenset(("KENLM", key) for key in ("factor", "order", "path", "lazyken", "load"))


@dataclass(frozen=True)
class FeatureLine:
    """One feature function as its line declares it.

    Args:
        kind: The class, e.g. ``PhraseDictionaryMemory``.
        name: The name in weights and n-best lists, e.g. ``TranslationModel0``.
        options: All options after the class, ``name`` and ``num-features`` included.
        line: The 1-based line number.
    """

    kind: str
    name: str
    options: Mapping[str, str]
    line: int


def ini_of(system: str) -> str:
    """Return the path of the moses.ini of a system, which is named by this path or its folder."""
    # Path.is_dir would fail at a name that is too long or in a closed folder
    return str(Path(system) / "moses.ini") if os.path.isdir(system) else system  # noqa: PTH112


@dataclass(frozen=True)
class MosesIni:
    """The content of one moses.ini; every edit returns a new object.

    Args:
        lines: All lines, without line feeds; the last line is the text after the last line feed.
        path: The path of the file, for errors.
        base: The folder in which relative paths start, if the ini is read as a part of this
            folder; empty for Moses's rule, the current directory.
    """

    lines: tuple[str, ...]
    path: str = "moses.ini"
    base: str = ""

    @classmethod
    def read(cls, path: str | Path) -> MosesIni:
        """Read and parse a file, the ``moses.ini`` of a folder, or standard input for ``-``.

        If a folder is named, relative paths in its ini start in this folder.

        Raises:
            InputError: The file cannot be read.
            IniError: A line violates the format; the error names the line.
        """
        file, improved = ini_of(str(path)), Path(path) / "system"
        if file != str(path) and not Path(file).exists():
            remedy = "name a system; build and improve write its moses.ini at their end"
            if (improved / "moses.ini").exists():
                remedy = f"name the system in it, {improved}"
            raise InputError("a folder without a moses.ini", path=path, remedy=remedy)
        return cls.parse(read_whole(file), file, base="" if file == str(path) else str(path))

    @classmethod
    def parse(cls, data: bytes, path: str = "moses.ini", *, base: str = "") -> MosesIni:
        """Parse the bytes of a file; ``path`` is its name in errors."""
        if b"\0" in data:
            raise IniError("binary data, where a moses.ini was expected", path=path)
        ini = cls(tuple(data.decode("utf-8", "surrogateescape").split("\n")), path, base)
        ini._check()
        return ini

    def error(
        self, problem: str, *, line: int | None = None, remedy: str | None = None
    ) -> IniError:
        """Return an error about this file, or about one of its lines."""
        return IniError(problem, path=self.path, line=line, remedy=remedy)

    def to_bytes(self) -> bytes:
        """Return the bytes of the file; without edits, exactly the bytes that were read."""
        return "\n".join(self.lines).encode("utf-8", "surrogateescape")

    def _check(self) -> None:
        old = self.old_style_sections
        if old and (self.sections.keys() & {"feature", "weight"}):
            problem = f"old-style sections ([{old[0]}]) in a file with [feature] or [weight]"
            remedy = "delete the sections of one of the two styles"
            raise self.error(problem, line=self.sections[old[0]][0][0], remedy=remedy)
        names = Counter(feature.name for feature in self.features)
        for feature in self.features:
            if names[feature.name] > 1:
                raise self.error(
                    f"two features have the name {feature.name}, which Moses reads, but no list or "
                    "weight tells them apart",
                    line=feature.line,
                    remedy="give one of them another name=",
                )
        assert self.weights is not None  # this access parses all weights

    @cached_property
    def sections(self) -> dict[str, list[tuple[int, str]]]:
        """The sections that have values: the line number and the text of each value."""
        sections: dict[str, list[tuple[int, str]]] = {}
        current: str | None = None
        for number, line in enumerate(self.lines, 1):
            code = code_of(line)
            if code.startswith("["):
                current, closed, _ = code[1:].partition("]")
                if not closed:  # Moses would continue the previous section
                    problem = f"the section header {code!r} has no closing bracket"
                    raise self.error(problem, line=number)
            elif code and current is None:
                problem = f"not a moses.ini: {code[:40]!r} comes before the first [section]"
                remedy = (
                    "name a system's folder or its moses.ini, which has no byte order mark; "
                    "mert-moses.pl writes run5.dense to run5.moses.ini, too, and run5.weights.txt "
                    "to run6.moses.ini or moses.ini"
                )
                raise self.error(problem, line=number, remedy=remedy)
            elif code and current is not None:
                sections.setdefault(current, []).append((number, code))
        return sections

    def values(self, section: str) -> tuple[str, ...]:
        """Return the values of a section in order; empty if the ini has no such section."""
        return tuple(text for _, text in self.sections.get(section, ()))

    def value_lines(self, section: str) -> tuple[tuple[int, str], ...]:
        """Return the values of a section in order, each with its line number."""
        return tuple(self.sections.get(section, ()))

    @cached_property
    def old_style_sections(self) -> tuple[str, ...]:
        """The sections in this file that only old-style files have, which lack ``[feature]``."""
        return tuple(name for name in self.sections if name in OLD_STYLE_SECTIONS)

    @cached_property
    def features(self) -> tuple[FeatureLine, ...]:
        """The feature functions in the order of the file; empty for an old-style file."""
        unnamed: Counter[str] = Counter()
        features = []
        for number, text in self.sections.get("feature", ()):
            with located(self.path, number):
                kind, options = _parse_feature(text)
            options = {
                key: self.resolved(value) if is_path(key) else value
                for key, value in options.items()
            }
            name = options.get("name", "")
            if not name:
                name = f"{kind}{unnamed[kind]}"
                unnamed[kind] += 1
            features.append(FeatureLine(kind, name, options, number))
        return tuple(features)

    def resolved(self, path: str) -> str:
        """Return a path in the ini as this process opens it."""
        return os.path.join(self.base, path) if path else path  # noqa: PTH118 - "./a" stays

    @cached_property
    def _weight_lines(self) -> dict[str, tuple[int, tuple[float, ...]]]:
        found = {}
        # as in Moses, ``weight`` overrules ``weight-add``
        for number, text in (*self.value_lines("weight-add"), *self.value_lines("weight")):
            with located(self.path, number):
                name, weights = parse_weights(text)
            found[name] = (number, weights)
        return found

    @cached_property
    def weights(self) -> dict[str, tuple[float, ...]]:
        """The weights in the file, by name, including those of sparse features."""
        return {name: weights for name, (_, weights) in self._weight_lines.items()}

    def weight_line(self, name: str) -> int | None:
        """Return the line number of a feature's weights, or ``None`` if it has no weights."""
        return self._weight_lines[name][0] if name in self._weight_lines else None

    def feature(self, name: str) -> FeatureLine:
        """Return one feature function by name.

        Raises:
            IniError: There is no such feature; the error lists the features of the ini.
        """
        for feature in self.features:
            if feature.name == name:
                return feature
        names = [feature.name for feature in self.features]
        raise self.error(
            f"there is no feature {name}{did_you_mean(name, names)}",
            remedy=f"name one of: {', '.join(names)}" if names else None,
        )

    def refuse_old_style(self) -> None:
        """Raise an IniError unless the file has ``[feature]`` lines."""
        if self.old_style_sections:
            first = self.old_style_sections[0]
            what = f"an old-style moses.ini ([{first}] in place of [feature])"
            line = self.sections[first][0][0]
            raise self.error(f"{what}, which only Moses reads", line=line, remedy=_CONVERSION)
        if not self.features:
            raise self.error("no [feature] section, so there is nothing to translate with")

    def refuse_rewriting(self) -> None:
        """Raise an IniError if other sections override [feature] or [weight]."""
        self.refuse_old_style()
        for section in sorted(REWRITING_SECTIONS):
            if self.values(section):
                raise self.error(
                    f"the ini has a [{section}] section, which overrides other sections",
                    remedy="move its content to [feature] and [weight]",
                )

    def with_feature_option(self, name: str, key: str, value: str) -> MosesIni:
        """Return the file with one option of a feature set, and every other byte unchanged."""
        return self._with_line(self.feature(name).line, lambda line: _with_option(line, key, value))

    def with_value(self, section: str, index: int, text: str) -> MosesIni:
        """Return the file with one value of a section replaced, and every other byte unchanged."""
        number = self.sections[section][index][0]
        return self._with_line(number, lambda line: _with_code(line, text))

    def with_weights(self, weights: Mapping[str, Sequence[float]]) -> MosesIni:
        """Return the file with new weights of the named features, and every other byte unchanged.

        If a feature has several weight lines, only the line that counts is changed. A feature
        without a weight line gets a new line after the last weight.
        """
        lines, added = list(self.lines), list[str]()
        for name, values in weights.items():
            if (number := self.weight_line(name)) is None:
                added.append(f"{name}= " + " ".join(map(format_weight, values)))
            else:
                with located(self.path, number):
                    lines[number - 1] = _with_weights(lines[number - 1], values)
        return self._reparsed(lines).with_added_values("weight", *added)

    def without_lines(self, numbers: Collection[int]) -> MosesIni:
        """Return the file without the lines that have these 1-based numbers."""
        return self._reparsed([line for n, line in enumerate(self.lines, 1) if n not in numbers])

    def with_added_values(self, section: str, *codes: str) -> MosesIni:
        """Return the file with more values of a section; the section is created if necessary."""
        lines = list(self.lines)
        if not codes:
            return self
        if present := self.sections.get(section):
            last = present[-1][0]
            end = "\r" if lines[last - 1].endswith("\r") else ""
            lines[last:last] = [code + end for code in codes]
        else:
            begin = len(lines) - (lines[-1] == "")
            lines[begin:] = ["", f"[{section}]", *codes, ""]
        return self._reparsed(lines)

    def _with_line(self, number: int, edit: Callable[[str], str]) -> MosesIni:
        lines = list(self.lines)
        with located(self.path, number):
            lines[number - 1] = edit(lines[number - 1])
        return self._reparsed(lines)

    def _reparsed(self, lines: Sequence[str]) -> MosesIni:
        data = "\n".join(lines).encode("utf-8", "surrogateescape")
        return MosesIni.parse(data, self.path, base=self.base)


def is_path(key: str) -> bool:
    """Return whether the value of an option of a feature line is a path."""
    return key in ("path", "base", "file") or key.endswith(("-path", "-file"))


def code_of(line: str) -> str:
    """Return a line without its comment and without surrounding blanks.

    >>> code_of("  LM0= 0.5  # tuned")
    'LM0= 0.5'
    """
    return line.partition("#")[0].strip(_BLANKS)


def _parse_feature(code: str) -> tuple[str, dict[str, str]]:
    """Parse a feature line into its class and its options.

    Raises:
        IniError: An argument has no ``=``, a key occurs twice, or the name would break the columns
            of an n-best list.

    >>> _parse_feature("KENLM name=LM0 factor=0")
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
        if key in options and (kind, key) not in _REPEATABLE:
            raise IniError(f"the feature line has the key {key} twice")
        options[key] = value
    if _BARS in options.get("name", ""):
        raise IniError(f"the name of a feature has {_BARS}, which ends a column of an n-best list")
    return kind, options


def parse_weights(code: str) -> tuple[str, tuple[float, ...]]:
    """Parse a weight line into the name of its feature and the weights.

    Raises:
        IniError: The line is not a name with ``=`` and then weights, or a weight is not a finite
            number.

    >>> parse_weights("TranslationModel0= 0.2 0.3")
    ('TranslationModel0', (0.2, 0.3))
    """
    label, *tokens = _TOKEN.findall(code) or [""]
    name = label[:-1]
    if not label.endswith("=") or not name or "=" in name:
        problem = f"the weight line {code[:80]!r} is not of the form 'Name= 0.3'"
        raise IniError(problem, remedy="write '=' directly after the name, and then a blank")
    if not tokens:
        raise IniError(f"the weight line of {name} has no weight")
    weights: list[float] = []
    for token in tokens:
        if (value := finite_number(token)) is None:
            raise IniError(
                f"a weight of {name} is {token!r}, expected a finite number",
                remedy="correct it; Moses reads it as some number, without a word",
            )
        weights.append(value)
    return name, tuple(weights)


def format_weight(weight: float) -> str:
    """Format a weight with the fewest digits that read back to the same number.

    >>> format_weight(0.2), format_weight(1.0), format_weight(-1e-05)
    ('0.2', '1', '-1e-05')
    """
    return repr(float(weight)).removesuffix(".0")


def _with_option(line: str, key: str, value: str) -> str:
    """Return a feature line with one option replaced, or added after the last option.

    Raises:
        IniError: Moses could not read the value back.

    >>> _with_option("KENLM  path=a order=3 # big", "path", "b")
    'KENLM  path=b order=3 # big'
    """
    refuse_unreadable(key, value)
    code, mark, comment = line.partition("#")
    tokens = [each for each in list(_TOKEN.finditer(code))[1:] if each[0].startswith(f"{key}=")]
    for token in reversed(tokens):
        code = code[: token.start()] + f"{key}={value}" + code[token.end() :]
    if not tokens:
        end = len(code.rstrip(_BLANKS))
        code = f"{code[:end]} {key}={value}{code[end:]}"
    return code + mark + comment


def refuse_unreadable(what: str, value: str) -> None:
    """Refuse a value that Moses would not read back.

    Raises:
        IniError: The value is empty, or has blanks or a ``#``.
    """
    if not is_readable(value):
        raise IniError(
            f"the {what} {value!r} cannot be written into a moses.ini: values have no blanks and "
            "no '#'",
            remedy="rename the file or its folder, or make a link without these characters",
        )


def is_readable(value: str) -> bool:
    """Return whether Moses would read a value back from an ini."""
    return bool(value) and not any(character in value for character in " \t\r\n#")


def _with_code(line: str, value: str) -> str:
    """Return a line with another value; the comment and the blanks around the value stay.

    >>> _with_code("  weights.txt # sparse", "/data/weights.txt")
    '  /data/weights.txt # sparse'
    """
    refuse_unreadable("value", value)
    before = code_of(line)
    start = line.index(before)
    return line[:start] + value + line[start + len(before) :]


def _with_weights(line: str, weights: Sequence[float]) -> str:
    """Return a weight line with new weights; an unchanged number keeps its spelling.

    >>> _with_weights("LM0= 0.50  1 # tuned", [0.5, 2, 3])
    'LM0= 0.50  2 3 # tuned'
    """
    code, mark, comment = line.partition("#")
    tokens = list(_TOKEN.finditer(code))[1:]
    kept, extra = tokens[: len(weights)], weights[len(tokens) :]
    added = "".join(f" {format_weight(weight)}" for weight in extra)
    code = code[: kept[-1].end()] + added + code[tokens[-1].end() :]
    for token, weight in reversed(list(zip(kept, weights, strict=False))):
        if float(token[0]) != weight:
            code = code[: token.start()] + format_weight(weight) + code[token.end() :]
    return code + mark + comment
