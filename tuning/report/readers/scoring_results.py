"""What ``score --report`` left: what sharing saved, unknown words, and the new column."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from phrasescore.errors import PhrasescoreError
from phrasescore.files.byte_streams import read_lines
from phrasescore.files.json_files import read_object
from phrasescore.table.phrase_table import parse_entry, parse_scores
from tuning.report.contents import Results, ScoredTable, Spent
from tuning.report.readers.reading import DAMAGE, located, why_not

# more would tell the same of the column's spread
_MOST_PAIRS = 100_000
_FLOOR = -100.0


def read_scoring(path: Path, name: str) -> Results:
    """Read a report of ``score``, and the first pairs of the table it is of.

    Args:
        path: A file of JSON.
        name: What to call it.
    """
    try:
        content = read_object(path)
        columns = [str(column["name"]) for column in content["columns"]]
        seconds = float(content["seconds"])
        for side in ("source", "target"):
            float(content[f"{side}_unknown_rate"])
            int(content["work"][f"{side}_asked"])
    except (OSError, *DAMAGE) as error:
        return Results(name, notes=(why_not(path, error),))
    try:
        found, looked_at = _columns(content, columns, path.parent)
        table = ScoredTable(name, content, found, looked_at)
    except (PhrasescoreError, *DAMAGE) as error:
        said = str(error) if isinstance(error, PhrasescoreError) else "its name is not known."
        notes = (f"The scored table cannot be shown: {said}",)
        table = ScoredTable(name, content, notes=notes)
    provenance = content.get("provenance")
    return Results(
        name,
        tables=(table,),
        spent=(Spent(f"scoring {content['pairs']:,} pairs", seconds),),
        provenances={f"scores {name}": provenance} if isinstance(provenance, dict) else {},
    )


def _columns(
    content: Mapping[str, Any], names: list[str], near: Path
) -> tuple[dict[str, np.ndarray[Any, np.dtype[np.float64]]], int]:
    """Return the model's columns of the first pairs, as ln p, and how many pairs that are.

    Raises:
        PhrasescoreError: The table is gone or damaged.
        LookupError: Nothing says which table it is.
    """
    words = shlex.split(content["provenance"]["command"])
    place = next(words.index(option) for option in ("-o", "--output") if option in words)
    replaced = content["provenance"]["settings"]["settings"]["replace_column"]
    more = bool(content["provenance"]["settings"]["settings"]["unknown_column"])
    found: list[list[float]] = [[] for _ in names]
    for number, line in enumerate(read_lines(located(words[place + 1], near)), 1):
        if number > _MOST_PAIRS:
            break
        scores = parse_scores(parse_entry(line).scores)
        first = len(scores) - len(names) - more if replaced is None else replaced - 1
        for column, score in zip(found, scores[first:], strict=False):
            column.append(math.log(score) if score > 0 else _FLOOR)
    arrays = {name: np.maximum(column, _FLOOR) for name, column in zip(names, found, strict=True)}
    return arrays, len(found[0]) if found else 0
