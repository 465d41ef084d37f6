r"""A moses.ini: read by Moses's rules, edited without touching what is not meant.

``#`` starts a comment anywhere on a line. ``[name]`` opens a section, every other line that is not
blank is a value of the section above it; a section that is opened twice continues. ``[feature]``
lines are ``Class key=value ...``; a feature is called by its ``name=``, or else by its class and a
running index. ``[weight]`` lines are ``Name= number ...``; the last line of a name wins.

Values are ``str``; bytes that are not UTF-8 survive as surrogates, so that ``to_bytes`` gives every
file back as it was. Whether weights and features fit together is the matter of
``feature_weights``, whether files exist that of ``model_files``. Source: Parameter.cpp and
FeatureFunction.cpp of mosesdecoder 34452895f.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from moses_integration.ini import lines as ini_lines
from moses_integration.ini.parameters import OLD_STYLE_SECTIONS, REWRITING_SECTIONS, SECTIONS
from phrasescore.errors import IniError, did_you_mean
from phrasescore.table.input_files import open_input

_CONVERSION = "convert the file with Moses's scripts/training/convert-moses-ini-to-v2.perl"


@dataclass(frozen=True)
class FeatureLine:
    """One feature function as its line declares it.

    Args:
        kind: Its class, e.g. ``PhraseDictionaryMemory``.
        name: What weights and n-best lists call it, e.g. ``TranslationModel0``.
        options: Everything after the class, by key, ``name`` and ``num-features`` included.
        line: Its 1-based line number.
    """

    kind: str
    name: str
    options: Mapping[str, str]
    line: int


@dataclass(frozen=True)
class _Value:
    text: str
    line: int


@dataclass(frozen=True)
class MosesIni:
    """The content of one moses.ini; editing returns a new one.

    Args:
        lines: All lines, without line feeds; what follows the last line feed is the last.
        path: Where it was read from, for errors.
    """

    lines: tuple[str, ...]
    path: str = "moses.ini"

    @classmethod
    def read(cls, path: str | Path) -> MosesIni:
        """Read and parse a file, or standard input for ``-``.

        Raises:
            InputError: The file cannot be read.
            IniError: A line breaks the format; the error names it.
        """
        with open_input(path) as stream:
            return cls.parse(stream.read(), str(path))

    @classmethod
    def parse(cls, data: bytes, path: str = "moses.ini") -> MosesIni:
        """Parse the bytes of a file; ``path`` is what errors call it."""
        if b"\0" in data:
            raise IniError("binary data, where a moses.ini was expected", path=path)
        ini = cls(tuple(data.decode("utf-8", "surrogateescape").split("\n")), path)
        ini._check()
        return ini

    def to_bytes(self) -> bytes:
        """Return the file's bytes; unedited, they are those that were read."""
        return "\n".join(self.lines).encode("utf-8", "surrogateescape")

    def _check(self) -> None:
        old = self.old_style_sections
        if old and (self._sections.keys() & {"feature", "weight"}):
            raise IniError(
                f"old-style sections ([{old[0]}]) beside [feature] or [weight]",
                path=self.path,
                line=self._sections[old[0]][0].line,
                remedy="keep one of the two styles; Moses refuses the mixture",
            )
        names = Counter(feature.name for feature in self.features)
        for feature in self.features:
            if names[feature.name] > 1:
                raise IniError(
                    f"two features are called {feature.name}",
                    path=self.path,
                    line=feature.line,
                    remedy="give each its own name=",
                )
        assert self.weights is not None  # parses them all

    @cached_property
    def _sections(self) -> dict[str, list[_Value]]:
        sections: dict[str, list[_Value]] = {}
        current: str | None = None
        for number, line in enumerate(self.lines, 1):
            code = ini_lines.code_of(line)
            if not code:
                continue
            with self._at(number):
                header = ini_lines.section_of(code)
            if header is not None:
                current = header
                continue
            if current is None:
                raise IniError(
                    f"{code[:40]!r} stands before the first [section]",
                    path=self.path,
                    line=number,
                    remedy="check that this is a moses.ini, saved as plain text without a "
                    "byte order mark",
                )
            sections.setdefault(current, []).append(_Value(code, number))
        return sections

    @contextlib.contextmanager
    def _at(self, line: int) -> Iterator[None]:
        try:
            yield
        except IniError as error:
            raise error.at(self.path, line) from None

    def values(self, section: str) -> tuple[str, ...]:
        """Return the values of a section in order; none where there is no such section."""
        return tuple(value.text for value in self._sections.get(section, ()))

    def value_lines(self, section: str) -> tuple[tuple[int, str], ...]:
        """Return the values of a section in order, each with the number of its line."""
        return tuple((value.line, value.text) for value in self._sections.get(section, ()))

    @cached_property
    def sections(self) -> tuple[str, ...]:
        """The names of all sections that have values, in the order of their first ones."""
        return tuple(self._sections)

    @cached_property
    def unknown_sections(self) -> tuple[tuple[str, int], ...]:
        """The sections that Moses would refuse, each with the line of its first value."""
        known = SECTIONS | OLD_STYLE_SECTIONS
        return tuple(
            (name, values[0].line) for name, values in self._sections.items() if name not in known
        )

    @cached_property
    def old_style_sections(self) -> tuple[str, ...]:
        """The sections that only a file from before ``[feature]`` lines has."""
        return tuple(name for name in self._sections if name in OLD_STYLE_SECTIONS)

    @cached_property
    def features(self) -> tuple[FeatureLine, ...]:
        """The feature functions in the file's order; none in an old-style file."""
        unnamed: Counter[str] = Counter()
        features = []
        for value in self._sections.get("feature", ()):
            with self._at(value.line):
                kind, options = ini_lines.parse_feature(value.text)
            name = options.get("name", "")
            if not name:
                name = f"{kind}{unnamed[kind]}"
                unnamed[kind] += 1
            features.append(FeatureLine(kind, name, options, value.line))
        return tuple(features)

    @cached_property
    def _weight_lines(self) -> dict[str, tuple[int, tuple[float, ...]]]:
        found = {}
        for section in ("weight-add", "weight"):  # Moses lets the second overrule the first
            for value in self._sections.get(section, ()):
                with self._at(value.line):
                    name, weights = ini_lines.parse_weights(value.text)
                found[name] = (value.line, weights)
        return found

    @cached_property
    def weights(self) -> dict[str, tuple[float, ...]]:
        """The weights that the file states, by name; those of sparse features among them."""
        return {name: weights for name, (_, weights) in self._weight_lines.items()}

    def weight_line(self, name: str) -> int | None:
        """Return the number of the line that gives a feature its weights, if one does."""
        return self._weight_lines[name][0] if name in self._weight_lines else None

    def feature(self, name: str) -> FeatureLine:
        """Return one feature function by name.

        Raises:
            IniError: There is none; the error says which there are.
        """
        for feature in self.features:
            if feature.name == name:
                return feature
        names = [feature.name for feature in self.features]
        raise IniError(
            f"no feature is called {name}{did_you_mean(name, names)}",
            path=self.path,
            remedy=f"name one of: {', '.join(names)}" if names else None,
        )

    def refuse_old_style(self) -> None:
        """Raise an IniError, with what to do, unless the file has ``[feature]`` lines."""
        if self.old_style_sections:
            first = self.old_style_sections[0]
            raise IniError(
                f"an old-style moses.ini ([{first}] in place of [feature])",
                path=self.path,
                line=self._sections[first][0].line,
                remedy=_CONVERSION,
            )
        if not self.features:
            raise IniError(
                "no [feature] section, so there is nothing to translate with",
                path=self.path,
                remedy="check that this is a whole moses.ini",
            )

    def refuse_rewriting(self) -> None:
        """Raise an IniError unless [feature] and [weight] alone say what there is."""
        self.refuse_old_style()
        for section in sorted(REWRITING_SECTIONS):
            if self.values(section):
                raise IniError(
                    f"a [{section}] section",
                    path=self.path,
                    remedy="write what it says into [feature] and [weight] themselves",
                )

    def with_feature_option(self, name: str, key: str, value: str) -> MosesIni:
        """Return the file with one option of a feature set, every other byte as it was."""
        return self._with_line(
            self.feature(name).line, lambda line: ini_lines.with_option(line, key, value)
        )

    def with_value(self, section: str, index: int, text: str) -> MosesIni:
        """Return the file with one value of a section replaced, every other byte as it was."""
        number = self._sections[section][index].line
        return self._with_line(number, lambda line: ini_lines.with_code(line, text))

    def with_weights(self, weights: Mapping[str, Sequence[float]]) -> MosesIni:
        """Return the file with other weights for the features named, every other byte as it was.

        The line that decides now is changed; a name without one gets a line after the last.
        """
        ini = self
        for name, values in weights.items():
            ini = ini._with_weights_of(name, tuple(values))
        return ini

    def _with_weights_of(self, name: str, values: tuple[float, ...]) -> MosesIni:
        assert values, "a weight line has at least one weight"
        number = self.weight_line(name)
        if number is not None:
            return self._with_line(number, lambda line: ini_lines.with_weights(line, values))
        added = f"{name}= " + " ".join(map(ini_lines.format_weight, values))
        return self._with_value_after("weight", added)

    def with_feature(self, code: str) -> MosesIni:
        """Return the file with one more feature, after the last, every other byte as it was."""
        return self._with_value_after("feature", code)

    def without_lines(self, numbers: Collection[int]) -> MosesIni:
        """Return the file without some lines, counted from 1."""
        return self._reparsed([line for n, line in enumerate(self.lines, 1) if n not in numbers])

    def _with_value_after(self, section: str, code: str) -> MosesIni:
        """Return the file with one more value of a section, which is made if there is none."""
        lines = list(self.lines)
        if present := self._sections.get(section):
            last = present[-1].line
            lines.insert(last, code + ("\r" if lines[last - 1].endswith("\r") else ""))
        else:
            end = len(lines) - (lines[-1] == "")
            lines[end:] = ["", f"[{section}]", code, ""]
        return self._reparsed(lines)

    def _with_line(self, number: int, edit: Callable[[str], str]) -> MosesIni:
        lines = list(self.lines)
        with self._at(number):
            lines[number - 1] = edit(lines[number - 1])
        return self._reparsed(lines)

    def _reparsed(self, lines: Sequence[str]) -> MosesIni:
        return MosesIni.parse("\n".join(lines).encode("utf-8", "surrogateescape"), self.path)
