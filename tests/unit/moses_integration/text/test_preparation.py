"""Tokenising and detokenising text like Moses, line by line."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.text.preparation import (
    TOKENIZERS,
    Postprocessor,
    Preprocessor,
    SystemText,
    TextSettings,
    TokenizerName,
    carry_settings,
    check_language,
    escape,
    read_settings,
    read_text,
    read_truecaser,
    unescape,
    write_settings,
)
from phrasescore.errors import CorpusError, InputError, SettingsError

# (language, text, output of tokenizer.perl -q -l LANGUAGE of mosesdecoder 34452895f)
MOSES_TOKENS = [
    ("en", "Mr. Smith vs. the U.S.A.", "Mr. Smith vs. the U.S.A ."),
    ("de", "Mr. Smith vs. the U.S.A.", "Mr. Smith vs. the U.S.A ."),
    ("fr", "Mr. Smith vs. the U.S.A.", "Mr . Smith vs. the U.S.A ."),
    ("en", 'He said: "It\'s 5,300 (at 9 a.m.)."',
     "He said : &quot; It &apos;s 5,300 ( at 9 a.m. ) . &quot;"),
    ("en", "The dogs' 1990's hits... and so on.",
     "The dogs &apos; 1990 &apos;s hits ... and so on ."),
    ("en", "No. 5 is [x|y] <b> & c_d-e/f",
     "No. 5 is &#91; x &#124; y &#93; &lt; b &gt; &amp; c _ d-e / f"),
    ("en", "A,B,C cost $5.00, or 3%!?", "A , B , C cost $ 5.00 , or 3 % ! ?"),
    # letters and marks that sacremoses does not know
    ("ka", "\u1c92\u1c90 \u10e5\u10d0, \u1c90.", "\u1c92\u1c90 \u10e5\u10d0 , \u1c90 ."),
    ("gu", "\u0a9f\u0afc\u0aa6 \u0a95\u0afa\u0aa3", "\u0a9f\u0afc\u0aa6 \u0a95\u0afa\u0aa3"),
    ("si", "\u0d9d\u0d81\u0d86", "\u0d9d\u0d81\u0d86"),
    ("en", "\u0560\u0588 x\U00010400\U0001e900y", "\u0560\u0588 x\U00010400\U0001e900y"),
    ("en", "he said 'so.'", "he said &apos; so . &apos;"),
    ("fr", "«L'art d'aujourd'hui», p. ex. l'été etc.",
     "« L&apos; art d&apos; aujourd&apos; hui » , p. ex. l&apos; été etc ."),
    ("fi", "EU:n 20:een, S:t: a:B", "EU:n 20:een , S:t : a : B"),
    ("sv", "USA:s 5:e (:n)", "USA:s 5:e ( :n )"),
    ("en", "a\xa0b\u2028c\x85d\x0be\x1cf\x00g", "a b c d efg"),
    ("en", "  \t ", ""),
    ("en", "", ""),
    ("en", ".", "."),
    ("en", "...", "..."),
]  # fmt: skip


def test_a_space_without_width_is_no_word() -> None:
    """Moses makes a word of it, which translations would have between two blanks."""
    for tokenizer, tokens in (("unicode", "a b c ."), ("moses", "a \u200b b \u200b c .")):
        assert Preprocessor(TextSettings("en", tokenizer=tokenizer))("a\u200bb \u200b c.") == tokens


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize(("language", "text", "tokens"), MOSES_TOKENS)
def test_tokens_are_those_of_moses(
    language: str, text: str, tokens: str, tokenizer: TokenizerName
) -> None:
    """Tokens equal Moses's, also for a final full stop and non-ASCII spaces."""
    assert Preprocessor(TextSettings(language, tokenizer=tokenizer))(text) == tokens


@pytest.mark.moses
def test_tokens_of_random_text_are_those_of_moses(moses_bin: Path) -> None:
    """Tokens equal those of the script on random text of characters and words in its rules."""
    import random

    rng = random.Random(5)
    pieces = [*"abcABCéÉß0129''..,,--`\"!?:;()[]<>&|%$€@#/_~ \t\xa0\u2028«»’…–°²½ж", "Mr.", "No. ",
              "U.S.", "a.m.", "l'", "don't", "1990's", "5,300", "z.B.", "a@b.org"]  # fmt: skip
    lines = ["".join(rng.choices(pieces, k=rng.randint(1, 30))) for _ in range(2000)]
    for language in ("en", "fr", "de"):
        prepare, other = (
            Preprocessor(TextSettings(language, tokenizer=name)) for name in TOKENIZERS
        )
        for line, tokens in zip(lines, _tokens_of_moses(moses_bin, language, lines), strict=True):
            assert other(line).split() == tokens, line
            if "@" not in line:  # `unicode` keeps addresses whole
                assert prepare(line).split() == tokens, line


