"""``SHA256SUMS`` of a model folder: whether each file is the one that was written.

The file is what ``sha256sum`` writes of all others, in the order of their names, so ``sha256sum -c
SHA256SUMS`` checks a folder too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from phrasescore.errors import ModelError, visible
from phrasescore.model.folder_names import DIGESTS
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.identity import sha256_of

_LONGEST = 80  # characters of a name in an error
RETRAIN = "copy the folder again, or train the model again"


def write_digests(folder: Path) -> None:
    """Write the digests of all files in a folder."""
    names = sorted(path.name for path in folder.iterdir() if path.name != DIGESTS)
    digests = "".join(f"{sha256_of(folder / name)}  {name}\n" for name in names)
    write_atomically(folder / DIGESTS, digests.encode())


def read_digests(folder: Path) -> dict[str, str]:
    """Return the digest that each file should have, by name.

    Raises:
        ModelError: The digests are missing.
    """
    if not (folder / DIGESTS).is_file():
        raise ModelError(f"incomplete: {DIGESTS} is missing", path=folder, remedy=RETRAIN)
    text = (folder / DIGESTS).read_text("utf-8", errors="replace")
    parts = [line.partition("  ") for line in text.split("\n")]
    return {name: digest for digest, _, name in parts if name}


def check_file(folder: Path, name: str, digests: Mapping[str, str]) -> None:
    """See whether a file is there, and is the one that was written.

    Raises:
        ModelError: It is not.
    """
    # by the folder's own list: a name in a file of digests may say another place
    if name not in {path.name for path in folder.iterdir()} or not (folder / name).is_file():
        shown = visible(name.encode("utf-8", "backslashreplace"), _LONGEST)
        raise ModelError(f"incomplete: {shown} is missing", path=folder, remedy=RETRAIN)
    if digests.get(name) != sha256_of(folder / name):
        raise ModelError(
            f"damaged: {name} is not the file that was written", path=folder, remedy=RETRAIN
        )


def digest_of_folder(folder: Path) -> str:
    """Return the SHA-256 over the digests: equal for equal folders."""
    return hashlib.sha256((folder / DIGESTS).read_bytes()).hexdigest()
