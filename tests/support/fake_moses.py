"""Shell scripts instead of the moses binary: they print a list, or fail as Moses may fail."""

from __future__ import annotations

from pathlib import Path

# Moses answers -show-weights even if it would fail to translate
_SHOW_WEIGHTS = """\
#!/bin/sh
here=$(dirname "$0")
case "$*" in *-show-weights) cat "$here/weights"; exit;; esac
"""
_FAITHFUL = """\
echo "Defined parameters (per moses.ini or switch):" >&2
echo "$@" >> "$here/called"
# a test that wants to stop it in the middle makes the file "hang"
while [ -e "$here/hang" ]; do
    echo "$@" > "$here/hanging"
    sleep 0.05
done
cat "$here/list"
"""


def script(folder: Path, body: str) -> Path:
    """Write an executable ``moses`` that runs shell commands; return its path."""
    folder.mkdir(exist_ok=True)
    path = folder / "moses"
    path.write_text(body if body.startswith("#!") else f"{_SHOW_WEIGHTS}{body}\n")
    path.chmod(0o755)
    return path


def printing(folder: Path, nbest: bytes, weights: str = "") -> Path:
    """Write a ``moses`` that prints one list, whatever the weights, and hangs on request.

    Args:
        folder: The folder for the script.
        nbest: The list.
        weights: The output of ``-show-weights``.
    """
    path = script(folder, _FAITHFUL)
    (folder / "weights").write_text(weights)
    (folder / "list").write_bytes(nbest)
    return path