@pytest.mark.moses
@pytest.mark.parametrize("language", ["hi", "ta", "km", "yor", "vi", "fa"])
def test_moses_cuts_words_at_marks(moses_bin: Path, language: str) -> None:
    """The tokeniser ``moses`` cuts at the same marks as the script, also at viramas and nuktas."""
    lines = [
        "\u12eb\u135f\u12d2\u1361",
        "क़लम मैं हिन्दी बोलता हूँ। डॉ. राम", "தமிழ்நாடு (க்\u200cஷ)", "ខ្ញុំទៅផ្សារ។",
        "Ìfo\u0323\u0300ro\u0323\u0300, n\u0301", "Tie\u0302\u0301ng Vie\u0323\u0302t!",
        "می\u200cخواهم بَروم؟", "กฺข ʻOkina",
    ]  # fmt: skip
    prepare = Preprocessor(TextSettings(language, tokenizer="moses"))
    assert [prepare(line).split() for line in lines] == _tokens_of_moses(moses_bin, language, lines)


def _tokens_of_moses(moses_bin: Path, language: str, lines: list[str]) -> list[list[str]]:
    script = moses_bin.parent / "scripts" / "tokenizer" / "tokenizer.perl"
    done = subprocess.run(
        ["perl", script, "-q", "-l", language],
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        check=True,
    )
    return [line.split() for line in done.stdout.decode().split("\n")[:-1]]


def test_lowercase_follows_tokenising() -> None:
    """Text is lower-cased after tokenising, so that abbreviations are still recognised."""
    settings = TextSettings("en", lowercase=True)
    assert Preprocessor(settings)("Dr. WHO & É. No. 5") == "dr. who &amp; é . no. 5"


def test_text_that_is_tokenised_keeps_its_tokens() -> None:
    """Only runs of ASCII blanks are shortened; for Moses other spaces are part of a token."""
    prepare = Preprocessor(TextSettings(tokenize=False))
    assert prepare(" a\t \tb. 5\xa0000 c\u2028d  [e]\r") == "a b. 5\xa0000 c\u2028d &#91;e&#93;"


def test_escaping_can_be_left_out() -> None:
    """Escaping can be switched off, for systems that were built without it."""
    assert Preprocessor(TextSettings("fr", escape=False))("l'a[b]") == "l' a [ b ]"


@pytest.mark.parametrize(
    ("language", "tokens", "text"),
    [
        ("en", "He said : &quot; It &apos;s so ! &quot; ", 'He said: "It\'s so!"'),
        ("fr", "l&apos; art d&apos; aujourd&apos; hui , non ?", "l'art d'aujourd'hui, non ?"),
        ("en", "a &#124; b &#91; c &#93; &lt; d &amp; amp ;", "a | b [c] < d & amp;"),
        ("en", "&bar; &bra; &ket;", "| []"),
        ("en", "", ""),
        ("en", "5\xa0000 a\u2028b .", "5\xa0000 a\u2028b."),
    ],
)
def test_postprocessing_undoes_it(language: str, tokens: str, text: str) -> None:
    """Punctuation is attached to its word; unusual spaces inside tokens are kept."""
    assert Postprocessor(TextSettings(language))(tokens) == text


def test_postprocessing_can_leave_tokens_apart() -> None:
    """Tokens stay apart if preprocess did not tokenise."""
    post = Postprocessor(TextSettings(tokenize=False, escape=False))
    assert post("a ,  b &amp; c ") == "a , b &amp; c"


@pytest.mark.parametrize(
    ("text", "capital"),
    [
        ("&quot; été .", '"Été.'),
        ("5 a b", "5 A b"),
        ("ŀl", "Ŀl"),
        ("ßa", "Ssa"),
        ("1 , 2", "1, 2"),
        ("_ a", "_ A"),
    ],
)
def test_the_first_letter_becomes_a_capital(text: str, capital: str) -> None:
    """The first letter becomes a capital, whatever precedes it."""
    assert Postprocessor(TextSettings("en"), capitalize=True)(text) == capital


_line = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))


@given(_line)
def test_escapes_can_always_be_undone(text: str) -> None:
    """Escapes can be undone, even if the text itself looks like an escape."""
    assert unescape(escape(text)) == text
    assert not set(escape(text)) & set("|<>'\"[]")


@given(_line, st.sampled_from(["en", "fr", "de", "ru"]), st.booleans())
def test_every_line_stays_one_line_of_single_spaced_tokens(
    text: str, language: str, lowercase: bool
) -> None:
    """For any input, output has no line feed and only single spaces between tokens."""
    tokens = Preprocessor(TextSettings(language, lowercase=lowercase))(text)
    assert tokens == " ".join(tokens.split())
    back = Postprocessor(TextSettings(language), capitalize=True)(tokens)
    assert "\n" not in back


@given(st.lists(st.text("ab,.5é\xa0\u2028\x85\u3000\U000f0000", min_size=1), max_size=5))
def test_detokenising_changes_no_character_of_a_token(tokens: list[str]) -> None:
    """Only ASCII spaces change; all other characters keep their order."""
    text = Postprocessor(TextSettings("en"))(" ".join(tokens))
    assert text.replace(" ", "") == "".join(tokens)


