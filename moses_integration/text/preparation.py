r"""Conversion of raw text to the tokens of a Moses system, and back.

Before translation, text is tokenised, lower-cased if the system was trained on lower-cased text,
and escaped where Moses would see markup. After translation, the escapes are undone and the tokens
are joined, optionally with a capital at the beginning. The settings of a system are recorded in
``text.json`` in its folder.

For spelling normalisation, transliteration and similar tasks, every character is a token instead. A
space becomes the token ``▁``. The few characters that Moses could not read as a token, and ``▁``
itself, become ``▁`` and a second character, so that the original text can be restored exactly.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from moses_integration.text.tokenising import Detokenizer, Tokenizer, check_language
from phrasescore.closed_settings import from_mapping
from phrasescore.errors import CorpusError, InputError, SettingsError
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.table.input_files import read_lines

SETTINGS_FILE = "text.json"

TokenizerName = Literal["unicode", "moses"]
TOKENIZERS: tuple[TokenizerName, ...] = get_args(TokenizerName)

# ampersand must come first; the order and the names are those of Moses
_ESCAPES = (
    ("&", "&amp;"),
    ("|", "&#124;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ("'", "&apos;"),
    ('"', "&quot;"),
    ("[", "&#91;"),
    ("]", "&#93;"),
)
# the escapes that Moses wrote before 2012
_OLD_ESCAPES = (("|", "&bar;"), ("[", "&bra;"), ("]", "&ket;"))
_ASCII_BLANKS = re.compile("[ \t\r]+")
_SPACE = "▁"
# characters that Moses or KenLM would take for the end of a token
_CHARACTER_TOKENS = {
    " ": _SPACE,
    _SPACE: _SPACE * 2,
    "\t": _SPACE + "t",
    "\r": _SPACE + "r",
    "\v": _SPACE + "v",
    "\f": _SPACE + "f",
    "\0": _SPACE + "0",
}
_CHARACTERS = {token: character for character, token in _CHARACTER_TOKENS.items()}
_FIRST_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class TextSettings:
    """The conversion of the text of one language to tokens.

    The defaults are those of a system whose ``text.json`` does not have the key.

    Args:
        language: The ISO 639 code of the language, which determines how abbreviations and
            apostrophes are treated; needed only to tokenise.
        tokenize: Whether words and punctuation are separated; if not, the text must be tokenised
            already.
        lowercase: Whether the text is lower-cased.
        escape: Whether the characters that Moses would take for markup are written as entities.
        characters: Whether every character is a token; then ``tokenize`` must be false.
        tokenizer: ``moses`` for the tokens of Moses's ``tokenizer.perl``, which cuts words at many
            combining marks; ``unicode`` for the same tokens without these cuts.
        form: The Unicode normal form of the tokens; ``None`` to normalise nothing.

    Raises:
        SettingsError: Both characters and tokenising are requested.
    """

    language: str | None = None
    tokenize: bool = True
    lowercase: bool = False
    escape: bool = True
    characters: bool = False
    tokenizer: TokenizerName = "moses"
    form: Literal["NFC"] | None = None

    def __post_init__(self) -> None:
        if self.characters and self.tokenize:
            raise SettingsError("tokens can be words or characters, but both were requested")


@dataclass(frozen=True)
class SystemText:
    """The text settings of both sides of a system."""

    source: TextSettings
    target: TextSettings


def write_settings(folder: str | Path, text: SystemText) -> None:
    """Write the text settings of a system to its folder."""
    write_json(Path(folder) / SETTINGS_FILE, dataclasses.asdict(text))


def read_settings(system: str | Path) -> SystemText:
    """Read the text settings of a system.

    Args:
        system: The folder of the system, or a file in it such as the moses.ini.

    Raises:
        InputError: The folder has no ``text.json``.
        SettingsError: ``text.json`` is damaged.
    """
    folder = Path(system)
    path = (folder if folder.is_dir() else folder.parent) / SETTINGS_FILE
    try:
        values = read_object(path)
    except FileNotFoundError:
        raise InputError(
            f"no {SETTINGS_FILE}, so it is not known how the text of this system was prepared",
            path=folder,
            remedy="name the folder that phrasescore build made, or give --language",
        ) from None
    except (ValueError, OSError) as error:
        raise InputError(
            f"the file is not valid JSON ({error})", path=path, remedy="build the system again"
        ) from None
    return from_mapping(SystemText, values, where=str(path))


def escape(text: str) -> str:
    """Write the characters that Moses would take for markup as entities.

    >>> escape("a|b & [c]")
    'a&#124;b &amp; &#91;c&#93;'
    """
    for character, entity in _ESCAPES:
        text = text.replace(character, entity)
    return text


def unescape(text: str) -> str:
    """Undo ``escape``; entities of old versions of Moses are replaced, too.

    >>> unescape("l&apos; &amp;apos;")
    "l' &apos;"
    """
    for character, entity in (*_OLD_ESCAPES, *reversed(_ESCAPES)):
        text = text.replace(entity, character)
    return text


class Preprocessor:
    """Turns lines of raw text into lines of tokens.

    Args:
        settings: The conversion to apply.

    Raises:
        SettingsError: The language is missing or not a code.
    """

    def __init__(self, settings: TextSettings) -> None:
        self._settings = settings
        if settings.tokenize:
            language = check_language(settings.language)
            self._tokenizer = Tokenizer(language, keeps_words=settings.tokenizer == "unicode")

    def __call__(self, line: str) -> str:
        """Return the tokens of one line with one space between them."""
        if self._settings.form is not None:
            line = unicodedata.normalize(self._settings.form, line)
        if self._settings.tokenize:
            text = " ".join(self._tokenizer(line))
        elif self._settings.characters:
            text = line
        else:
            text = " ".join(filter(None, _ASCII_BLANKS.split(line)))
        if self._settings.lowercase:
            text = text.lower()
        if self._settings.characters:
            text = " ".join(_CHARACTER_TOKENS.get(character, character) for character in text)
        return escape(text) if self._settings.escape else text


class Postprocessor:
    """Turns lines of tokens, as a decoder prints them, into readable text.

    Args:
        settings: The settings with which the text was prepared; tokenising and escaping are undone.
        capitalize: Whether to capitalise the first letter of every line.

    Raises:
        SettingsError: The language is not a code.
    """

    def __init__(self, settings: TextSettings, *, capitalize: bool = False) -> None:
        self._settings, self._capitalize = settings, capitalize
        if settings.tokenize:
            self._detokenizer = Detokenizer(check_language(settings.language))

    def __call__(self, line: str) -> str:
        """Return the text of one line of tokens."""
        tokens = [token for token in _ASCII_BLANKS.split(line) if token]
        if self._settings.escape:
            tokens = [unescape(token) for token in tokens]
        if self._settings.characters:
            text = "".join(_CHARACTERS.get(token, token) for token in tokens)
        else:
            text = self._detokenizer(tokens) if self._settings.tokenize else " ".join(tokens)
        if self._capitalize and (first := _FIRST_LETTER.search(text)):
            text = text[: first.start()] + first[0].title() + text[first.end() :]
        return text


def read_text(path: str | Path) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file, plain or gzip, or of ``-``; lines end only at ``\n``.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line is not UTF-8; the error names the line.
    """
    for number, line in enumerate(read_lines(path), 1):
        text = decode_line(line, path, number)
        yield text.removeprefix("\ufeff") if number == 1 else text


def decode_line(line: bytes, path: str | Path, number: int) -> str:
    """Decode a line of UTF-8.

    Raises:
        CorpusError: The line is not UTF-8.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"not UTF-8 at byte {error.start + 1} of the line",
            path=path,
            line=number,
            remedy="convert the text, e.g. iconv -f latin1 -t utf-8",
        ) from None
