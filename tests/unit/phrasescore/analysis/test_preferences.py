"""The page of `analyze top` shows targets and samples, with markup escaped."""

from __future__ import annotations

import pytest

from phrasescore.analysis.top import ChosenSource, Group, TopSettings, find_preferences, markdown
from phrasescore.model.folder import LoadedModel, load_model
from phrasescore.table.block import checked_block
from phrasescore.table.phrase_table import TableFormat
from tests.support.random_models import save_random_model

SETTINGS = TopSettings(column=1, samples=30)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    """Return a random model of a few words."""
    return load_model(
        save_random_model(tmp_path_factory.mktemp("model") / "m", b"a b c".split(), b"A B".split())
    )


def source(
    phrase: bytes, targets: dict[bytes, float], group: Group = "rare", count: float = 1
) -> ChosenSource:
    lines = [b"%s ||| %s ||| %g" % (phrase, target, p) for target, p in targets.items()]
    form = TableFormat(1, hierarchical=False)
    return ChosenSource(group, count, checked_block(b"\n".join(lines), len(lines), 1, "t", form))


def test_markdown(loaded: LoadedModel) -> None:
    """Each group is a Markdown table; Markdown and HTML in phrases are escaped."""
    sources = [
        source(b"<script>alert(1)</script> | *x*", {b"A \xff": 1.0, b"B": 0.5}, "frequent"),
        source(b"b", {b"A": 1.0}),
    ]
    found = find_preferences(loaded, sources, SETTINGS, "cpu")
    text = markdown(found).decode()
    tables = text.split("**Long, rare source phrases**")
    assert len(tables) == 2
    rows = [line for line in tables[0].split("\n") if line.startswith("|")]
    assert len(rows) == 3
    assert all(row.count("|") == 5 for row in rows)
    assert "<" not in rows[2].replace("<br>", "")
    assert rows[2].startswith("| &#60;script&#62;alert(1)&#60;/script&#62; &#124; &#42;x&#42; |")
    assert "A &#92;xff<br>B" in rows[2]
    drawn = [s for s in found[1].samples if s.times > 1]
    assert drawn
    assert all(f"(×{s.times})" in tables[1] for s in drawn)