def test_settings_are_recorded_beside_a_system(tmp_path: Path) -> None:
    """Settings are found from the folder of a system, and from a file in it."""
    text = SystemText(TextSettings("en"), TextSettings("fr", lowercase=True, escape=False))
    write_settings(tmp_path, text)
    assert read_settings(tmp_path) == text
    assert read_settings(tmp_path / "moses.ini") == text
    assert json.loads((tmp_path / "text.json").read_bytes())["target"]["language"] == "fr"


def test_a_record_without_a_tokeniser_means_moses(tmp_path: Path) -> None:
    """Systems built before the choice have Moses's tokens, and no Unicode form."""
    (tmp_path / "text.json").write_text('{"source": {"language": "en"}, "target": {}}')
    text = read_settings(tmp_path)
    assert (text.source.tokenizer, text.source.form) == ("moses", None)
    assert Preprocessor(text.source)("e\u0301.") == "e \u0301 ."


def test_settings_are_carried_to_another_ini(tmp_path: Path) -> None:
    """Settings and truecasers are copied; those of another system are not replaced."""
    system, other = tmp_path / "system", tmp_path / "other"
    system.mkdir()
    other.mkdir()
    carry_settings(system / "moses.ini", other)  # no settings, nothing to do
    assert not list(other.iterdir())
    write_settings(
        system, SystemText(TextSettings("en", truecase=True), TextSettings("fr", truecase=True))
    )
    for side in ("source", "target"):
        (system / f"truecase.{side}").write_text(f"{side} (2/3) X (1)\n")
    for _ in range(2):
        carry_settings(system / "moses.ini", other)
    carry_settings(system / "moses.ini", system)
    assert read_settings(other / "moses.ini") == read_settings(system)
    truecase = read_truecaser(other, "target", TextSettings("fr", truecase=True))
    assert truecase is not None
    assert truecase(["TARGET"]) == ["target"]
    write_settings(system, SystemText(TextSettings("en"), TextSettings("fr")))
    with pytest.raises(SettingsError, match="belongs to another system"):
        carry_settings(system / "moses.ini", other)


@pytest.mark.parametrize(
    "settings", [{"lowercase": True, "truecase": True}, {"characters": True, "tokenize": True}]
)
def test_settings_that_exclude_each_other(settings: dict[str, bool]) -> None:
    """Lower-cased text cannot be truecased, and words are not characters."""
    with pytest.raises(SettingsError):
        TextSettings("en", **settings)


@pytest.mark.parametrize(
    ("record", "error", "problem"),
    [
        ("{", InputError, "the file is not valid JSON"),
        ("[]", InputError, "it is not a JSON object"),
        ('{"source": {}}', SettingsError, "the setting target is missing"),
        ('{"source": {}, "target": {"lowercased": true}}', SettingsError,
         "[target]: unknown setting lowercased (did you mean lowercase?)"),
    ],
)  # fmt: skip
def test_a_record_that_is_damaged(
    tmp_path: Path, record: str, error: type[Exception], problem: str
) -> None:
    """A damaged record is an error."""
    (tmp_path / "text.json").write_text(record)
    with pytest.raises(error) as caught:
        read_settings(tmp_path)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("language", "problem"),
    [
        (None, "the language of the text is not known. Give --language"),
        ("french", "'french' is not a language code. Give the ISO 639 code"),
        ("FR", "'FR' is not a language code. Give the ISO 639 code"),
        ("fr-CA", "'fr-CA' is not a language code. Give the ISO 639 code"),
    ],
)
def test_what_is_no_language_code_is_refused(language: str | None, problem: str) -> None:
    """A wrong language code is refused, because it would silently disable the language's rules."""
    for make in (Preprocessor, Postprocessor):
        with pytest.raises(SettingsError) as caught:
            make(TextSettings(language))
        assert problem in str(caught.value)


def test_a_language_without_rules_of_its_own_is_accepted() -> None:
    """A language without rules is accepted, with English abbreviations like in Moses."""
    assert check_language("eo") == "eo"
    assert Preprocessor(TextSettings("eo"))("S-ro Mr. X venis.") == "S-ro Mr. X venis ."


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    """Lines do not end at U+0085, U+2028 or carriage returns; byte order marks are dropped."""
    data = "\ufeffa\x85b\u2028c\rd\n\ne\x0cf".encode()
    (tmp_path / "t.gz").write_bytes(gzip.compress(data))
    assert list(read_text(tmp_path / "t.gz")) == ["a\x85b\u2028c\rd", "", "e\x0cf"]


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """The error names the line and the byte."""
    (tmp_path / "t").write_bytes(b"abc\nd\xe9f\n")
    with pytest.raises(CorpusError, match=r"t:2: not UTF-8 at byte 2 of the line. Convert"):
        list(read_text(tmp_path / "t"))


def test_multi30k_is_already_what_the_tokenizer_gives(multi30k: Path) -> None:
    """Multi30k's French, detokenised with a capital and tokenised again, has equal tokens."""
    settings = TextSettings("fr", lowercase=True)
    prepare, restore = Preprocessor(settings), Postprocessor(settings, capitalize=True)
    lines = list(read_text(multi30k / "val.fr.gz"))
    same = sum(prepare(restore(line)) == line for line in lines)
    assert same >= 0.99 * len(lines)
