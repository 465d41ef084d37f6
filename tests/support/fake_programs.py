"""Shell scripts in the place of ``fast_align`` and ``lmplz``; a test can make them hang."""

from __future__ import annotations

from pathlib import Path

# a test that wants to stop one in the middle makes the file "NAME.hang"
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
_LMPLZ = """\
cat > /dev/null
while [ "$1" != --arpa ]; do shift; done
printf '\\\\data\\\\\\nngram 1=4\\n\\n\\\\1-grams:\\n-1\\t<unk>\\t0\\n0\\t<s>\\t0\\n-1\\t</s>\\t0\\n-1\\tw1\\t0\\n\\n\\\\end\\\\\\n' > "$2"
"""  # noqa: E501


def write_programs(folder: Path) -> None:
    """Write ``fast_align`` and ``lmplz``, whose results do not depend on the text."""
    folder.mkdir()
    for name, body in (("fast_align", _FAST_ALIGN), ("lmplz", _LMPLZ)):
        (folder / name).write_text(_HEAD + body)
        (folder / name).chmod(0o755)
