"""A shell script in the place of ``fast_align``; a test can make it hang."""

from __future__ import annotations

from pathlib import Path

# a test that wants to stop it in the middle makes the file "fast_align.hang"
_HEAD = """\
#!/bin/sh
while [ -e "$0.hang" ]; do
    touch "$0.hanging"
    sleep 0.05
done
"""
_FAST_ALIGN = """\
text=$2
while read -r line; do echo 0-0; done < "$text"
"""


def write_programs(folder: Path) -> None:
    """Write ``fast_align``, whose result does not depend on the text."""
    folder.mkdir()
    (folder / "fast_align").write_text(_HEAD + _FAST_ALIGN)
    (folder / "fast_align").chmod(0o755)
