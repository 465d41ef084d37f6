"""The translations of a model of sentences as an n-best list: its ln p, and the word penalty."""

from __future__ import annotations

from moses_integration.nbest.format import NBestEntry, format_entry
from phrasescore.errors import CorpusError
from phrasescore.generation.translator import Translated

_BARS = b"|||"


def nbest_lines(line: Translated, feature: str = "AttentionModel0") -> bytes:
    """Return the lines of one sentence, the best first; none for a line without words.

    Args:
        line: Its number counts from 1, that of the list from 0.
        feature: What ln p is called.

    Raises:
        CorpusError: A translation has a word that the list cannot hold.
    """
    return b"".join(
        format_entry(
            NBestEntry(
                line.number - 1,
                _text(translation.words, line.number),
                {feature: (translation.ln_p,), "WordPenalty0": (0.0 - len(translation.words),)},
                translation.total,
            )
        )
        for translation in line.translations
    )


def _text(words: list[bytes], number: int) -> bytes:
    text = b" ".join(words)
    if _BARS in text:
        raise CorpusError(
            f"a translation of sentence {number:,} has |||, which ends a column of an n-best list",
            remedy="prepare the texts of training and translation with phrasescore preprocess, "
            "which escapes bars, or leave out --nbest",
        )
    return text
