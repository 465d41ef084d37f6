"""What tells a lexicalised reordering table from other tables: source, target, and scores alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from phrasescore.errors import PhraseTableError, counted
from phrasescore.table.phrase_table import PIPES, TableFormat, parse_entry, parse_scores

_COLUMNS = 3


def reordering_format(head: Sequence[bytes], path: str | Path) -> TableFormat:
    """Find how many scores a lexicalised reordering table of pairs has.

    Args:
        head: Its first lines, without line feeds.
        path: Its file, for errors.

    Raises:
        PhraseTableError: It is empty, or no such table.
    """
    if not head:
        raise PhraseTableError(
            "the file is empty, where a reordering table was expected", path=path
        )
    columns = head[0].count(PIPES) + 1
    if columns != _COLUMNS:
        remedy = "name the reordering table that belongs to the phrase table"
        if columns == _COLUMNS - 1:
            remedy = "leave such a table as it is: it has one line for a source, not for a pair"
        raise PhraseTableError(
            f"{counted(columns, 'column')}, expected {_COLUMNS} in a reordering table "
            "(source ||| target ||| scores)",
            path=path,
            line=1,
            remedy=remedy,
        )
    try:
        return TableFormat(len(parse_scores(parse_entry(head[0]).scores)), hierarchical=False)
    except PhraseTableError as error:
        raise error.at(path, 1) from None
