"""Stretches of bilingual text, and the compact tables the lexicon is written in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """A stretch of text and its translation; either may be empty."""

    english: str
    french: str


NOTHING = Text("", "")


def join(*parts: str) -> str:
    """Put the parts that are not empty one after the other."""
    return " ".join(part for part in parts if part)


def full_stop(*parts: Text) -> Text:
    """Put the parts one after the other and close the sentence."""
    english = join(*(part.english for part in parts))
    french = join(*(part.french for part in parts))
    return Text(f"{english}.", f"{french}.")


def words(table: str) -> tuple[str, ...]:
    """Read a table of single words."""
    return tuple(table.split())


def rows(table: str) -> tuple[tuple[str, ...], ...]:
    """Read a table with a row on each line and ``;`` between its columns."""
    lines = table.strip().split("\n")
    return tuple(tuple(column.strip() for column in line.split(";")) for line in lines)


def texts(table: str) -> tuple[Text, ...]:
    """Read a table of ``English = French`` with ``;`` or a line end between its entries."""
    found = []
    for entry in table.strip().replace("\n", ";").split(";"):
        english, _, french = entry.partition("=")
        found.append(Text(english.strip(), french.strip()))
    return tuple(found)
