"""A list of phrase pairs to drop: one pair in a line, source and target with a tab between them.

Further columns are ignored, so the list may say why. Phrases are compared as sequences of tokens,
whatever blanks separate them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import InputError, visible
from phrasescore.table.block import TableBlock
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import phrase_tokens
from phrasescore.table.scanning import TARGET, TARGET_END


@dataclass(frozen=True)
class DropList:
    """Phrase pairs, held in memory.

    Args:
        targets: Of each source, as tokens separated by single blanks.
        digest: SHA-256 of the list's lines.
    """

    targets: Mapping[bytes, frozenset[bytes]]
    digest: str

    def __len__(self) -> int:
        return sum(map(len, self.targets.values()))

    @classmethod
    def read(cls, path: str | Path) -> DropList:
        """Read a plain or gzip file, or ``-``; a pair that stands twice counts once.

        Raises:
            InputError: The file cannot be read, or a line has no tab or no source.
        """
        targets: dict[bytes, set[bytes]] = {}
        digest = hashlib.sha256()
        for number, line in enumerate(read_lines(path), 1):
            digest.update(line + b"\n")
            source, tab, rest = line.rstrip(b"\r").partition(b"\t")
            if not tab or not source.strip(b" "):
                raise InputError(
                    f"no phrase pair: {visible(line, 60)!r}",
                    path=path,
                    line=number,
                    remedy="write source, tab, target",
                )
            targets.setdefault(_joined(source), set()).add(_joined(rest.partition(b"\t")[0]))
        whole = {source: frozenset(listed) for source, listed in targets.items()}
        return cls(whole, digest.hexdigest())

    def find(self, block: TableBlock) -> tuple[NDArray[np.bool_], int]:
        """Look for the pairs among lines that hold all that the table has of their sources.

        Returns:
            (lines,) bool: which are listed; and how many pairs of the list are among them.
        """
        listed = np.zeros(len(block), np.bool_)
        found = 0
        text, starts = block.text, block.run_offsets
        # the spans have no blanks around the phrases; nearly all tables have single ones inside
        odd = b"  " in text or b"\t" in text
        for run, (begin, end) in enumerate(block.spans[starts[:-1], :TARGET].tolist()):
            source = text[begin:end]
            targets = self.targets.get(_joined(source) if odd else source)
            if targets is None:
                continue
            here = set()
            for line in range(starts[run], starts[run + 1]):
                begin, end = block.spans[line, TARGET : TARGET_END + 1].tolist()
                target = _joined(text[begin:end])
                if target in targets:
                    listed[line] = True
                    here.add(target)
            found += len(here)
        return listed, found


def _joined(phrase: bytes) -> bytes:
    """Return the tokens of a phrase with single blanks between them."""
    return b" ".join(phrase_tokens(phrase.strip(b" \t\r")))
