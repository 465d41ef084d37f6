"""The head of a KenLM binary, and its cutting into arrays.

After KenLM's lm/binary_format.cc and lm/model_type.hh (format version 5): magic, numbers that tell
byte order and word lengths, then what the model is, then the n-gram counts.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from moses_integration.language_model.arpa_diagnosis import KENLM_BINARY_MAGIC
from moses_integration.language_model.automaton_building import HIGHEST_ORDER
from phrasescore.errors import LanguageModelError, visible

VERSION = 5
PROBING, REST_PROBING, TRIE, QUANTISED_TRIE, ARRAY_TRIE, QUANTISED_ARRAY_TRIE = range(6)
_TEXT = KENLM_BINARY_MAGIC + b" format version "
_UNFINISHED = KENLM_BINARY_MAGIC + b" incomplete"
_MAGIC = _TEXT + b"%d\n" % VERSION
# the magic and two zero bytes, up to a multiple of 8; 0.0, 1.0, -0.5; 1, the greatest 32-bit
# number, nothing; 1 in 64 bits
_SANITY = _MAGIC.ljust((len(_MAGIC) + 2 + 7) // 8 * 8, b"\0") + struct.pack(
    "<fffIIIQ", 0.0, 1.0, -0.5, 1, 0xFFFFFFFF, 0, 1
)
# order, probing multiplier, model type, whether the words are there, version of the search data
_PARAMETERS = struct.Struct("<B3xfI?3xI")
_SEARCH_VERSIONS = {PROBING: 0, TRIE: 1, QUANTISED_TRIE: 1, ARRAY_TRIE: 1, QUANTISED_ARRAY_TRIE: 1}
BUILD_AGAIN = "build it again from its ARPA file with a current build_binary, or name the ARPA file"
_MOST_MULTIPLIER = 1e6
CUT_OFF = "it was cut off: copy or make it again"


@dataclass(frozen=True)
class KenlmHeader:
    """What the first bytes say.

    Attributes:
        kind: One of the model types above.
        multiplier: Slots per entry of the probing tables.
        counts: n-gram counts, order 1 first, at least two.
        size: Length of the header in bytes.
    """

    kind: int
    multiplier: float
    counts: tuple[int, ...]
    size: int


class Sections:
    """Cuts a mapped file into the arrays that follow one another in it.

    Args:
        data: The file, shape (bytes,).
        at: Where the first array begins.
    """

    def __init__(self, data: NDArray[np.uint8], at: int) -> None:
        self._data = data
        self.at = at

    def take(self, kind: npt.DTypeLike, count: int, what: str) -> NDArray[Any]:
        """Return a view of the next ``count`` values; ``what`` they are is for the error.

        Raises:
            LanguageModelError: The file ends before.
        """
        kind = np.dtype(kind)
        stop = self.at + kind.itemsize * count
        if stop > self._data.size:
            raise LanguageModelError(
                f"the file ends within {what}: it has {self._data.size:,} bytes, and at least "
                f"{stop:,} were expected",
                remedy=CUT_OFF,
            )
        start, self.at = self.at, stop
        return self._data[start:stop].view(kind)

    def rest(self) -> NDArray[np.uint8]:
        """Return what is left."""
        return self._data[self.at :]


def read_header(data: NDArray[np.uint8]) -> KenlmHeader:
    """Understand the head of a KenLM binary.

    Raises:
        LanguageModelError: It is not one of format version 5 whose words can be read.
    """
    sections = Sections(data, 0)
    _check_magic(data[: len(_SANITY)].tobytes())
    sections.take(np.uint8, len(_SANITY), "its header")
    parameters = sections.take(np.uint8, _PARAMETERS.size, "its header").tobytes()
    order, multiplier, kind, has_words, search_version = _PARAMETERS.unpack(parameters)
    if kind == REST_PROBING:
        raise LanguageModelError(
            "a KenLM binary with rest costs, which are not supported",
            remedy="name the ARPA file, or a binary built without -r",
        )
    if _SEARCH_VERSIONS.get(kind) != search_version:
        raise LanguageModelError(
            f"a KenLM binary of type {kind}, version {search_version}, which is not known",
            remedy=BUILD_AGAIN,
        )
    if not has_words:
        raise LanguageModelError("a KenLM binary without the text of its words", remedy=BUILD_AGAIN)
    counts = sections.take("<u8", order, "its header")
    if not 2 <= order <= HIGHEST_ORDER or not 1.0 <= multiplier < _MOST_MULTIPLIER:
        raise damaged(f"its header says order {order}, multiplier {multiplier:g}")
    return KenlmHeader(
        kind, multiplier, tuple(int(count) for count in counts), (sections.at + 7) // 8 * 8
    )


def _check_magic(start: bytes) -> None:
    if start == _SANITY:
        return
    if start.startswith(_UNFINISHED):
        raise LanguageModelError(
            "a KenLM binary that was not finished", remedy="run build_binary again"
        )
    version = start[len(_TEXT) :].split(b"\n")[0]
    if start.startswith(_TEXT) and version != b"%d" % VERSION:
        raise LanguageModelError(
            f"a KenLM binary of format version {visible(version, 10)}, where version {VERSION} was "
            "expected",
            remedy=BUILD_AGAIN,
        )
    if len(start) < len(_SANITY):
        raise LanguageModelError("the file ends within its header", remedy=CUT_OFF)
    raise LanguageModelError(
        "a KenLM binary made on another kind of machine, or damaged", remedy=BUILD_AGAIN
    )


def damaged(problem: str) -> LanguageModelError:
    """Say what does not add up in a binary."""
    return LanguageModelError(f"a damaged KenLM binary: {problem}", remedy="copy or make it again")
