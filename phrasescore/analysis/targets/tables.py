"""The lists of some sources side by side, as a paper prints them: TSV, Markdown, JSON values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from phrasescore.analysis.targets.preferences import Preferences, Preferred

HEADER = (
    *("group", "source", "count", "rank", "table_target", "table_p", "model_target", "model_ln_p"),
    *("sample", "times", "sample_ln_p"),
)
_TITLES = {
    "frequent": "Long, frequent source phrases",
    "rare": "Long, rare source phrases",
    "long": "Long source phrases, of a table without counts",
    "given": "Source phrases",
}
_MARKDOWN_HEADER = ("source", "by the table", "by the model", "samples of the model")
# what Markdown or HTML would take for more than a letter
_SPECIAL = str.maketrans({letter: f"&#{ord(letter)};" for letter in "&<>|[]*_`\\~$"})


def written(preferences: Sequence[Preferences], path: str | Path) -> bytes:
    """Return the table in the format of a file's name: Markdown for ``.md``, otherwise TSV."""
    if Path(path).suffix.lower() == ".md":
        return markdown(preferences)
    return tsv(preferences)


def tsv(preferences: Iterable[Preferences]) -> bytes:
    """Return lines of tab-separated fields, ``HEADER`` first: a line for each source and rank.

    The fields of a list that has no more entries are empty. Phrases stand as in the table.
    """
    lines = [b"\t".join(name.encode() for name in HEADER)]
    for each in preferences:
        source = each.source
        head = source.group.encode(), source.source, _number(source.count)
        lists = itertools.zip_longest(each.by_table, each.by_model, each.samples)
        for rank, (table, model, sample) in enumerate(lists, 1):
            fields = (
                *(*head, b"%d" % rank),
                *_fields(table, "%.6g"),
                *_fields(model, "%.4f"),
                b"" if sample is None else sample.target,
                b"" if sample is None else b"%d" % sample.times,
                *_fields(sample, "%.4f")[1:],
            )
            lines.append(b"\t".join(fields))
    return b"".join(line + b"\n" for line in lines)


def markdown(preferences: Iterable[Preferences]) -> bytes:
    """Return tables like those of the paper, one for each group of sources."""
    lines: list[str] = []
    for group, members in itertools.groupby(preferences, key=lambda each: each.source.group):
        lines += ["", f"**{_TITLES[group]}**", ""] if lines else [f"**{_TITLES[group]}**", ""]
        lines += [_row(_MARKDOWN_HEADER), _row(["---"] * len(_MARKDOWN_HEADER))]
        for each in members:
            lists = (each.by_table, each.by_model)
            cells = ["<br>".join(_shown(entry.target) for entry in ranked) for ranked in lists]
            samples = "<br>".join(
                _shown(entry.target) + (f" (×{entry.times})" if entry.times > 1 else "")
                for entry in each.samples
            )
            lines.append(_row([_shown(each.source.source), *cells, samples]))
    return "".join(f"{line}\n" for line in lines).encode()


def json_values(preferences: Iterable[Preferences]) -> list[dict[str, Any]]:
    """Return all of it as JSON values; bytes that are no UTF-8 stand as escapes."""
    return [
        {
            "group": each.source.group,
            "source": _text(each.source.source),
            "count": each.source.count,
            "candidates": len(each.source.candidates),
            "by_table": [
                {"target": _text(entry.target), "p": entry.value} for entry in each.by_table
            ],
            "by_model": [_of_model(entry) for entry in each.by_model],
            "samples": [{**_of_model(entry), "times": entry.times} for entry in each.samples],
        }
        for each in preferences
    ]


def _of_model(entry: Preferred) -> dict[str, Any]:
    return {"target": _text(entry.target), "ln_p": round(entry.value, 6)}


def _fields(entry: Preferred | None, form: str) -> tuple[bytes, bytes]:
    return (b"", b"") if entry is None else (entry.target, (form % entry.value).encode())


def _number(count: float | None) -> bytes:
    return b"" if count is None else b"%.12g" % count


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(phrase: bytes) -> str:
    """Return a phrase that Markdown shows letter by letter."""
    return _text(phrase).translate(_SPECIAL)


def _text(phrase: bytes) -> str:
    return phrase.decode("utf-8", "backslashreplace")
