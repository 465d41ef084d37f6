r"""The text of a Moses phrase table, line by line: columns, scores, tokens, and their errors.

A line has up to seven columns, separated by ``|||``: source phrase, target phrase, scores, word
alignment, counts, sparse features, properties. The first three are required. Scores are
probabilities: Moses takes their natural logarithm and floors it at -100. Everything is bytes: lines
end at ``\n`` only, and tokens at a space or a tab only. The rules are those of Moses's own loader
(RuleTable/LoaderStandard.cpp, Phrase.cpp).

``phrasescore.table.block`` does the same for many lines at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from phrasescore.errors import PhraseTableError, counted, located, visible
from phrasescore.table.input_files import finite_number

SEPARATOR = b" ||| "
PIPES = b"|||"
BLANKS = b" \t\r"  # the bytes that may surround columns and separate scores
SCORE = re.compile(rb"[^ \t\r]+")
# the token that a model sees for a gap of a hierarchical rule, whatever the labels of the gap
GAP = b"[X]"
# Moses takes the natural logarithm of a score, and raises lower logarithms to this one
FLOOR_LN = -100.0
# at most this many lines are kept in memory to find a table's format, because pipes cannot be
# read twice
INSPECTED_LINES = 1000
_REORDERING_COLUMNS = 3  # source, target, scores

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")

_SHOWN = 60  # maximum number of characters of a wrong score in an error


@dataclass(frozen=True, slots=True)
class Entry:
    """The columns of one line, without the blanks around them; a missing column is empty."""

    source: bytes
    target: bytes
    scores: bytes
    alignment: bytes = b""
    counts: bytes = b""
    sparse: bytes = b""
    properties: bytes = b""


@dataclass(frozen=True)
class TableFormat:
    """Properties of every line of a table.

    Args:
        scores: The number of scores of each line, at least one.
        hierarchical: Whether the table holds hierarchical rules: Moses writes the left-hand side
            of a rule, such as ``[X]``, at the end of both phrases.
    """

    scores: int
    hierarchical: bool

    @classmethod
    def from_lines(cls, lines: Sequence[bytes], path: str | Path) -> TableFormat:
        """Find the format of a phrase table in its first lines.

        A table is hierarchical if, in all these lines, both phrases end in a bracketed token, as in
        every rule. A single phrase with this ending may be ordinary text.

        Args:
            lines: Up to ``INSPECTED_LINES`` lines from the beginning, without line feeds.
            path: The file of the lines, for errors.

        Raises:
            PhraseTableError: The file is empty or not a phrase table, or its first line is faulty.
        """
        _refuse_empty(lines, "phrase table", path)
        if any(PIPES in rest for rest in lines[0].split(b"\r")[1:]):
            raise PhraseTableError(
                "the lines end in carriage returns alone, which Moses does not accept as line ends",
                path=path,
                remedy="give the text phrase table that Moses's training writes (phrase-table.gz)",
            )
        with located(path, 1):
            scores = parse_scores(parse_entry(lines[0]).scores)
            is_short = lines[0].count(PIPES) < _REORDERING_COLUMNS and len(scores) == 6
            if is_short and all(abs(sum(half) - 1) < 0.01 for half in (scores[:3], scores[3:])):
                problem = "orientation probabilities, so this is a reordering table"
                raise PhraseTableError(problem, remedy="name the phrase table")
            return cls(len(scores), all(map(is_rule, lines)))

    @classmethod
    def from_reordering_lines(cls, lines: Sequence[bytes], path: str | Path) -> TableFormat:
        """Find the format of a lexicalised reordering table, which has three columns.

        Args:
            lines: The first lines of the table, without line feeds.
            path: The file of the table, for errors.

        Raises:
            PhraseTableError: The file is empty or not a reordering table.
        """
        _refuse_empty(lines, "reordering table", path)
        with located(path, 1):
            if b"\t|||" in lines[0] or b"|||\t" in lines[0]:
                raise PhraseTableError(
                    "a tab beside |||, which Moses takes for part of the phrase, and finds no pair",
                    remedy="write blanks: tr '\\t' ' '",
                )
            columns = lines[0].count(PIPES) + 1
            if columns != _REORDERING_COLUMNS:
                remedy = "name the reordering table that belongs to the phrase table"
                if columns == _REORDERING_COLUMNS - 1:
                    remedy = "leave this table as it is: a table of two columns has one line for "
                    remedy += "each source phrase, not for each pair"
                raise PhraseTableError(
                    f"{counted(columns, 'column')}, expected {_REORDERING_COLUMNS} in a reordering "
                    "table (source ||| target ||| scores)",
                    remedy=remedy,
                )
            return cls(len(parse_scores(parse_entry(lines[0]).scores)), hierarchical=False)


def _refuse_empty(lines: Sequence[bytes], what: str, path: str | Path) -> None:
    if not lines:
        raise PhraseTableError(f"the file is empty, where a {what} was expected", path=path)


def parse_entry(line: bytes) -> Entry:
    """Parse one line (without its line feed); the scores are not parsed.

    Raises:
        PhraseTableError: The line is blank, has fewer than three columns or no source phrase.
    """
    columns = [column.strip(BLANKS) for column in line.split(PIPES, 6)]
    if len(columns) < 3:
        if not any(columns):
            raise PhraseTableError(
                "a blank line, where a phrase pair was expected",
                remedy="delete the line; Moses refuses it too",
            )
        raise PhraseTableError(
            f"{counted(len(columns), 'column')}, expected at least 3 "
            "(source ||| target ||| scores)",
            remedy="repair or delete the line; Moses refuses it too",
        )
    if not columns[0]:
        raise PhraseTableError(
            "the source phrase is empty", remedy="delete the line; Moses skips it"
        )
    return Entry(*columns)


def parse_scores(field: bytes) -> list[float]:
    """Parse the score column; every number must be finite and not negative.

    Raises:
        PhraseTableError: There is no score, or a score is negative or not a finite number.

    >>> parse_scores(b"0.5 1e-3 2.718")
    [0.5, 0.001, 2.718]
    """
    tokens = SCORE.findall(field)
    if not tokens:
        raise PhraseTableError("no score in column 3", remedy="repair or delete the line")
    return [_parse_score(number, token) for number, token in enumerate(tokens, 1)]


def _parse_score(number: int, token: bytes) -> float:
    value = finite_number(token)  # the notation of Moses (double-conversion without flags)
    if value is not None and value >= 0.0:  # -0.0 counts as 0
        return value
    if value is not None:
        raise PhraseTableError(
            f"score {number} is negative ({visible(token, _SHOWN)}), and Moses, which takes its "
            "logarithm, would silently drop the phrase pair",
            remedy="write probabilities into the table, exp(x) instead of a log-probability x",
        )
    raise PhraseTableError(
        f"score {number} is {visible(token, _SHOWN)!r}, expected a finite number",
        remedy="repair or delete the line; Moses reads digits, a decimal point and an exponent",
    )


def check_line(line: bytes, expected: TableFormat) -> None:
    """Parse one line and compare it with the format of its table.

    Raises:
        PhraseTableError: The line is faulty. The caller adds file and line number to the error.
    """
    entry = parse_entry(line)
    count = len(parse_scores(entry.scores))
    if count != expected.scores:
        raise PhraseTableError(
            f"{counted(count, 'score')}, where the lines before have {expected.scores}",
            remedy="give every line the same number of scores; Moses refuses the table otherwise",
        )
    if expected.hierarchical:
        # `scored_tokens` raises if the label is missing
        if not scored_tokens(entry.source, "source", hierarchical=True):
            raise PhraseTableError(
                "the source side of the rule is empty", remedy="delete the line; Moses skips it"
            )
        scored_tokens(entry.target, "target", hierarchical=True)


def words_of(text: bytes) -> list[bytes]:
    """Split at spaces only; several spaces in a row count as one."""
    return [word for word in text.split(b" ") if word]


def phrase_tokens(phrase: bytes) -> list[bytes]:
    """Split a phrase at spaces and tabs only."""
    return words_of(phrase.replace(b"\t", b" "))


def line_tokens(line: bytes) -> list[bytes]:
    """Split a line of text as Moses does: at spaces and tabs, without a final carriage return."""
    return phrase_tokens(line.strip(BLANKS))


def scored_tokens(
    phrase: bytes, side: Side, factor: int = 0, *, hierarchical: bool = False
) -> list[bytes]:
    """Return the tokens of a phrase as a model sees them.

    A model sees one factor of a token such as ``surface|tag``, by default factor 0 as in Moses. If
    this factor is empty, as in a bare ``|``, the model sees the whole token. A hierarchical rule
    loses the left-hand side at its end, and each of its gaps ``[X][X]`` becomes the token ``[X]``.

    Args:
        phrase: The source or target column.
        side: The side of the phrase, for errors.
        factor: The factor to take, counted from 0.
        hierarchical: Whether the table holds rules (see ``TableFormat``).

    Raises:
        PhraseTableError: A token has no such factor, or a rule has no left-hand side.

    >>> scored_tokens(b"le [X][X] de [X][X] [X]", "source", hierarchical=True)
    [b'le', b'[X]', b'de', b'[X]']
    >>> scored_tokens(b"la|DET maison|N", "source")
    [b'la', b'maison']
    """
    tokens = phrase_tokens(phrase)
    if hierarchical:
        if not tokens or not is_bracketed(tokens[-1]):
            raise PhraseTableError(
                f"the {side} phrase does not end in a label such as [X], "
                "although the phrases of all lines before do",
                remedy="keep hierarchical rules and plain phrase pairs in separate tables",
            )
        tokens.pop()
    return [_scored_token(token, side, factor, hierarchical) for token in tokens]


def _scored_token(token: bytes, side: Side, factor: int, hierarchical: bool) -> bytes:
    if hierarchical and is_bracketed(token) and b"][" in token:
        return GAP
    factors = token.split(b"|")
    if factor >= len(factors):
        text = token.decode("utf-8", "backslashreplace")
        raise PhraseTableError(
            f"the {side} token {text} has {counted(len(factors), 'factor')}, "
            f"so there is no factor {factor} (factors are counted from 0)",
            remedy="use a text with this factor; commands with the option --factor can use another",
        )
    return factors[factor] or token


def is_bracketed(token: bytes) -> bool:
    """Tell whether a token looks like a label or gap of a rule, such as ``[X]``."""
    return len(token) >= 2 and token.startswith(b"[") and token.endswith(b"]")


def is_rule(line: bytes) -> bool:
    """Return whether both phrases of a line end in a label, as in every hierarchical rule."""
    columns = line.split(PIPES, 2)
    tokens = [phrase_tokens(column) for column in columns[:2]]
    return len(columns) == 3 and all(side and is_bracketed(side[-1]) for side in tokens)
