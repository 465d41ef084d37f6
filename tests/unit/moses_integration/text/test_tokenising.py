"""Tokens of text in every script: no word is cut inside a character with its marks."""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.text.preparation import Postprocessor, Preprocessor, TextSettings, read_text
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
        ("chq", "guɨ˜ séˆ, ma˥˩ a.", "guɨ˜ séˆ , ma˥˩ a ."),
        ("hy", "Ինչո՞ւ, կ՚ասես՝ այո՛։", "Ինչո՞ւ , կ՚ասես ՝ այո՛ ։"),
        ("en", "a\u0300, (\u0301b) \u2764\ufe0f \U0001f469\u200d\U0001f4bb!",
         "a\u0300 , (\u0301 b ) \u2764\ufe0f \U0001f469\u200d\U0001f4bb !"),
        ("en", "DOTMULTI D\u0301OTMULTI...", "DOTMULTI D\u0301OTMULTI ..."),
    ],
)  # fmt: skip
def test_words_keep_their_marks(language: str, text: str, tokens: str) -> None:
    """Marks, joiners, tones and other signs stay with their letter; punctuation is separated."""
    assert " ".join(Tokenizer(language, keeps_words=True)(text)) == tokens


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("luo", "Bang' mano mang'eny.", "Bang' mano mang'eny ."),
        ("luo", "'Pentagon', Ochieng’ ma ‘Jo’s’", "' Pentagon ' , Ochieng’ ma ‘ Jo ’s ’"),
        ("hau", "'Yan sanda da ‘'yan'uwa’", "'Yan sanda da ‘ 'yan'uwa ’"),
        ("bbj", "pʉ̀’ e’ 5' ''Jo'' x", "pʉ̀’ e’ 5 ' ' ' Jo ' ' x"),
        ("tar", "e´nérisa, 5´ re´", "e´nérisa , 5 ´ re ´"),
        ("hch", "m+k+ wa+ka +xa, 1+1 (4 + 5)", "m+k+ wa+ka +xa , 1 + 1 ( 4 + 5 )"),
        ("maz", "tsa³¹jña² H₂O, 5 m² ².", "tsa³¹jña² H₂O , 5 m² ² ."),
        ("mam", "t‑xel‑a, a‐b ‐ c‑.", "t‑xel‑a , a‐b ‐ c ‑ ."),
        ("en", "the boys' books", "the boys ' books"),
        ("en", "(https://x.org/?a=b_c).", "( https://x.org/?a=b_c ) ."),
        ("luo", "me@x.org, @s_hub's", "me@x.org , @s_hub 's"),
    ],
)  # fmt: skip
def test_words_keep_their_apostrophes(language: str, text: str, tokens: str) -> None:
    """Where there are no rules, an apostrophe beside a letter stays, unless it is a quote."""
    text, tokens = (unicodedata.normalize("NFC", each) for each in (text, tokens))
    settings = TextSettings(language, tokenizer="unicode", escape=False, apostrophes=True)
    assert Preprocessor(settings)(text) == tokens
    cut = " ".join(Tokenizer(language, keeps_words=False)(text))
    assert Preprocessor(replace(settings, tokenizer="moses"))(text) == cut


def test_words_may_begin_with_an_apostrophe() -> None:
    """Only the English 's, a token of its own, is joined to the word before."""
    tokens = "Ua 'ōlelo 'o Keola ’sa , Kalu 's 'yan"
    joined = Detokenizer("haw", apostrophes=True)(tokens.split())
    assert joined == "Ua 'ōlelo 'o Keola ’sa, Kalu's 'yan"


def test_a_blank_before_a_mark_is_misplaced() -> None:
    """A mark after a blank goes to the word before; at the beginning it stays with the next."""
    cut = Tokenizer("yo", keeps_words=True)
    tokens = cut("\u1eccr\u1ecd \u0300\u00ecr\u00e1nt\u00ed")
    assert tokens == ["\u1eccr\u1ecd\u0300", "\u00ecr\u00e1nt\u00ed"]
    assert cut(" \u0301\u00e0w\u1ecdn") == ["\u0301\u00e0w\u1ecdn"]
    prepare = Preprocessor(TextSettings("yo", tokenizer="unicode", form="NFC"))
    assert prepare("o \u0301l\u1ecd") == "\u00f3 l\u1ecd"


