r"""Conversion of raw text to the tokens of a Moses system, and back.

Before translation, text is tokenised, lower-cased or truecased if the system was trained on such
text, and escaped where Moses would see markup. After translation, the escapes are undone and the
tokens are joined, with capitals at the beginning of sentences. The settings of a system are
recorded in ``text.json`` beside its ini, with the models of the truecaser. A model is a file of
Moses's ``train-truecaser.perl``: on each line the forms of a word, the most frequent first, each
with a count in parentheses.

For spelling normalisation, transliteration and similar tasks, every character is a token instead. A
space becomes the token ``▁``. The few characters that Moses could not read as a token, and ``▁``
itself, become ``▁`` and a second character, so that the original text can be restored exactly.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from moses_integration.text.tokenising import Detokenizer, Tokenizer, check_language, has_rules
from phrasescore.closed_settings import from_mapping
from phrasescore.errors import CorpusError, InputError, SettingsError, counted
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import SIDES, Side

SETTINGS_FILE = "text.json"
TRUECASE_MODELS: Mapping[Side, str] = {"source": "truecase.source", "target": "truecase.target"}
ENTITIES = "entities such as &apos;, now escaped once more: was the text prepared before?"
_COLUMNS = "a tab: is this a table of several columns? cut -f1 takes the first"
_ENCODED_TWICE = re.compile("[\xc2\xc3][\x80-\xbf]")
_TWICE = "letters such as \xc3\xa1: was it converted to UTF-8 twice? iconv -t LATIN1 undoes it once"
CASE_LOST = "note: the system is lower-cased, so case is lost; build --case truecase keeps it"
TokenizerName = Literal["unicode", "moses"]
TOKENIZERS: tuple[TokenizerName, ...] = get_args(TokenizerName)

_ENTITIES = "&amp; &#124; &lt; &gt; &apos; &quot; &#91; &#93;"
_ESCAPES = dict(zip("&|<>'\"[]", _ENTITIES.split(" "), strict=True))
_ESCAPING = str.maketrans(_ESCAPES)
# the escapes that Moses wrote before 2012
_OLD_ESCAPES = (("|", "&bar;"), ("[", "&bra;"), ("]", "&ket;"))
_ASCII_BLANKS = re.compile("[ \t\r]+")
_SPACE = "▁"
# characters that Moses or KenLM would take for the end of a token
_SIGNS = {_SPACE: _SPACE, "\t": "t", "\r": "r", "\v": "v", "\f": "f", "\0": "0"}
_CHARACTER_TOKENS = {" ": _SPACE} | {character: _SPACE + sign for character, sign in _SIGNS.items()}
_CHARACTERS = {token: character for character, token in _CHARACTER_TOKENS.items()}
_FIRST_LETTER = re.compile(r"[^\W\d_]")
# the first letter of a word that is no address; an apostrophe, escaped or not, may precede it
_INITIAL = re.compile(r"\A(?!\S*://|\S+@|www\.)(&apos;|['’]|)([^\W\d_])")
# after these tokens a sentence begins
_ENDS = {".", ":", "?", "!"}
_FEWEST_WORDS = 20  # fewer distinct words tell little about the language of a text
_LINES = 10_000  # lines of each side's training text that are read
# Languages share names and numbers. Of 12 languages, the least similar dev set has 48 % of its
# words in the training text; of texts in other languages, all but those of Spanish have under 34 %.
_CLEAR, _FEWEST_KNOWN = 0.2, 0.35
# these tokens may stand before the first word of a sentence
_OPENING = {"(", "[", '"', "'", "&apos;", "&quot;", "&#91;", "&#93;"}
# after these, detruecase.perl would leave a word without its capital
_MORE_OPENING = _OPENING.union("¿¡«‹„“‘-")


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
        truecase: Whether words have their usual case at the beginning of a sentence.
        apostrophes: Whether words keep apostrophes and signs such as + where the tokeniser has no
            rules.

    Raises:
        SettingsError: Two settings exclude each other.
    """

    language: str | None = None
    tokenize: bool = True
    lowercase: bool = False
    escape: bool = True
    characters: bool = False
    tokenizer: TokenizerName = "moses"
    form: Literal["NFC"] | None = None
    truecase: bool = False
    apostrophes: bool = False

    def __post_init__(self) -> None:
        if self.characters and self.tokenize:
            raise SettingsError("tokens can be words or characters, but both were requested")
        if self.truecase and (self.lowercase or self.characters):
            raise SettingsError(
                "only words that are not lower-cased can be truecased",
                remedy="leave out --lowercase, or give --language instead of --system",
            )

    @property
    def keeps_apostrophes(self) -> bool:
        """Whether an apostrophe beside a letter may be a part of the word."""
        keeps = self.tokenizer == "unicode" and self.apostrophes
        return keeps and self.language is not None and not has_rules(self.language)

    @property
    def takes_raw_text(self) -> bool:
        """Whether the system prepares raw text itself; otherwise it needs text in tokens."""
        return self.tokenize or self.characters


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
    path = _folder_of(system) / SETTINGS_FILE
    try:
        values = read_object(path)
    except FileNotFoundError:
        raise InputError(
            f"no {SETTINGS_FILE}, so it is not known how the text of this system was prepared",
            path=system,
            remedy=f"copy {SETTINGS_FILE} from the folder that phrasescore build made (and, if it "
            f"has them, {' and '.join(TRUECASE_MODELS.values())}), or name that folder; if build "
            "is still running there, wait for its end",
        ) from None
    except (ValueError, OSError) as error:
        raise InputError(
            f"the file is not valid JSON ({error})", path=path, remedy="build the system again"
        ) from None
    return from_mapping(SystemText, values, where=str(path))


