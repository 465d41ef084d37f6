"""Tokens of text in every script: no word is cut inside a character with its marks."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.text.preparation import Postprocessor, Preprocessor, TextSettings
from moses_integration.text.tokenising import Detokenizer, Tokenizer, language_notes

LANGUAGES = ["en", "fr", "de", "cs", "hau", "yor", "id", "hi", "th", "ar", "vi", "zh", "ja"]
YORUBA = "\u00ccf\u1ecd\u0300r\u1ecd\u0300w\u1ecd\u0301r\u1ecd\u0300"


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("yo", f"{YORUBA}, \u1ecdj\u1ecd\u0301.", f"{YORUBA} , \u1ecdj\u1ecd\u0301 ."),
        ("vi", unicodedata.normalize("NFD", "Tiếng Việt!"), "Tie\u0302\u0301ng Vie\u0323\u0302t !"),
        ("hi", "क़लम और किताब, हिन्दी।", "क़लम और किताब , हिन्दी ।"),
        ("th", "ภาษาไทยน้ำ", "ภาษาไทยน้ำ"),
        ("my", "မြန်မာဘာသာ။", "မြန်မာဘာသာ ။"),
        ("ar", "اَلْعَرَبِيَّةُ، جميلة.", "اَلْعَرَبِيَّةُ ، جميلة ."),
        ("fa", "می\u200cخواهم بروم.", "می\u200cخواهم بروم ."),
        ("haw", "Hawaiʻi (ʻOkina)", "Hawaiʻi ( ʻOkina )"),
        ("ff", "𞤀𞤣𞤤𞤢𞤥 𞤆𞤵𞤤𞤢𞤪\U0001e944.", "𞤀𞤣𞤤𞤢𞤥 𞤆𞤵𞤤𞤢𞤪\U0001e944 ."),
        ("en", "a\u0300, (\u0301b) \u2764\ufe0f \U0001f469\u200d\U0001f4bb!",
         "a\u0300 , (\u0301 b ) \u2764\ufe0f \U0001f469\u200d\U0001f4bb !"),
        ("en", "DOTMULTI D\u0301OTMULTI...", "DOTMULTI D\u0301OTMULTI ..."),
    ],
)  # fmt: skip
def test_words_keep_their_marks(language: str, text: str, tokens: str) -> None:
    """Marks, joiners and modifier letters stay with their letter; punctuation is separated."""
    assert " ".join(Tokenizer(language, keeps_words=True)(text)) == tokens


def test_a_blank_before_a_mark_is_misplaced() -> None:
    """A mark after a blank goes to the word before; at the beginning it stays with the next."""
    cut = Tokenizer("yo", keeps_words=True)
    assert cut("\u1eccr\u1ecd \u0300\u00ecr\u00e1nt\u00ed") == [
        "\u1eccr\u1ecd\u0300",
        "\u00ecr\u00e1nt\u00ed",
    ]
    assert cut(" \u0301\u00e0w\u1ecdn") == ["\u0301\u00e0w\u1ecdn"]


def test_abbreviations_with_marks_are_recognised() -> None:
    """An abbreviation of the language keeps its full stop, though it has a mark."""
    assert Tokenizer("hi", keeps_words=True)("डॉ. राम")[0] == "डॉ."
    assert Tokenizer("hi", keeps_words=False)("डॉ. राम")[0] == "डॉ."


def test_languages_without_rules_are_named() -> None:
    """A language without a list of abbreviations gets a note on what is used instead."""
    (note,) = language_notes(["ta", "ja", "yo", "en"])
    assert "no rules for yo: it takes English abbreviations" in note


# characters of every script: letters, marks, digits, punctuation, symbols, blanks, joiners
_any_line = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs", "Cn"]))
_words = st.lists(
    st.sampled_from(
        [
            *"abÀđ'.,-?!\"(«’“5 \xa0।。ー々ʼ漢カकนم",
            *"\u0300\u0323\u093c\u094d\u0e49\u064e\u200c\u200d\U0001f469",
            *("...", "DOTMULTI", "l'", "Mr."),
        ]
    )
).map("".join)
_CONTROLS = re.compile(r"[\0-\x1f\s]")


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or character in "\u200c\u200d"


@given(_any_line | _words, st.sampled_from(LANGUAGES))
def test_tokens_have_all_characters(line: str, language: str) -> None:
    """Tokens have all characters in their order, except blanks and controls before marks."""
    tokens = Tokenizer(language, keeps_words=True)(line)
    expected = _CONTROLS.sub("", line)
    assert "".join(tokens) == expected
    assert not any(_is_mark(token[0]) for token in tokens[1:])


@given(_any_line, st.sampled_from(LANGUAGES))
def test_text_without_marks_has_equal_tokens_with_both_tokenisers(line: str, language: str) -> None:
    """Without marks, joiners and modifier letters both tokenisers agree."""
    known = re.compile(r"[^\x1c-\x1f\0-\u024f\u0370-\u03ff\u0400-\u052f\u2010-\u2027\u20a0-\u20bf]")
    line = known.sub("", line)
    assert Tokenizer(language, keeps_words=True)(line) == Tokenizer(language, keeps_words=False)(
        line
    )


@given(_any_line | _words, st.sampled_from(LANGUAGES))
def test_postprocessing_gives_the_text_back(line: str, language: str) -> None:
    """Only the Unicode form, blanks and control characters are lost."""
    settings = TextSettings(language, tokenizer="unicode", form="NFC")
    back = Postprocessor(settings)(Preprocessor(settings)(line))
    assert _CONTROLS.sub("", back) == _CONTROLS.sub("", unicodedata.normalize("NFC", line))


def test_detokenising_joins_marks() -> None:
    """Punctuation is attached whatever the script."""
    assert Detokenizer("yo")([YORUBA, ",", "o", "."]) == f"{YORUBA}, o."