def test_abbreviations_with_marks_are_recognised() -> None:
    """An abbreviation of the language keeps its full stop, though it has a mark."""
    assert Tokenizer("hi", keeps_words=True)("डॉ. राम")[0] == "डॉ."
    assert Tokenizer("hi", keeps_words=False)("डॉ. राम")[0] == "डॉ."


def test_languages_without_rules_are_named() -> None:
    """A language without a list of abbreviations gets a note, and one without blanks, too."""
    rules, blanks = language_notes(["ta", "ja", "yo", "en"])
    assert "no rules for yo: it uses the abbreviations of English" in rules
    assert blanks == (
        "text in ja has no blanks between words: use a segmenter first, unless that is done"
    )


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
    """Without marks, joiners, signs of letters and addresses both tokenisers agree."""
    known = re.compile(
        r"@|[^\x1c-\x1f\0-\u024f\u0370-\u03ff\u0400-\u052f\u2010-\u2027\u20a0-\u20bf]"
    )
    line = known.sub("", line)
    tokens, other = (Tokenizer(language, keeps_words=keeps)(line) for keeps in (True, False))
    assert tokens == other


@given(_any_line | _words, st.sampled_from(LANGUAGES))
def test_postprocessing_gives_the_text_back(line: str, language: str) -> None:
    """Only the Unicode form, blanks and control characters are lost."""
    settings = TextSettings(language, tokenizer="unicode", form="NFC", apostrophes=True)
    back = Postprocessor(settings)(Preprocessor(settings)(line))
    assert _CONTROLS.sub("", back) == unicodedata.normalize("NFC", _CONTROLS.sub("", line))


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "It's 8:35pm @NCDCgov, isn't it? (\"So?\")"),
        ("en", "He said “so” and ‘so’ and it’s Nigeria’s; ‘it’s Bello’s’, she said."),
        ("en", "The boys’ books, it’s James’s, rock’n’roll."),
        ("en", "''Two'' quotes at a.b@c.org and https://x.org/a_b."),
        ("en", 'The war is over."'),
        ("en", "See https://x.org/d/?a=1&b=(2). By @s_hub: www.x.org/a_b! Http://x."),
        ("fr", "L'art d'aujourd'hui, c'est « beau » ! Qu’est-ce que l’été ?"),
        ("de", "Er sagte: „Das geht’s nicht“, um 15:30 Uhr, ‚gut‘."),
        ("de", "„Ja“, „nein“, “eins” und “zwei”, »drei« und »vier«, ‘fünf’."),
        ("de", "Er sagte ›ja‹ und ›nein‹, »›so‹ nicht« und ›doch‹."),
        ("lv", 'Viņš teica „jā” un „nē”, ”ak” un ”ko”, «Kungs» un ‘nu’, „tā" un „tā”.'),
        ("lv", "«Paldies, teica viņš. Un: „vēl."),
        ("pl", 'On powiedział „tak” i „nie”, potem „może (a „b, c.”) i „d".'),
        ("cs", "Řekl: „Ano,“ má 3 psy a 2 kočky za 3,50 Kč, e-mail, celkem 5."),
        ("sv", "Han sa ”ja” och gick."),
        ("ca", "L'home d'aquí, 'sí' i «no»."),
        ("ga", "D'éirigh sí, b'fhéidir. Dúirt sé 'covid', agus 'sea' agus d’imigh sé."),
        ("es", "Artículo 3°. Hacía 15°C."),
        ("ru", "Он сказал: «Да», Д’Артаньян."),
        ("uk", "Кам'янець — це м'ято."),
        ("hau", "Ja'afar da 'yan'uwa 'ya'ya al'umma, ‘yan sanda (Suratu 3:26)."),
        ("luo", "Bang' mano, mang'eny mar Ochieng’ ma kende' gi 'Pentagon', ‘Authority’s NWHSA’."),
        ("pcm", "Kalu's team an Nigeria’s 'go' don't."),
        ("yor", f"{YORUBA}’s t'ó, \"f'ọ̀rọ̀.\""),
        ("ig", "N'ụlọ anyị, ọ bụ eziokwu."),
        ("id", "Hari Jum'at, pukul 15.30."),
        ("fon", "Nǔ ɔ́‚ é ɖɔ „mɛ“ ɔ́."),  # ‚ is U+201A, where other texts have a comma
        ("zu", "Uthi 'cha' futhi 'angcwatshwe njengeqhawe' eHarare, u-$500 we-A&E ngo'clock."),
        ("hi", 'उसने कहा, "यह अच्छा है।" डॉ. राम?'),
        ("th", 'เขาพูดว่า "สวัสดี" 5,300 บาท (ห้าพัน)'),
        ("ar", "قال: «نَعَمْ»؛ هل تتكلم العربية، يا علي؟"),
        ("vi", 'Quận 1, TP. Hồ Chí Minh, anh ấy nói "có".'),
        ("zh", "我不知道，但是他说“好”。他用Python写（很快）！"),
        ("zh", "他用（Python）。我、你（都）、他·她——都。"),
        ("tr", "Yüzde yerine %56 ve %5'i, 5%."),
        ("fi", "USA:n ja 20:een: niin."),
        ("ja", "「はい」と彼は言った。これはPythonの本です、たぶん。"),
        ("my", "မြန်မာဘာသာ၊ ကောင်းသည်။"),
        ("am", "ሰላም፣ እንዴት ነህ።"),
        ("am", "ሰላም፡፡ ‹‹እንዴት ነህ›› አለ፡፡"),
        ("hy", "Ինչո՞ւ, կ՚ասես՝ այո՛։ «Ոչ», ասաց։"),
        ("oj", "ᒥᑯ ᐊᓂᔑᓈᐯ᙮ ᐃᑯ᙮"),
        ("shi", "Inna ‹ma›, d «iga ‹wa d ta›»."),
        ("nhg", "Oquijto, ―tlen? ―¿Canon? ―¡Xiquitta! Mochi ― ijcon."),
        ("es", "—¿Cuándo? Dijo: —¡Ya!"),
    ],
)
def test_usual_text_comes_back_with_its_blanks(language: str, text: str) -> None:
    """Quotes, apostrophes and punctuation of every script stand again where they stood."""
    settings = TextSettings(language, tokenizer="unicode", form="NFC", apostrophes=True)
    text = unicodedata.normalize("NFC", text)
    assert Postprocessor(settings)(Preprocessor(settings)(text)) == text