def _folder_of(system: str | Path) -> Path:
    folder = Path(system)
    return folder if folder.is_dir() else folder.parent


def read_truecaser(
    system: str | Path | None, side: Side, settings: TextSettings
) -> Truecaser | None:
    """Read the truecaser of one side of a system, or return ``None`` if the side has none.

    Raises:
        InputError: The folder has no such model.
    """
    if system is None or not settings.truecase:
        return None
    path = _folder_of(system) / TRUECASE_MODELS[side]
    if not path.exists():
        problem, remedy = "no such file", "copy it from the folder that phrasescore build made"
        raise InputError(problem, path=path, remedy=remedy)
    return Truecaser(read_text(path))


def carry_settings(system: str | Path, folder: str | Path) -> None:
    """Copy the text settings of a system, if it has any, to the folder of another ini of it.

    Raises:
        SettingsError: The folder has the text settings of another system.
    """
    # the settings come last, because they need the models
    for name in (*TRUECASE_MODELS.values(), SETTINGS_FILE):
        original, copy = _folder_of(system) / name, Path(folder) / name
        if not original.is_file():
            continue
        if not copy.exists():
            write_atomically(copy, original.read_bytes())
        elif copy.read_bytes() != original.read_bytes():
            remedy = "delete it, or write the ini to another folder"
            raise SettingsError("this file belongs to another system", path=copy, remedy=remedy)


def escape(text: str) -> str:
    """Write the characters that Moses would take for markup as entities.

    >>> escape("a|b & [c]")
    'a&#124;b &amp; &#91;c&#93;'
    """
    return text.translate(_ESCAPING)


def unescape(text: str) -> str:
    """Undo ``escape``; entities of old versions of Moses are replaced, too.

    >>> unescape("l&apos; &amp;apos;")
    "l' &apos;"
    """
    for character, entity in (*_OLD_ESCAPES, *reversed(_ESCAPES.items())):
        text = text.replace(entity, character)
    return text


def has_entities(line: str) -> bool:
    """Tell whether a line has an entity that `escape` would escape once more."""
    return "&" in line and unescape(line) != line


class Truecaser:
    """Gives words their usual case.

    Args:
        lines: The lines of a model.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        forms = [line.split(" ")[::2] for line in lines]
        self._best = {each[0].lower(): each[0] for each in forms}
        self._known = {form for each in forms for form in each}

    def __call__(self, tokens: Iterable[str]) -> list[str]:
        """Return tokens with the usual case at sentence beginnings and in words of unknown form."""
        return [
            token if token in self._known and not begins else self._best.get(token.lower(), token)
            for token, begins in _sentence_beginnings(tokens)
        ]


def _sentence_beginnings(
    tokens: Iterable[str], opening: Container[str] = _OPENING
) -> Iterator[tuple[str, bool]]:
    """Yield each token, and whether a sentence begins with it."""
    begins = True
    for token in tokens:
        yield token, begins
        begins = token in _ENDS or (begins and token in opening)


def capitalized_sentences(tokens: Iterable[str]) -> list[str]:
    """Return tokens with a capital at the beginning of each sentence."""
    return [
        _INITIAL.sub(lambda found: found[1] + found[2].title(), token) if begins else token
        for token, begins in _sentence_beginnings(tokens, _MORE_OPENING)
    ]


def learn_case(lines: Iterable[str]) -> list[str]:
    """Return the lines of a model: how words are written inside sentences."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        before = "."
        # as in Moses, quotes and brackets are passed over only at the beginning of a line
        for token in itertools.dropwhile(_OPENING.__contains__, line.split(" ")):
            lower = token.lower()
            if before not in _ENDS and lower != token.upper():
                counts[lower][token] += 1
            before = token
    model = []
    for forms in counts.values():
        (best, count), *others = forms.most_common()
        rest = (f" {form} ({number})" for form, number in others)
        model.append(f"{best} ({count}/{forms.total()}){''.join(rest)}")
    return model


