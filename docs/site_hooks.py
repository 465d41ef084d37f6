"""Hooks of MkDocs: bring the pages outside ``docs/`` into the site, README as its first page."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).resolve().parents[1]
# a page of the site -> the file in the checkout that it shows
_PAGES = {
    "index.md": "README.md",
    "experiments.md": "experiments/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
}
_CELL = re.compile(r"<td.*?</td>", re.DOTALL)
# inside <code>: a joint of a name, with no tag before the end of the code
_CODE = re.compile(r"([_/.])(?=\w[^<]*</code>)")
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file outside ``docs/``."""
    for name, path in _PAGES.items():
        files.append(File.generated(config, name, content=(_ROOT / path).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links, which are right in the checkout, lead to the pages of the site."""
    name = page.file.src_uri
    here = posixpath.dirname(_PAGES.get(name, f"docs/{name}"))

    def in_site(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, match[1]))
        by_path = {path: shown for shown, path in _PAGES.items()}
        shown = by_path.get(target, target.removeprefix("docs/"))
        return f"]({posixpath.relpath(shown, posixpath.dirname(name) or '.')}"

    return _LINK.sub(in_site, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let long names in tables break after ``_``, ``/`` and ``.``, as in prose after a hyphen."""
    return _CELL.sub(lambda cell: _CODE.sub(r"\1<wbr>", cell[0]), html)
