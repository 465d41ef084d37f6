"""What is wrong with a file or a line that is not ARPA, in sentences for people."""

from __future__ import annotations

import re

from moses_integration.language_model.automaton import LARGEST_LOG10
from phrasescore.errors import LanguageModelError, visible
from phrasescore.words.word_table import WordTable

KENLM_BINARY_MAGIC = b"mmap lm http://kheafield.com/code"
_LONGEST_SHOWN = 60

# first bytes -> what the file looks like, what to do about it
_FOREIGN_FILES = (
    (
        KENLM_BINARY_MAGIC,
        "a KenLM binary, not an ARPA file",
        "name the ARPA file that it was built from",
    ),
    (b"blmt", "an IRSTLM binary", "convert it with: compile-lm --text=yes MODEL MODEL.arpa"),
    (b"Qblmt", "an IRSTLM binary", "convert it with: compile-lm --text=yes MODEL MODEL.arpa"),
    (b"iARPA", "IRSTLM's iARPA format", "convert it with: compile-lm --text=yes MODEL MODEL.arpa"),
    (b"qARPA", "IRSTLM's qARPA format", "convert it with: compile-lm --text=yes MODEL MODEL.arpa"),
    (b"\x1f\x8b", "gzip data within gzip data", "unzip it once"),
    (b"BZh", "bzip2 data", "unpack it, or pack it with gzip"),
    (b"\xfd7zXZ", "xz data", "unpack it, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "unpack it, or pack it with gzip"),
    (b"PK\x03\x04", "a zip archive", "unpack it, or pack it with gzip"),
    (b"\xff\xfe", "UTF-16 text", "convert it to UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "convert it to UTF-8"),
    (b"\xef\xbb\xbf", "text with a byte order mark", "remove its first three bytes"),
    (b"[", "a moses.ini", "name the path= of its language model line"),
)


def foreign_file(line: bytes, number: int) -> LanguageModelError:
    """Say what a file looks like whose first filled line is not that of an ARPA file."""
    for magic, name, remedy in _FOREIGN_FILES:
        if line.startswith(magic):
            return LanguageModelError(f"this looks like {name}", line=number, remedy=remedy)
    if b"|||" in line:
        return LanguageModelError(
            "this looks like a phrase table or an n-best list, not an ARPA file", line=number
        )
    return LanguageModelError(
        f"expected \\data\\ as the first line of an ARPA file, found {shown(line)}",
        line=number,
        remedy="name an ARPA file; text before \\data\\ must be in lines that begin with #",
    )


def diagnose_line(
    line: bytes, order: int, longest: bool, words: WordTable
) -> tuple[str, str | None]:
    """Say what is wrong with a line that compiled code refused, and what to do about it."""
    fields = re.split(rb"[ \t]+", line.strip(b" \t"))
    if (problem := _number_problem(fields[0], "log10 probability")) is not None:
        return problem, None
    if float(fields[0]) > 0:
        return (
            f"the log10 probability {shown(fields[0])} is positive, no probability exceeds 1",
            "improved-kneser-ney of IRSTLM is known for this: estimate the model with another",
        )
    found = len(fields) - 1
    if not order <= found <= order + 1:
        return f"expected {order} words and at most one back-off weight, found {found} fields", None
    if order == 1:
        if words.id_of(fields[1]) is not None:
            return f"the word {shown(fields[1])} stands there a second time", None
    else:
        for word in fields[1 : order + 1]:
            if words.id_of(word) is None:
                return (
                    f"the word {shown(word)} is not among the 1-grams",
                    "the 1-grams must list every word: make the file again",
                )
    assert found == order + 1
    if (problem := _number_problem(fields[-1], "log10 back-off weight")) is not None:
        return problem, None
    assert longest
    return f"a back-off weight {shown(fields[-1])} in the highest order, which has none", None


def _number_problem(field: bytes, what: str) -> str | None:
    if not re.fullmatch(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", field):
        return f"expected a {what}, found {shown(field)}"
    if abs(float(field)) > LARGEST_LOG10:
        return f"the {what} {shown(field)} is out of range"
    return None


def shown(text: bytes) -> str:
    """Quote the beginning of ``text``, with what cannot be seen in escapes."""
    return f"'{visible(text, _LONGEST_SHOWN)}'"
