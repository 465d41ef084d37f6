"""Shell scripts in the place of the moses binary: they print a list, or fail as Moses may fail."""

from __future__ import annotations

from pathlib import Path

_FAITHFUL = """\
#!/bin/sh
echo "Defined parameters (per moses.ini or switch):" >&2
here=$(dirname "$0")
echo "$@" >> "$here/called"
# a test that wants to stop it in the middle makes the file "hang"
while [ -e "$here/hang" ]; do
    echo "$@" > "$here/hanging"
    sleep 0.05
done
cat "$here/list"
"""


def script(folder: Path, body: str) -> Path:
    """Write an executable ``moses`` that runs shell commands; return it."""
    folder.mkdir(exist_ok=True)
    path = folder / "moses"
    path.write_text(body if body.startswith("#!") else f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def printing(folder: Path, nbest: bytes) -> Path:
    """Write a ``moses`` that prints a list whatever the weights, and hangs if it is told to."""
    path = script(folder, _FAITHFUL)
    (folder / "list").write_bytes(nbest)
    return path
