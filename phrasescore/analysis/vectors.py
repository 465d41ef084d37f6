"""Word vectors of models of any kind, and files of vectors, without torch."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, ModelError, SettingsError, visible
from phrasescore.model.folder import StoredWeights
from phrasescore.model.kinds import kind_named
from phrasescore.runs.final_names import open_output
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import Side
from phrasescore.words.vocabulary import SPECIALS, UNK_ID, Vocabulary

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_SHOWN = 60  # bytes of a word in an error
# a fixed date makes equal content equal bytes
_DATE = (1980, 1, 1, 0, 0, 0)

Vectors: TypeAlias = NDArray[np.float32]
# the bytes of N texts, concatenated, and their (N + 1,) int64 offsets
JoinedTexts: TypeAlias = tuple[bytes, NDArray[np.int64]]


@dataclass(frozen=True)
class WordVectors:
    """The words of one side, the most frequent first, and their vectors.

    Args:
        side: Side of the corpus, whichever of the two the model reads.
        words: The words, without </s> and <unk>.
        vectors: ``(words, E)``, without the bias that all words of a side share.
    """

    side: Side
    words: tuple[bytes, ...]
    vectors: Vectors

    def rows_in(self, path: str | Path) -> list[int]:
        """Look up the words of a file, one on each line, and return their rows.

        Raises:
            InputError: The file cannot be read, or is empty.
            SettingsError: A line is not a single word, or the model does not know the word.
        """
        vocabulary = Vocabulary.from_words(self.words)
        rows = []
        for line, text in enumerate(read_lines(path), 1):
            words = text.split()
            if len(words) != 1:
                raise SettingsError(
                    f"{visible(text, _SHOWN)!r} is not one word, and --words is about words",
                    path=path,
                    line=line,
                    remedy="give words one by one, or leave out --words",
                )
            (number,) = vocabulary.encode(words)
            if number == UNK_ID:
                raise SettingsError(
                    f"the model does not know the word {visible(words[0], _SHOWN)!r}",
                    path=path,
                    line=line,
                    remedy="give words as its training text has them, in lower case if that is so",
                )
            rows.append(number - len(SPECIALS))
        if not rows:
            raise CorpusError("there is no word", path=path, remedy="write words, one a line")
        return rows


def word_vectors(stored: StoredWeights, side: Side | None = None) -> WordVectors:
    """Return the word vectors of a model, without torch.

    Args:
        stored: A model of any kind.
        side: The side; ``None`` for the side that the model reads, or its only side.

    Raises:
        ModelError: The model has no vectors of that side, or no words.
    """
    settings, weights = stored.settings, stored.weights
    read: Side = "source" if settings.direction == "source-target" else "target"
    predicted: Side = "target" if read == "source" else "source"
    found: dict[Side, tuple[Vocabulary, Vectors]] = {}
    if "source_embedding" in weights:
        found[read] = stored.source_vocabulary, weights["source_embedding"]
    for name in ("target_embedding", "embedding"):
        if name in weights:
            found[predicted] = stored.target_vocabulary, weights[name]
    chosen = side or next(iter(found))
    if chosen not in found:
        option = kind_named(settings.kind).option
        raise ModelError(
            f"a model of kind {option} has word vectors of the {next(iter(found))} side only",
            path=stored.path,
            remedy=f"leave out --side {chosen}",
        )
    vocabulary, vectors = found[chosen]
    # a language model has one more vector, for the place before the first word
    begin, end = len(SPECIALS), len(vocabulary)
    if begin == end:
        raise ModelError("the model knows no word", path=stored.path, remedy="train it on a text")
    return WordVectors(chosen, vocabulary.words[begin:], vectors[begin:end])


def write_vectors(
    path: str | Path,
    what: Literal["phrases", "words"],
    model: str,
    texts: JoinedTexts,
    vectors: Iterable[Vectors],
    size: int,
) -> None:
    """Write an ``.npz`` that ``numpy.load`` reads without pickle; the write is atomic.

    The texts are one array of bytes with offsets, so a phrase may have any length and encoding.
    Vectors are written block by block, which ``numpy.savez`` cannot do.

    Args:
        path: Output file; ``-`` is standard output.
        what: What the vectors represent.
        model: Digest of the model.
        texts: The N phrases or words.
        vectors: Blocks of rows, N rows in total.
        size: D, the length of a vector.

    Raises:
        SettingsError: The file cannot be written.
    """
    text, offsets = texts
    small = {
        "what": np.array(what),
        "model": np.array(model),
        "offsets": offsets,
        "text": np.frombuffer(text, np.uint8),
    }
    with open_output(path) as stream, zipfile.ZipFile(_ForwardOnly(stream), "w") as archive:
        for name, values in small.items():
            with _member(archive, name) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
        with _member(archive, "vectors") as member:
            shape = (len(offsets) - 1, size)
            described = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(member, described)
            for block in vectors:
                member.write(np.ascontiguousarray(block, "<f4").data)


class _ForwardOnly(io.RawIOBase):
    """A stream that never seeks, so that a zip archive can be written to a pipe or device."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        return self._stream.write(data)


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    return archive.open(zipfile.ZipInfo(f"{name}.npy", _DATE), "w", force_zip64=True)
