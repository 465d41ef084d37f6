r"""The tokens of raw text, in any script, and the text of tokens.

The tokens are those of Moses's ``tokenizer.perl``, as implemented by sacremoses. Two results of
sacremoses are corrected: U+001C to U+001F are deleted, and a full stop at the end of a line is
always a token. When text is tokenised, Unicode spaces (U+00A0, U+2028, ...) separate tokens and
disappear, as in Moses; they never end a line.

Moses cuts a word at every combining mark that is not a letter of its own. Therefore the tokeniser
``unicode`` shows sacremoses only the first character of each cluster, which is a character with its
marks, joiners and signs such as tones, and then puts the clusters into the tokens again. It changes
nothing but blanks and control characters, so joining the tokens gives the text back.

Where it has no rules for a language, Moses cuts at every apostrophe. Many languages of Africa write
apostrophes inside words, as Luo does in mang'eny, at their ends (bang') and at their beginnings, as
Hausa does in 'yan. So ``unicode`` may take an apostrophe beside a letter for a part of the word,
unless it is one of a pair of quotes. It also keeps addresses whole.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from unicodedata import category, east_asian_width

from phrasescore.errors import SettingsError

# control characters that Moses deletes; some are spaces for Python, but not for Perl
_JUNK = re.compile("[\0-\x08\x0e-\x1f]")
# spaces that are part of a token for Moses's decoder, but not for sacremoses's detokeniser
_SPACES_IN_TOKENS = "".join(filter(str.isspace, map(chr, range(0x3001)))).replace(" ", "")
# zero-width non-joiner and joiner, and the skin tones of emoji
_JOINERS = "\u200c\u200d\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
# characters that a joiner combines into one picture
_PICTURES = "\u2190-\u2bff\U0001f000-\U0001faff"
# the planes that have letters and marks, and the variation selectors of plane 14
_PLANES = (range(0xD800), range(0xE000, 0x20000), range(0xE0100, 0xE01F0))
# a letter without case that sacremoses knows: stands for letters of scripts that it does not know
_LETTER = "\u05d0"
# signs of the letter before that Unicode does not count as letters: tones, and Armenian marks of
# stress, questions and elision
_SIGNS = {*map(chr, (*range(0x2B0, 0x300), *range(0xA700, 0xA722))), *"՚՛՜՞"}
# marks of Gujarati, Malayalam and Sinhala that are letters for Perl, but not for sacremoses
_LETTER_MARKS = "\u0afa\u0afb\u0afc\u0d00\u0d81"


@functools.cache
def _clusters() -> tuple[frozenset[str], re.Pattern[str], re.Pattern[str], dict[int, str]]:
    """Return what the tokeniser must know of characters and their marks.

    Returns:
        Marks, joiners and signs of letters; a pattern of marks after a blank; a pattern of a
        character with what belongs to it, if anything, whose only group that matches is the
        character; and a map from letters and digits that sacremoses takes for symbols to a letter.
    """
    from sacremoses import MosesTokenizer

    characters = "".join(map(chr, itertools.chain(*_PLANES)))
    marks = "".join(each for each in characters if category(each)[0] == "M") + _JOINERS
    modifiers = "".join(each for each in characters if category(each) == "Lm" or each in _SIGNS)
    special, known = frozenset(marks + modifiers), set(MosesTokenizer.IsAlnum)
    letters = (each for each in characters if each.isalpha() or each.isdecimal())
    # scripts in wide characters have no blanks: sacremoses has its own rules for them
    narrow = (each for each in letters if east_asian_width(each) != "W")
    unknown = {ord(each): _LETTER for each in (*narrow, *_LETTER_MARKS) if each not in known}
    marks, modifiers = _ranges(marks), _ranges(modifiers)
    stray = re.compile(rf"(?<=\S)(\s+)([{marks}]+)")
    all_marks, picture = f"[{marks}{modifiers}]", rf"(?:[{marks}]|(?<=\u200d)[{_PICTURES}])"
    cluster = re.compile(rf"\A[{marks}]+(\S){all_marks}*|([^\W_]){all_marks}+|(\S){picture}+|(.)")
    return special, stray, cluster, unknown


def _ranges(characters: str) -> str:
    """Return characters as ranges of a regular expression, which are faster than a list."""
    runs = itertools.groupby(enumerate(characters), lambda each: ord(each[1]) - each[0])
    spans = ([character for _, character in run] for _, run in runs)
    return "".join(f"{span[0]}-{span[-1]}" for span in spans)


# pairs of quotes; an apostrophe between letters is none
_BETWEEN = r"(?<=[^\W\d_])['’](?=[^\W\d_])"
_PAIR = (
    rf"(?<![^\W_'])'(?=[^\s'])(?:[^']|{_BETWEEN})*(?<=[^\s'])'(?![^\W_'])"
    rf"|‘(?:[^‘’]|{_BETWEEN})*’"
)
_OF_WORD = r"(?<=[^\W\d_])['’](?!['’])|(?<!['’])['’](?=[^\W\d_])|(?<=[^\W\d_])[´′`](?=[^\W\d_])"
# a vowel of Wixarika (m+k+), tones of Mazatec (tsa³jña²), hyphens without a break
_OF_WORD += r"|(?<=[^\W\d_])\+|\+(?=[^\W\d_])|(?<=[^\W_])[¹²³⁰⁴-⁹₀-₉]|(?<=[^\W_])[‐‑](?=[^\W_])"
# the end of English names, which the tokens of English text have as a token of its own
_POSSESSIVE = r"(?<=[^\W\d_])['’](?=s(?![^\W\d_]))"
_APOSTROPHES = re.compile(f"(?P<pair>{_PAIR})|(?P<end>{_POSSESSIVE})|{_OF_WORD}")
_COLON = re.compile(":(?=[a-zà-öø-ÿ])")
# addresses on the web and of mail, and names such as @name
_ADDRESS = re.compile(
    r"(?:[Hh]ttps?://|www\.)[^\s<>\"“”‘’«»]*[\w/=+-]|[\w.+-]+@\w[\w-]*(?:\.\w+)+|(?<![\w@])@\w+"
)


def _with_apostrophes(line: str) -> str:
    """Write apostrophes and other signs of words as letters, which the tokeniser keeps.

    >>> _with_apostrophes("bang' mang'eny 'Tich' 'yan Jo's m+k+ 1+1").replace(_LETTER, "_")
    "bang_ mang_eny 'Tich' _yan Jo _s m_k_ 1+1"
    """

    def written(found: re.Match[str]) -> str:
        quoted = found["pair"]
        if quoted is None:
            return _LETTER if found["end"] is None else f" {_LETTER}"
        return quoted[0] + _APOSTROPHES.sub(written, quoted[1:-1]) + quoted[-1]

    return _APOSTROPHES.sub(written, line)


class Tokenizer:
    """Cuts lines of raw text into tokens.

    Args:
        language: The ISO 639 code of the language.
        keeps_words: Whether no token begins or ends inside a character with its marks; otherwise
            the tokens are those of ``tokenizer.perl``.
        apostrophes: Whether words keep apostrophes, plus signs, raised digits and hyphens, too.
    """

    def __init__(self, language: str, *, keeps_words: bool, apostrophes: bool = False) -> None:
        from sacremoses import MosesTokenizer
        from sacremoses.indic import NUKTAS, VIRAMAS

        self._tokenizer = MosesTokenizer(lang=language)
        if language in ("ca", "ga"):  # Moses writes d' fhéadfadh, as in Italian; sacremoses cuts it
            self._tokenizer.lang = "it"
        self._keeps_words = keeps_words
        self._apostrophes = apostrophes
        # sacremoses adds these marks, but not the Thai one, to the letters of tokenizer.perl
        marks = {*VIRAMAS, *NUKTAS, "\u135f"} - {"\u0e3a"}
        self._apart = {ord(each): f" {each} " for each in marks}
        if keeps_words:
            # abbreviations are compared without marks, too
            _, _, cluster, _ = _clusters()
            for name in ("NONBREAKING_PREFIXES", "NUMERIC_ONLY_PREFIXES"):
                prefixes = getattr(self._tokenizer, name)
                setattr(self._tokenizer, name, [cluster.sub(_alone, each) for each in prefixes])

    def __call__(self, line: str) -> list[str]:
        """Return the tokens of a line."""
        line = _JUNK.sub("", line).strip()
        special, stray, cluster, unknown = _clusters()
        # Moses makes a word of this space, which nobody sees
        line = line.replace("\u200b", " ") if self._keeps_words else line.translate(self._apart)
        pieces, bare = list(line), line
        if self._keeps_words and not special.isdisjoint(line):
            # a mark after a blank belongs to the word before; only a misplaced blank separates them
            clusters = list(cluster.finditer(stray.sub(r"\2\1", line)))
            pieces, bare = [each[0] for each in clusters], "".join(map(_alone, clusters))
        if self._keeps_words:
            bare = _ADDRESS.sub(lambda address: _LETTER * len(address[0]), bare)
        bare = _with_apostrophes(bare) if self._apostrophes else bare
        if self._tokenizer.lang in ("fi", "sv"):  # Moses keeps it in USA:n; sacremoses cuts it
            bare = _COLON.sub(_LETTER, bare)
        # sacremoses writes MULTI into the text and removes it again
        bare = bare.translate(unknown).replace("MULTI", "MULTE")
        rest = (piece for piece in pieces if not piece.isspace())
        return ["".join(itertools.islice(rest, len(token))) for token in self._cut(bare)]

    def _cut(self, line: str) -> list[str]:
        text: str = self._tokenizer.tokenize(line, return_str=True, escape=False)
        tokens = [token for token in text.split(" ") if token]
        # Moses separates a full stop from the last word, even if the word is an abbreviation
        if tokens and re.fullmatch(r".*[^.]\.", tokens[-1]):
            tokens[-1:] = [tokens[-1][:-1], "."]
        return tokens


def _alone(cluster: re.Match[str]) -> str:
    """Return the character of a cluster."""
    return cluster[cluster.lastindex or 0]


# private-use characters that stand for the quotes of a pair, which then need not be counted
_OPENS, _CLOSES = 0xF8000, 0x108000
_PLAIN = {kind + ord(each): each for each in '"„“”‚‘’«»‹›' for kind in (_OPENS, _CLOSES)}
# punctuation that stands beside a word as a comma or an opening bracket does
_CLOSING, _OPENING = "…،؛؟۔।॥၊။፡-፧՝։᙮៕៖༎།߸߹᱾᱿꓾꓿\U00108000-\U0010afff", "@#„\U000f8000-\U000fafff"
# languages, and quotes that open and close there; where “ closes, and where ” does both, sacremoses
# counts them
_QUOTES = (
    ("cs da de hr sk sl sr", "‚", "‘’”"),
    ("bg et is ka lt lv mk sq", "‚«", "‘’”»"),
    ("fi sv", "«", "’»"),
    ("fr", "“‘", "”’"),
    ("", "“‘«", "”’»‚"),  # elsewhere a ‚ stands for a comma
)
# blanks inside numbers, names, addresses and quotes of two characters, and after the % of %50
_INSIDE = (
    r"(?<=\d) : (?=\d)|(?<=\w) (?:[/_]|: / /) (?=\w)|(?<=\w) @ (?=\w+\.\w)|(?<!\S)' '(?!\S)"
    r"|(?<=\b[A-Z]) & (?=[A-Z]\b)|(?<=\d) (?=°)|(?<=°) (?=[CF]\b)|(?<!\d %)(?<=%) (?=\d)"
)
# quotations, where the last quote does not begin an English contraction
_CONTRACTED = r" (?:d|ll|m|re|s|t|ve)(?: |$)"
_PAIRS = f'‹[^›]+›(?: ›)?|›[^‹›]+‹|„[^„“”"]+[“”"]|[“”][^„“”]+”|‘[^‘’]+ ’(?!\\S|{_CONTRACTED})'
_MORE_PAIRS = "|‚[^‚‘’]+[‘’]|«[^«»]+»|»[^«»]+«"  # in languages that use ‚
# blanks before the last quote, beside wide punctuation, between Chinese and quotes or dashes, and
# before the currency in u-$5
_WIDE = "[！（），．：；？［］｛｝～。、]"
_BLANK = re.compile(
    rf"(?<=.) (?=[\"']$)| (?={_WIDE})|(?<={_WIDE}) |(?<=[、-鿿]) (?=[“‘])|(?<=[”’]) (?=[、-鿿])"
    "|(?<=[^\\W_]-) (?=[$£€])|(?<=[—―]) (?=[¿¡])|(?<=[、-鿿]) (?=[·—])|(?<=[·—]) (?=[、-鿿—])"
)


class Detokenizer:
    """Joins tokens to text.

    Args:
        language: The ISO 639 code of the language.
        apostrophes: As for the `Tokenizer`; then a single apostrophe is a quote.
    """

    def __init__(self, language: str, *, apostrophes: bool = False) -> None:
        from sacremoses import MosesDetokenizer

        # the rules of sacremoses for Czech fail at "a' - li" and join numbers to the word before,
        # and it has none for Catalan
        rules = {"cs": "", "ca": "it"}.get(language, language)
        join = self._detokenizer = MosesDetokenizer(lang=rules)
        opening, closing = next(
            quotes for codes, *quotes in _QUOTES if language in codes.split() or not codes
        )
        self._pairs = re.compile(_PAIRS + _MORE_PAIRS * ("‚" in opening))
        join.IS_OPEN_QUOTE = re.compile("^['\"“”`]+$")
        join.IS_CURRENCY_SYMBOL = re.compile(rf"^[{join.IsSc}([{{¿¡{_OPENING}{opening}]+$")
        join.IS_PUNCT = re.compile(rf"^[,.?!:;\\%}}\]){_CLOSING}{closing}]+$")
        # "10,000 $ a year": the sign belongs to the number before it
        self._price = re.compile(rf"(?<=\d )[{join.IsSc}](?=[^\W\d_])")
        after_word = r"(?:(?<=[^\W_])|(?<=[\u0300-\u036f]))"
        if apostrophes:  # other words may begin with an apostrophe
            inside = rf"{after_word} (?=['’]s(?![^\W\d_]))|(?<!\w ―)(?<=―) (?![¿¡])"
        else:
            # sacremoses takes ' for a quote, which is right where it has rules for apostrophes
            apostrophe = "’" if has_rules(language) else "['’]"
            inside = rf"{after_word} {apostrophe} (?=[^\W\d_])"
            if language == "ga":  # D' fhéadfadh in text that was cut before
                inside += r"|(?<=\b[bdmBDM]) ' (?=[^\W\d_])"
            if language == "en":  # the boys’ books
                inside = f"(?!(?<=s) ’(?!{_CONTRACTED})){inside}"
        self._inside = re.compile(f"{inside}|{_INSIDE}")

    def __call__(self, tokens: list[str]) -> str:
        """Return the text of the tokens of a line."""
        line = " ".join(tokens)
        hidden = _stand_ins(line)
        line = line.translate(hidden)
        line = self._pairs.sub(self._marked, line)
        line = self._inside.sub(lambda match: match[0].replace(" ", ""), line)
        text: str = self._detokenizer.detokenize(line.split(" "), return_str=True, unescape=False)
        shown = {stand_in: space for space, stand_in in hidden.items()}
        return self._price.sub(r"\g<0> ", _BLANK.sub("", text.translate(_PLAIN))).translate(shown)

    def _marked(self, quotation: re.Match[str]) -> str:
        """Mark the quotes of a pair, and those of the pairs inside."""
        inside = self._pairs.sub(self._marked, quotation[0][1:-1])
        return chr(_OPENS + ord(quotation[0][0])) + inside + chr(_CLOSES + ord(quotation[0][-1]))


def _stand_ins(line: str) -> dict[int, int]:
    """Map every Unicode space inside a token to a private-use character that no token has."""
    used = set(line)
    free = (code for code in range(0xF0000, 0xFFFFE) if chr(code) not in used)
    return {ord(space): next(free) for space in _SPACES_IN_TOKENS if space in used}


_WITHOUT_BLANKS = {"bo", "ja", "km", "lo", "my", "th", "yue", "zh"}


def language_notes(languages: Sequence[str]) -> list[str]:
    """Return notes on languages without rules, and on those that write no blanks between words."""
    note = (
        "the tokeniser has no rules for {}: it uses the abbreviations of English and guesses which "
        "apostrophes are quotes; look at some lines of its output"
    )
    shorter = ", or give the code of two letters (es, not spa) if there is one"
    uncut = "text in {} has no blanks between words: use a segmenter first, unless that is done"
    return [
        note.format(each) + shorter * (len(each) > 2) for each in languages if not has_rules(each)
    ] + [uncut.format(each) for each in languages if each in _WITHOUT_BLANKS]


@functools.cache
def has_rules(language: str) -> bool:
    """Return whether the tokeniser has rules for a language."""
    from sacremoses.corpus import NonbreakingPrefixes

    return language in {*NonbreakingPrefixes().available_langs.values(), "ja", "ko"}


def check_language(language: str | None) -> str:
    """Check and return a language code.

    Raises:
        SettingsError: The code is missing or is not a language code.
    """
    if language is None:
        raise SettingsError(
            "the language of the text is not known",
            remedy="give --language, or --system with the folder of a built system",
        )
    if not re.fullmatch("[a-z]{2,3}", language):
        problem = f"{language!r} is not a language code"
        remedy = "give the ISO 639 code, such as en or fr; build and improve take two"
        raise SettingsError(problem, remedy=remedy)
    return language
