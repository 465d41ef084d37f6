"""Model files of any known format, told apart by their first bytes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from moses_integration.language_model.arpa import open_arpa
from moses_integration.language_model.kenlm.binary import is_kenlm_binary, open_kenlm_binary
from moses_integration.language_model.ngrams import NGramFile


def open_ngrams(path: str | Path) -> AbstractContextManager[NGramFile]:
    """Open an ARPA file, plain or gzip, or a KenLM binary; errors are given its name.

    Raises:
        LanguageModelError: It is neither, or damaged.
        InputError: It cannot be read.
    """
    return open_kenlm_binary(path) if is_kenlm_binary(path) else open_arpa(path)
