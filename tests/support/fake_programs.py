"""A shell script in the place of ``lmplz``; a test can make it hang."""

from __future__ import annotations

from pathlib import Path

# a test that wants to stop it in the middle makes the file "lmplz.hang"
_HEAD = """\
#!/bin/sh
while [ -e "$0.hang" ]; do
    touch "$0.hanging"
    sleep 0.05
done
"""
_LMPLZ = """\
cat > /dev/null
while [ "$1" != --arpa ]; do shift; done
printf '\\\\data\\\\\\nngram 1=4\\n\\n\\\\1-grams:\\n-1\\t<unk>\\t0\\n0\\t<s>\\t0\\n-1\\t</s>\\t0\\n-1\\tw1\\t0\\n\\n\\\\end\\\\\\n' > "$2"
"""  # noqa: E501


def write_programs(folder: Path) -> None:
    """Write ``lmplz``, whose result does not depend on the text."""
    folder.mkdir()
    (folder / "lmplz").write_text(_HEAD + _LMPLZ)
    (folder / "lmplz").chmod(0o755)
