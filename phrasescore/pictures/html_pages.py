"""Templates filled and written: one file with its style and its scripts in it.

A page forbids itself the network (its content security policy), so no text in it, whatever it says,
can make a browser ask another machine for anything.
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
    """Return what fills templates: those of ``folders``, then the ones that all pages share.

    Every value is escaped, and a name that the template does not know is an error.

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
    """Fill a template and write the page; it appears when it is whole.

    Args:
        path: Where to.
        template: A file of ``folders`` or of the shared ones, mostly an extension of ``page.html``.
        values: What the template names. Text is escaped; ``value | tojson`` is safe in a script.
        folders: Where else templates are.

    Raises:
        MissingDependencyError: Jinja2 is not installed.
        SettingsError: The file cannot be written.
    """
    text = page_environment(*folders).get_template(template).render(values)
    # a file's name or a broken line may hold what is no Unicode
    write_atomically(path, text.encode("utf-8", "backslashreplace"))
