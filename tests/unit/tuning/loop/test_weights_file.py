"""Weights in files: which files are understood, and which fit a list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phrasescore.errors import InputError, NBestError
from tuning.loop.weights import GivenWeights, read_weights_file

INI = """\
[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory name=TM num-features=3 path=x tuneable-components=1,0,1
[weight]
UnknownWordPenalty0= 1
WordPenalty0= -1
TM= 0.1 0.2 0.3
TM_domain= 0.7
"""


@pytest.mark.parametrize(
    "content",
    [
        {"weights": {"LM0": [0.5], "TM": [1, -2e-9]}, "bleu": 0.4, "round": 3},
        {"LM0": [0.5], "TM": [1, -2e-9]},
        {"LM0": 0.5, "TM": [1, -2e-9]},
        {"weights": {"LM0": 0.5, "TM": [1, -2e-9]}},
    ],
)
def test_forms_of_weights(tmp_path: Path, content: object) -> None:
    """What tuning writes, or the object of weights alone; one number needs no brackets."""
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(content))
    assert read_weights_file(path) == {"LM0": (0.5,), "TM": (1.0, -2e-9)}


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "{", '{"TM": "12"}', '{"TM": [true]}', '{"TM": []}', '{"TM": [NaN]}',
     '{"TM": {"a": 1}}', '{"TM": 1e999}', '{"TM": 1' + "0" * 400 + "}", "\udcff"],
)  # fmt: skip
def test_other_files_are_no_weights_files(tmp_path: Path, content: str) -> None:
    """The error says what was expected."""
    path = tmp_path / "weights.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"not a weights file: .*Expected JSON such as"):
        read_weights_file(path)


def test_weights_of_an_ini(tmp_path: Path) -> None:
    """Those of the components that lists show, sparse ones too; what they do not show is said."""
    (tmp_path / "moses.ini").write_text(INI)
    given = GivenWeights.read(str(tmp_path / "moses.ini"))
    assert given.sparse == {"TM_domain": 0.7}
    assert given.fitted({"WordPenalty0": 1, "TM": 2}).tolist() == [-1.0, 0.1, 0.3]
    assert given.fitted({"TM": 2, "WordPenalty0": 1}).tolist() == [0.1, 0.3, -1.0]
    assert given.notes == (
        "the lists do not show all of what TM contribute: that part is left out of account",
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"LM0": (1,), "TM": (1, 2), "LM1": (3,)},
         r"no feature LM1, for which w has 1 weight \(did you mean LM0\?\)"),
        ({"LM0": (1,), "TM": (1, 2), "TM_domain": (3, 4)},
         "no feature TM_domain, for which w has 2 weights"),
        ({"LM1": (1,), "TM": (1, 2)}, "no feature LM1"),
        ({"TM": (1, 2)}, "a feature LM0, for which w has no weight"),
        ({"LM0": (1,), "TM": (1,)}, "2 values of TM, for which w has 1 weight"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit(values: dict[str, tuple[float, ...]], message: str) -> None:
    """One too many, one too few, another number of them."""
    with pytest.raises(NBestError, match=message):
        GivenWeights("w", values).fitted({"LM0": 1, "TM": 2})