class Preprocessor:
    """Turns lines of raw text into lines of tokens.

    Args:
        settings: The conversion to apply.
        truecase: The truecaser of the system, if the settings have one.

    Raises:
        SettingsError: The language is missing or not a code.
    """

    def __init__(self, settings: TextSettings, truecase: Truecaser | None = None) -> None:
        self._settings, self._truecase = settings, truecase
        self._suspect = Counter[str]()  # for each reason, how many lines raise it
        if settings.tokenize:
            language = check_language(settings.language)
            keeps, apostrophes = settings.tokenizer == "unicode", settings.keeps_apostrophes
            self._tokenizer = Tokenizer(language, keeps_words=keeps, apostrophes=apostrophes)

    def __call__(self, line: str) -> str:
        """Return the tokens of one line with one space between them."""
        self._suspect[ENTITIES] += self._settings.escape and has_entities(line)
        self._suspect[_COLUMNS] += "\t" in line
        self._suspect[_TWICE] += _ENCODED_TWICE.search(line) is not None
        line = self._normal(line)
        if self._settings.tokenize:
            # a mark that the tokeniser brings to its letter may become one character with it
            text = self._normal(" ".join(self._tokenizer(line)))
        elif self._settings.characters:
            text = line
        else:
            text = " ".join(filter(None, _ASCII_BLANKS.split(line)))
        if self._settings.lowercase:
            text = text.lower()
        if self._settings.characters:
            text = " ".join(_CHARACTER_TOKENS.get(character, character) for character in text)
        text = escape(text) if self._settings.escape else text
        return " ".join(self._truecase(text.split(" "))) if self._truecase else text

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning of each kind of suspicious line."""
        found = ((what, number) for what, number in self._suspect.items() if number)
        return tuple(f"warning: {counted(number, 'line')} with {what}" for what, number in found)

    def _normal(self, text: str) -> str:
        form = self._settings.form
        return unicodedata.normalize(form, text) if form is not None else text


def preprocessor_of(system: str | Path | None, side: Side, settings: TextSettings) -> Preprocessor:
    """Return the preprocessor of one side of a system, with its truecaser; see `read_truecaser`."""
    return Preprocessor(settings, read_truecaser(system, side, settings))


class Postprocessor:
    """Turns lines of tokens, as a decoder prints them, into readable text.

    Args:
        settings: The settings with which the text was prepared; tokenising, escaping and truecasing
            are undone.
        capitalize: Whether to capitalise the first letter of every line.

    Raises:
        SettingsError: The language is not a code.
    """

    def __init__(self, settings: TextSettings, *, capitalize: bool = False) -> None:
        self.settings, self._capitalize = settings, capitalize
        if settings.tokenize:
            language, apostrophes = check_language(settings.language), settings.keeps_apostrophes
            self._detokenizer = Detokenizer(language, apostrophes=apostrophes)

    def __call__(self, line: str) -> str:
        """Return the text of one line of tokens."""
        tokens = [token for token in _ASCII_BLANKS.split(line) if token]
        if self.settings.truecase:
            tokens = capitalized_sentences(tokens)
        if self.settings.escape:
            tokens = [unescape(token) for token in tokens]
        if self.settings.characters:
            text = "".join(_CHARACTERS.get(token, token) for token in tokens)
        else:
            text = self._detokenizer(tokens) if self.settings.tokenize else " ".join(tokens)
        if self._capitalize:
            text = _FIRST_LETTER.sub(lambda letter: letter[0].title(), text, count=1)
        return text


def wrong_language(system: str | Path | None, side: Side, words: Counter[str]) -> str:
    """Return a question to the user if a text seems to be in another language, otherwise "".

    Args:
        system: The folder of a system. Without it, or without its training text in it, nothing is
            asked.
        side: The side of the system to which the text is said to belong.
        words: The counts of the words of the text, or of its first lines.
    """
    if system is None or len(words) < _FEWEST_WORDS:
        return ""
    sides = side, SIDES[1 - SIDES.index(side)]
    corpora = [Path(system, f"corpus.{each}.gz") for each in sides]
    if not all(map(Path.exists, corpora)):
        return ""
    shares = []
    for corpus in corpora:
        lines = itertools.islice(read_text(corpus), _LINES)
        known = {word for line in lines for word in line.split(" ")}
        shares.append(sum(words[word] for word in words.keys() & known) / words.total())
    own, other = shares
    if other > own + _CLEAR:
        asked = f"is it text of the {sides[1]} side?"
    elif own < _FEWEST_KNOWN:
        asked = "is it in the right language?"
    else:
        return ""
    return (
        f"{system} has {own:.0%} of this text's words on its {side} side, and {other:.0%} on its "
        f"{sides[1]} side: {asked}"
    )


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
        problem = f"not UTF-8 at byte {error.start + 1} of the line"
        remedy = "convert the text from its encoding, e.g. latin1: iconv -f ENCODING -t utf-8"
        raise CorpusError(problem, path=path, line=number, remedy=remedy) from None
