"""Byte pairs: words cut into frequent pieces (Sennrich et al., 2016), so that no word is unknown.

The library subword-nmt learns and applies the merges. A piece that is not the last one of its word
ends with the mark ``@@``: ``b"low@@ er"``. The file of merges is subword-nmt's text file, with a
merge on each line after the first.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasescore.errors import CorpusError, MissingDependencyError, ModelError, refusal, visible
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.progress import Progress

BYTE_PAIRS = "byte-pairs.txt"  # the name of the file beside vocabularies
MARK = b"@@"
_VERSION, _END = "#version: 0.2", "</w>"  # the first line, and the sign of a word's end
_MAX_BYTES = 1 << 28
# Longer words stay whole: the time for a word grows faster than its length.
_MAX_LETTERS = 1000
_SHOWN = 80  # maximum number of bytes of a line in an error


@dataclass(frozen=True)
class BytePairs:
    """Merges of neighbouring pieces, the most frequent first.

    Args:
        text: The content of subword-nmt's file.
    """

    text: str

    def __post_init__(self) -> None:
        first, *merges = self.text.removesuffix("\n").split("\n")
        if first != _VERSION:
            raise _damaged(1, f"the first line is not {_VERSION}")
        for line, merge in enumerate(merges, 2):
            left, _, right = merge.partition(" ")
            # if the sign of a word's end were in another position, subword-nmt would never finish
            ends = right.endswith(_END) and right != _END
            if not left or not right or " " in right or (left + right).count(_END) > ends:
                shown = visible(_bytes(merge)[:_SHOWN])
                raise _damaged(line, f"'{shown}' is not a pair of pieces")

    @classmethod
    def learn(cls, counts: dict[bytes, int], merges: int) -> BytePairs:
        """Learn merges from words and their counts.

        Args:
            counts: The number of occurrences of each word.
            merges: Maximum number of merges; pairs that occur only once are not merged.

        Raises:
            CorpusError: All words have a single character, or words have been cut already.
            MissingDependencyError: subword-nmt is not installed.
        """
        learn, _ = _library()
        cut = next((word for word in counts if word.endswith(MARK)), None)
        if cut is not None:
            raise CorpusError(
                f"the word {visible(cut, _SHOWN)} ends with @@, the mark of byte pairs",
                remedy="give whole words, or leave out --byte-pairs",
            )
        # leave out words with white space other than the space, at which subword-nmt would cut them
        words = {
            word: count
            for word, count in zip(map(_text, counts), counts.values(), strict=True)
            if count and word.split() == [word] and _END not in word and len(word) <= _MAX_LETTERS
        }
        if all(len(word) < 2 for word in words):
            raise CorpusError(
                "every word has one character, so there are no byte pairs to learn",
                remedy="leave out --byte-pairs",
            )
        found = io.StringIO()
        # hide the progress bar of subword-nmt
        with Progress("learning byte pairs"), contextlib.redirect_stderr(io.StringIO()):
            learn([f"{word} {count}" for word, count in words.items()], found, merges, is_dict=True)
        return cls(found.getvalue())

    @classmethod
    def read(cls, path: Path) -> BytePairs:
        """Read the merges.

        Raises:
            InputError: The file cannot be read.
            ModelError: A line is not a merge.
        """
        try:
            return cls(_text(read_regular(path, _MAX_BYTES)))
        except OSError as error:
            raise refusal(error, path) from None
        except ModelError as error:
            raise error.at(path) from None

    def write(self, path: Path) -> None:
        """Write the merges."""
        write_atomically(path, _bytes(self.text))

    def cutter(self, known: Collection[bytes] = ()) -> Callable[[bytes], list[bytes]]:
        """Return the function that cuts a word of at most 1,000 letters into pieces with marks.

        Args:
            known: If given, pieces outside this set are cut further, as far as the merges allow.

        Raises:
            MissingDependencyError: subword-nmt is not installed.
        """
        _, apply = _library()
        vocabulary = {_text(piece) for piece in known}
        merges = apply(io.StringIO(self.text), separator=MARK.decode(), vocab=vocabulary)

        def cut(word: bytes) -> list[bytes]:
            if len(text := _text(word)) > _MAX_LETTERS:
                return [word]
            return [_bytes(piece) for piece in merges.segment_tokens([text])]

        return cut


def joined(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the words that pieces form; the last piece always ends its word.

    >>> list(joined([b"low@@", b"er", b"and"]))
    [b'lower', b'and']
    """
    word = b""
    for place, piece in enumerate(pieces, 1):
        word += piece.removesuffix(MARK)
        if place == len(pieces) or not piece.endswith(MARK):
            yield word
            word = b""


def _library() -> tuple[Any, Any]:
    try:
        from subword_nmt.apply_bpe import BPE
        from subword_nmt.learn_bpe import learn_bpe
    except ImportError:
        raise MissingDependencyError.extra("subword-nmt", "byte-pairs") from None
    return learn_bpe, BPE


def _damaged(line: int, problem: str) -> ModelError:
    return ModelError(problem, line=line, remedy="restore the file, or train the model again")


# words may have bytes that are not UTF-8
def _text(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