@pytest.mark.parametrize(
    ("language", "name", "lines"),
    [("en", "en-hau/dev.en", 290), ("hau", "en-hau/dev.hau", 294), ("en", "en-yor/dev.en", 288),
     ("yor", "en-yor/dev.yor", 220), ("en", "en-id/dev.en", 0), ("id", "en-id/dev.id", 0)],
)  # fmt: skip
def test_field_text_comes_back(field: Path, language: str, name: str, lines: int) -> None:
    """Of 300 lines all come back up to blanks and quotes, but for marks after a blank.

    As many as given come back with their blanks, too; texts that were tokenised before do not.
    """
    settings = TextSettings(language, tokenizer="unicode", form="NFC", apostrophes=True)
    prepare, restore = Preprocessor(settings), Postprocessor(settings)
    same = 0
    for line in itertools.islice(read_text(field / f"{name}.gz"), 300):
        text = unicodedata.normalize(
            "NFC", re.sub(r"(?<=\S)(\s+)([\u0300-\u036f]+)", r"\2\1", line)
        )
        back = restore(prepare(line))
        assert back.replace(" ", "") == _CONTROLS.sub("", text)
        same += back == " ".join(text.split())
    assert same >= lines


def test_a_currency_sign_after_its_number() -> None:
    """The sign stays apart from the word after it, and is joined to a number after it."""
    join = Detokenizer("es")
    assert join(["cuesta", "10,000", "$", "al", "año"]) == "cuesta 10,000 $ al año"
    assert join(["cuesta", "$", "10", ",", "o", "5", "€"]) == "cuesta $10, o 5 €"
