"""Neighbours found in blocks are those that a sort of everything finds."""

from __future__ import annotations

import numpy as np

from phrasescore.analysis.nearest import NearestTexts


def test_neighbours_in_any_blocks(rng: np.random.Generator) -> None:
    """Whatever the blocks, whichever texts come again; the query itself is left out."""
    kinds = rng.normal(size=(40, 5)).astype(np.float32)
    rows = rng.integers(0, 40, 300)
    texts = [b"t%02d" % row for row in rows]
    vectors = kinds[rows] * rng.uniform(0.5, 2, (300, 1)).astype(np.float32)
    unit = kinds / np.linalg.norm(kinds, axis=1, keepdims=True)
    for block in (1, 7, 300):
        found = NearestTexts([b"t03", b"other"], kinds[[3, 5]] * 3, 6)
        for first in range(0, 300, block):
            part = slice(first, first + block)
            found.add(vectors[part], texts[part].__getitem__)
        for query, row, near in zip((b"t03", b"other"), (3, 5), found.found(), strict=True):
            cosines = {b"t%02d" % kind: float(unit[kind] @ unit[row]) for kind in set(rows)}
            cosines.pop(query, None)
            expected = sorted(cosines, key=lambda text: -cosines[text])[:6]
            assert [each.text for each in near] == expected
            np.testing.assert_allclose(
                [each.cosine for each in near], [cosines[text] for text in expected], atol=1e-6
            )


def test_equals_go_by_their_texts_and_nothing_is_near_nothing() -> None:
    """Ties do not depend on the order of reading; a vector of zeros has the cosine 0."""
    vectors = np.array([[2, 0], [1, 0], [0, 0], [3, 0], [0, 1]], np.float32)
    texts = [b"c", b"a", b"zero", b"b", b"q"]
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0]):
        found = NearestTexts([b"q"], np.array([[1, 0]], np.float32), 4)
        for row in order:
            found.add(vectors[[row]], lambda _, row=row: texts[row])
        assert [(each.text, each.cosine) for each in found.found()[0]] == [
            (b"a", 1.0),
            (b"b", 1.0),
            (b"c", 1.0),
            (b"zero", 0.0),
        ]
