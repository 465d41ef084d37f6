"""Output of ``analyze top``: TSV, Markdown, JSON values, and statistics over the sources."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasescore.analysis.top import Group, Preferences, Preferred, TopSettings
from phrasescore.errors import counted
from phrasescore.table.phrase_table import phrase_tokens


@dataclass(frozen=True)
class ListFigures:
    """Statistics over the sources of a group.

    Args:
        sources: Number of sources.
        tied: Share of sources whose highest p in the table belongs to two or more targets.
        same_best: Share of sources whose best target is the same by table and model, among those
            with two or more targets and no tie; ``None`` if there are none.
        table_words: Mean length of the table's best target.
        model_words: Mean length of the model's best target.
        sample_words: Mean length of the best sample.
        new: Share of sources whose best sample is not a target of the table.
    """

    sources: int
    tied: float
    same_best: float | None
    table_words: float
    model_words: float
    sample_words: float
    new: float

    @classmethod
    def from_lists(cls, lists: Sequence[Preferences]) -> ListFigures | None:
        """Summarise the sources that the table has; ``None`` if there are none."""
        known = [each for each in lists if each.by_table]
        if not known:
            return None
        several = [each for each in known if len(each.source.candidates) > 1]
        tied = [each for each in several if _is_tied(each)]
        clear = [each for each in several if not _is_tied(each)]
        same = sum(each.by_table[0].target == each.by_model[0].target for each in clear)
        new = sum(each.samples[0].target not in _targets(each) for each in known)
        return cls(
            len(known),
            len(tied) / len(known),
            same / len(clear) if clear else None,
            _mean_words([each.by_table[0] for each in known]),
            _mean_words([each.by_model[0] for each in known]),
            _mean_words([each.samples[0] for each in known]),
            new / len(known),
        )

    def __str__(self) -> str:
        same = "" if self.same_best is None else f"the same best target for {self.same_best:.0%}; "
        return (
            f"{same}the table's is tied for {self.tied:.0%}\n"
            f"words of the best: {self.table_words:.2f} by the table, {self.model_words:.2f} by "
            f"the model, {self.sample_words:.2f} of samples, of which {self.new:.0%} are new to "
            "the table"
        )


def summarised(
    among: dict[Group, int], preferences: Sequence[Preferences], settings: TopSettings
) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """Return a summary as lines of text, and the statistics of each group.

    Args:
        among: Number of sources that each group was drawn from.
        preferences: The ranked targets of all sources.
        settings: The settings of the draw.
    """
    meaning = {
        "frequent": f"extracted {settings.frequent:,} times or more",
        "rare": f"extracted {settings.rare:,} times or less",
        "long": "without counts",
    }
    long = f"of at least {counted(settings.min_words, 'word')} with at least "
    long += counted(settings.min_targets, "target")
    lines: list[str] = []
    by_group: dict[str, dict[str, Any]] = {}
    for group, total in among.items():
        members = [each for each in preferences if each.source.group == group]
        drawn = len(members)
        if group == "given":
            lines.append(f"{total:,} of {drawn:,} sources are in the table")
        elif total or (group != "long" and not among["long"]):
            lines.append(f"{drawn:,} of {total:,} sources {long}, {meaning[group]}")
        found = ListFigures.from_lists(members)
        if found is not None:
            lines.append(str(found))
            by_group[group] = dataclasses.asdict(found)
    return lines, by_group


def _is_tied(lists: Preferences) -> bool:
    p = sorted((candidate.p for candidate in lists.source.candidates), reverse=True)
    return p[0] == p[1]


def _targets(lists: Preferences) -> set[bytes]:
    return {candidate.target for candidate in lists.source.candidates}


def _mean_words(best: Sequence[Preferred]) -> float:
    return sum(len(phrase_tokens(each.target)) for each in best) / len(best)


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
# characters with a meaning in Markdown or HTML, as character references
_SPECIAL = str.maketrans({letter: f"&#{ord(letter)};" for letter in "&<>|[]*_`\\~$"})


def written(preferences: Sequence[Preferences], path: str | Path) -> bytes:
    """Return the bytes to write: Markdown if the name of the file ends in ``.md``, else TSV."""
    if Path(path).suffix.lower() == ".md":
        return markdown(preferences)
    return tsv(preferences)


def tsv(preferences: Iterable[Preferences]) -> bytes:
    """Return tab-separated fields: ``HEADER``, then a line for each source and rank.

    The fields of a list that has ended are empty. Phrases keep the bytes of the table.
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
    """Return tables laid out like those of the paper, one for each group of sources."""
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
    """Return all lists as JSON values; bytes that are not UTF-8 become escapes."""
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
    """Escape a phrase so that Markdown shows every character of it."""
    return _text(phrase).translate(_SPECIAL)


def _text(phrase: bytes) -> str:
    return phrase.decode("utf-8", "backslashreplace")
