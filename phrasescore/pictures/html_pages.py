"""HTML pages from templates: single files with their style and scripts inside.

The content security policy of a page forbids all network access, so no text in it can make a
browser contact another machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phrasescore.errors import MissingDependencyError
from phrasescore.runs.final_names import write_atomically

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent / "templates"


def page_environment(*folders: Path) -> Environment:
    """Return the environment of the templates in ``folders`` and of those that all pages share.

    Every value is escaped, and an undefined name in a template is an error.

    Raises:
        MissingDependencyError: Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise MissingDependencyError.extra("jinja2", "report") from None
    return Environment(
        loader=FileSystemLoader([*map(str, folders), str(_HERE)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def write_page(path: str | Path, template: str, values: Mapping[str, Any], *folders: Path) -> None:
    """Fill a template and write the page atomically.

    Args:
        path: Output file.
        template: A template in ``folders`` or a shared one; most extend ``page.html``.
        values: Values by name. Text is escaped; ``value | tojson`` is safe in a script.
        folders: Further folders of templates.

    Raises:
        MissingDependencyError: Jinja2 is not installed.
        SettingsError: The file cannot be written.
    """
    text = page_environment(*folders).get_template(template).render(values)
    # names of files and damaged lines may contain surrogates, which UTF-8 cannot encode
    write_atomically(path, text.encode("utf-8", "backslashreplace"))
