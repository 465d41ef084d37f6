"""Checks of a development set: its texts, and how many of their words the system knows.

If the case, tokenisation or escaping of a text differs from that of the system, no program reports
an error: the words of the text are simply unknown. So are the words of a text in the wrong
language. Therefore every unknown word is also looked up in lower case, with a capital, escaped,
unescaped, and without punctuation at its end (as it is, and in lower case, because raw text often
needs both changes). The spelling that makes the most tokens known is reported, if these are enough.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias
from unicodedata import category, is_normalized, name, normalize

from moses_integration.doctor.findings import Diagnosis, place_of
from moses_integration.ini.problems import Severity
from moses_integration.text.preparation import escape, unescape
from phrasescore.errors import counted, visible
from phrasescore.table import input_files
from phrasescore.table.phrase_table import BLANKS, line_tokens

Knows: TypeAlias = Callable[[bytes], bool]
# severity, fault, remedy, and a function that returns whether a line has the fault
_Check: TypeAlias = tuple[Severity, str, str, Callable[[bytes], object]]

# what should know the words of a reference, and what happens to others
OF_REFERENCE = (
    "the target side of the phrase table, for this source,",
    "translations have such words only as copies",
)
_LABEL = re.compile(rb"\[[^\[\]]*\]")
_PUNCTUATION = ".,;:!?…)\"'»"
_EXAMPLES = 5
# these limits are shares of all tokens
_MANY_UNKNOWN, MOST_UNKNOWN = 0.2, 0.5
# With little training text and many word forms, up to 67 % of a dev set's tokens are unknown
# (Asháninka, 500 lines); in an unrelated language, 66 % or more. So only a higher share is surely
# an error.
_WRONG_LANGUAGE = 0.8
_FEW_MISSPELT, _MANY_MISSPELT = 0.005, 0.05
# another case or escaping is reported only if it makes at least this share of the unknown tokens
# known; this limit does not hold for punctuation at the end of words, which only raw text has, and
# for a text without capitals, which a cased system was not made for
_REASON = 0.25
# digits, quotes and marks are reported that are this many times as frequent as in training
_ODD = 5
_MOST_SEEN = 0.5  # share of lines; short sentences may be in both texts
# fewer such characters, in all or for each line, come from names, not from another way of writing
_FEW, _RARE = 3, 0.02


@dataclass(frozen=True)
class Text:
    """The lines of one text, without their line feeds.

    Args:
        path: The file of the text.
        lines: All lines.
        ends_in_line_feed: Whether the last line ends in a line feed.
    """

    path: str
    lines: tuple[bytes, ...]
    ends_in_line_feed: bool

    @classmethod
    def read(cls, path: str | Path) -> Text:
        """Read a plain or gzip file.

        Raises:
            InputError: The file cannot be read.
        """
        with input_files.open_input(path) as stream:
            data = stream.read()
        lines = data.split(b"\n")
        return cls(str(path), tuple(lines if lines[-1] else lines[:-1]), data.endswith(b"\n"))

    def tokens(self) -> Iterator[bytes]:
        """Yield all tokens; if a token is factored, only its surface form."""
        for line in self.lines:
            for token in line_tokens(line):
                yield token.split(b"|", 1)[0] or token


_ESCAPE = "escape the text: phrasescore preprocess"
_EMPTY: _Check = (
    "warning",
    "an empty line, from which tuning learns nothing useful",
    "delete this line here and in the other texts",
    lambda line: not line.strip(BLANKS),
)
_NOT_UTF8: _Check = (
    "warning",
    "text that is not UTF-8",
    "convert it with iconv",
    lambda line: line.decode("utf-8", "ignore").encode("utf-8") != line,
)
_COLUMNS: _Check = "warning", *input_files.COLUMNS, lambda line: b"\t" in line
_LABELS: _Check = (
    "error",
    "a word in brackets, at which Moses stops or crashes",
    _ESCAPE,
    lambda line: any(_LABEL.fullmatch(word) for word in line_tokens(line)),
)
_BAR: _Check = (
    "error",
    "a '|', which Moses takes for the separator of factors",
    _ESCAPE,
    lambda line: b"|" in line,
)
_CARRIAGE_RETURN: _Check = (
    "error",
    "a carriage return at the end, which becomes part of the last word",
    "remove it: tr -d '\\r'",
    lambda line: line.endswith(b"\r"),
)


def _check_lines(found: Diagnosis, text: Text, *checks: _Check) -> None:
    """Report how many lines fail each check, and which is the first; some checks are common."""
    if not any(line.strip(BLANKS) for line in text.lines):
        found.error(text.path, "the file is empty", "name another file")
    for severity, what, remedy, fails in (_EMPTY, _NOT_UTF8, _COLUMNS, *checks):
        rows = [number for number, line in enumerate(text.lines, 1) if fails(line)]
        if rows:
            share = f"{len(rows):,} of {len(text.lines):,} lines"
            found.add(severity, place_of(text.path, rows[0]), f"{what} ({share})", remedy)


def check_texts(
    found: Diagnosis, source: Text, references: Sequence[Text], *, factored: bool = False
) -> None:
    """Check the text to translate and its references, and whether all have equally many lines."""
    _check_lines(found, source, _LABELS, *(() if factored else (_BAR,)))
    lines = len(source.lines)
    if lines and not source.ends_in_line_feed:
        what = "the last line has no line feed, and Moses does not translate it"
        found.error(place_of(source.path, lines), what, "end it with a line feed")
    for text in references:
        _check_lines(found, text, _CARRIAGE_RETURN)
        if lines != len(text.lines):
            what = f"{counted(len(text.lines), 'line')}, but {source.path} has {lines:,}"
            remedy = "line i of this file must be a translation of line i of the source"
            found.error(text.path, what, remedy)
        elif problem := input_files.alignment_problem(text.lines, source.lines, source.path):
            found.warning(text.path, problem, input_files.CHECK_LINES)


_PREPROCESS = "phrasescore preprocess"
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_WRITE_ONCE = (
    "write them once, before the text is prepared: perl -CSD -MUnicode::Normalize -pe "
    r"'$_ = NFC(NFD($_) =~ s/(\p{M})\1+/$1/gr)'"
)
_QUOTES, _MARKS, _OTHERS = "quotes", "marks", "characters"
# the general categories of characters that languages write in several ways
_KINDS = {"Nd": "digits", "Pi": _QUOTES, "Pf": _QUOTES, "Mn": _MARKS, "Mc": _MARKS, "Me": _MARKS}


def check_writing(found: Diagnosis, training: Text, texts: Iterable[Text]) -> None:
    """Compare the characters and words of texts with those of the training text of their side."""
    learnt, *others = map(_Writing, (training, *texts))
    learnt.check_doubled(found)
    for text in others:
        text.check_doubled(found)
        text.check_apart(found, learnt)
        text.compare(found, learnt)


class _Writing:
    """The characters of a text: as they are, with marks apart from their letters, without marks."""

    def __init__(self, text: Text) -> None:
        self.path = text.path
        lines = (line.removesuffix(b"\r") for line in text.lines)  # Moses reads words without it
        self.text = unescape(b"\n".join(lines).decode("utf-8", "replace"))
        self.forms = [form for form in _FORMS if is_normalized(form, self.text)]
        self.apart = normalize("NFD", self.text)
        self.bare = "".join(each for each in self.apart if not _is_mark(each))
        self.counts = Counter(self.apart)
        self.marks = Counter({each: n for each, n in self.counts.items() if _is_mark(each)})

    def check_doubled(self, found: Diagnosis) -> None:
        """Report marks that stand twice on a letter."""
        twice = Counter(each[1] for each in re.finditer(r"(\W)\1", self.apart) if _is_mark(each[1]))
        if twice:
            found.warning(self.path, f"marks written twice: {_names(twice)}", _WRITE_ONCE)

    def check_apart(self, found: Diagnosis, training: _Writing) -> None:
        """Report a text that is part of the training text, so that its scores are too high."""
        lines, known = self.text.split("\n"), set(training.text.split("\n"))
        seen = sum(map(known.__contains__, lines)) / len(lines)
        if seen > _MOST_SEEN:
            what = f"{seen:.0%} of the lines are in {training.path}, the training text"
            found.warning(self.path, what, "tune and test with sentences that are not in it")

    def compare(self, found: Diagnosis, training: _Writing) -> None:
        """Report how this text is written otherwise than the training text."""
        # a text without accents is in both forms
        for form in training.forms if len(training.forms) == 1 else ():
            if form not in self.forms:
                what = f"this text is not in Unicode {form}, but the training text is"
                found.warning(self.path, what, f"prepare both in the same way: {_PREPROCESS}")
        ratio = self.counts.total() / max(1, training.counts.total())
        odd: dict[str, Counter[str]] = {}
        for each, count in self.counts.items():
            kind = _QUOTES if each in "\"'" else _KINDS.get(category(each), _OTHERS)
            seen = training.counts[each]
            # any letter that training saw is usual; other characters must not be much rarer there
            if not seen or (kind != _OTHERS and count > _ODD * seen * ratio):
                odd.setdefault(kind, Counter())[each] = count
        few = max(_FEW, _RARE * (self.text.count("\n") + 1))
        for kind, characters in odd.items():
            what = f"{kind} that {training.path} has never or far less often: {_names(characters)}"
            usual = Counter(
                {mark: n for mark, n in training.marks.items() if mark not in characters}
            )
            what += f"; usual there: {_names(usual)}" if kind == _MARKS and usual else ""
            is_trifle = kind == _OTHERS or characters.total() < few
            severity: Severity = "note" if is_trifle else "warning"
            found.add(severity, self.path, what, "unless only content differs, write both alike")
        if self.marks:
            sides = (self.text, training.text), (self.bare, training.bare)
            what = "training saw {:.1%} of the tokens, and {:.1%} if marks are ignored"
            found.note(self.path, what.format(*(_share_seen(*pair) for pair in sides)))


def _is_mark(character: str) -> bool:
    return category(character)[0] == "M"


def _share_seen(text: str, training: str) -> float:
    words, seen = (re.split("[ \n]+", each) for each in (text, training))
    return sum(map(set(seen).__contains__, words)) / len(words)


def _names(characters: Counter[str]) -> str:
    shown = characters.most_common(_EXAMPLES)
    return ", ".join(f"U+{ord(each):04X} {name(each, '')} ({n:,})" for each, n in shown)


_TOKENISE = f"{_PREPROCESS} --system FOLDER if `build` made the system, or --language CODE"
# of two spellings, the second must explain this much more to be preferred
_CLEARLY_MORE = 1.25
# name of a spelling -> its function, and the advice if words are known in this spelling
_SPELLINGS: dict[str, tuple[Callable[[str], str], str]] = {
    "in lower case": (
        str.lower,
        f"prepare its case like the system's: {_PREPROCESS} --system FOLDER --side SIDE, or, for a "
        f"lower-cased system, {_PREPROCESS} --lowercase",
    ),
    "with a capital letter": (
        lambda word: word[:1].upper() + word[1:],
        f"the case differs from that of the training text: prepare both texts in the same way "
        f"({_PREPROCESS})",
    ),
    "escaped": (escape, f"escape this text as Moses does: {_PREPROCESS}"),
    "unescaped": (
        unescape,
        "the table or model was made from unescaped text: prepare both in the same way "
        f"({_PREPROCESS}, or train it again on escaped text)",
    ),
    "without the punctuation at the end": (
        lambda word: word.rstrip(_PUNCTUATION),
        f"tokenise this text: {_TOKENISE}",
    ),
    "without the punctuation at the end, in lower case": (
        lambda word: word.rstrip(_PUNCTUATION).lower(),
        f"tokenise this text: {_TOKENISE}, with --lowercase only for a lower-cased system",
    ),
}


class TextWords:
    """The distinct words of a text.

    Args:
        tokens: All tokens of the text.
        where: The name of the text in findings, usually its file.
    """

    def __init__(self, tokens: Iterable[bytes] = (), where: str = "") -> None:
        self.where = where
        self._counts = Counter(tokens)

    def unknown_share(self, knows: Knows) -> float:
        """Return which share of all tokens is unknown."""
        unknown = self._count(word for word in self._counts if not knows(word))
        return unknown / max(1, self._counts.total())

    def check(
        self,
        found: Diagnosis,
        knows: Knows,
        owner: str,
        fate: str = "it treats each of them as <unk>",
        knows_spelling: Knows | None = None,
        opposite: Knows | None = None,
    ) -> None:
        """Report how many tokens of the text a table or model knows.

        Args:
            found: Receives the findings.
            knows: Whether a word is known.
            owner: The table or model, e.g. ``the phrase table``.
            fate: The fate of unknown words, e.g. ``they are copied as they are``.
            knows_spelling: Whether another spelling of a word is known; by default ``knows``.
            opposite: Whether the table knows a word on its other side, as if texts are swapped.
        """
        total = self._counts.total()
        missing = [word for word in self._counts if not knows(word)]
        if not missing:
            if total:
                found.note(self.where, f"{owner} knows all {total:,} tokens")
            return
        share = self._count(missing) / total
        swapped = opposite is not None and self.unknown_share(opposite) <= MOST_UNKNOWN < share
        if not swapped:
            self._check_spelling(found, missing, owner, knows_spelling or knows)
        severity: Severity = "note"
        remedy = ""
        if share > _MANY_UNKNOWN:
            severity = "error" if swapped or share > _WRONG_LANGUAGE else "warning"
            remedy = "check that language, tokenisation, case and escaping are the same"
            remedy += ", unless the training text is just small" * (severity == "warning")
        if swapped:
            remedy = "its other side knows them: source and reference look swapped, or one is wrong"
        found.add(
            severity,
            self.where,
            f"{owner} does not know {self._count(missing):,} of {total:,} tokens ({share:.1%}): "
            f"{self._examples(missing)}; {fate}",
            remedy,
        )

    def _check_spelling(
        self, found: Diagnosis, missing: Sequence[bytes], owner: str, knows: Knows
    ) -> None:
        """Report the spelling in which the most missing words are known, if these are enough."""

        def is_known(word: bytes, change: Callable[[str], str]) -> bool:
            spelt = change(word.decode("utf-8", "surrogateescape"))
            other = spelt.encode("utf-8", "surrogateescape")
            return other not in (word, b"") and knows(other)

        saved = {
            name: [word for word in missing if is_known(word, change)]
            for name, (change, _) in _SPELLINGS.items()
        }
        counts = {name: self._count(words) for name, words in saved.items()}
        most, text = max(counts.values()), b" ".join(self._counts).decode("utf-8", "replace")
        name = next(name for name in counts if counts[name] * _CLEARLY_MORE >= most)
        count, total, unknown = self._count(saved[name]), self._counts.total(), self._count(missing)
        reason = 0 if "punctuation" in name or text == text.lower() else _REASON
        if count >= max(reason * unknown, _FEW_MISSPELT * total):
            found.add(
                "error" if count > _MANY_MISSPELT * total else "warning",
                self.where,
                f"{owner} would know at least {count:,} of the {unknown:,} tokens it does not know "
                f"if they were {name}: {self._examples(saved[name])}",
                _SPELLINGS[name][1],
            )

    def _count(self, words: Iterable[bytes]) -> int:
        return sum(self._counts[word] for word in words)

    def _examples(self, words: Iterable[bytes]) -> str:
        frequent = sorted(words, key=lambda word: -self._counts[word])[:_EXAMPLES]
        return ", ".join(map(visible, frequent))
