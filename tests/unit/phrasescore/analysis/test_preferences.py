"""Targets ranked by table and model, and samples; the tests recompute each number."""

from __future__ import annotations

import numpy as np
import pytest

from phrasescore.analysis.top import (
    ChosenSource,
    Group,
    TopSettings,
    find_preferences,
    json_values,
    markdown,
)
from phrasescore.model.folder import LoadedModel, load_model
from phrasescore.table.block import checked_block
from phrasescore.table.phrase_table import TableFormat
from phrasescore.words.token_sequences import from_lists
from tests.support.random_models import save_random_model
from tests.support.unshared_scorer import UnsharedScorer

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


def test_candidates_are_ranked_by_both(loaded: LoadedModel) -> None:
    """Targets are ranked by the table's p, in table order if equal, and by the model's ln p."""
    targets = {b"A": 0.25, b"B A": 0.5, b"strange": 0.25, b"A B B": 0.1}
    (found,) = find_preferences(loaded, [source(b"a c unheard", targets)], SETTINGS, "cpu")
    ranked = [(b"B A", 0.5), (b"A", 0.25), (b"strange", 0.25)]
    assert [(each.target, each.value) for each in found.by_table] == ranked
    ids = from_lists([[2, 4, 1]] * 4), from_lists([[2], [3, 2], [1], [2, 3, 3]])
    ln_p = dict(zip(targets, UnsharedScorer(loaded.model, "cpu").score(*ids), strict=True))
    best = sorted(ln_p, key=ln_p.__getitem__, reverse=True)[:3]
    assert [each.target for each in found.by_model] == best
    assert [each.value for each in found.by_model] == pytest.approx(
        [ln_p[each] for each in best], abs=1e-4
    )


def test_samples_are_the_models_own(loaded: LoadedModel) -> None:
    """Samples are distinct, sorted by ln p, and depend only on the source."""
    sources = [source(b"a b", {b"B": 1.0}), source(b"c", {b"A": 1.0})]
    found = find_preferences(loaded, sources, SETTINGS, "cpu")
    assert found == find_preferences(loaded, sources, SETTINGS, "cpu")
    for ids, each in zip(([2, 3], [4]), found, strict=True):
        values = [sample.value for sample in each.samples]
        assert len(values) == len({sample.target for sample in each.samples}) == 5
        assert values == sorted(values, reverse=True)
        assert 5 <= sum(sample.times for sample in each.samples) <= 30
        targets = from_lists(
            [loaded.target_vocabulary.encode(s.target.split()) for s in each.samples]
        )
        ln_p = UnsharedScorer(loaded.model, "cpu").score(from_lists([ids] * 5), targets)
        assert values == pytest.approx(ln_p.tolist(), abs=1e-4)


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


def test_json(loaded: LoadedModel) -> None:
    """JSON has all results, with Unicode text."""
    found = find_preferences(loaded, [source(b"a\xff", {b"A": 0.5})], SETTINGS, "cpu")
    (value,) = json_values(found)
    assert value["source"] == "a\\xff"
    assert (value["group"], value["count"], value["candidates"]) == ("rare", 1, 1)
    assert value["by_table"] == [{"target": "A", "p": 0.5}]
    assert value["by_model"][0]["ln_p"] == pytest.approx(found[0].by_model[0].value, abs=1e-6)
    assert [s["times"] for s in value["samples"]] == [s.times for s in found[0].samples]
    assert np.isfinite([s["ln_p"] for s in value["samples"]]).all()
