"""Reading weights from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phrasescore.errors import IniError, InputError
from tuning.loop.weight_files import read_weights, read_weights_file

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
    """Files of tuning and plain objects of weights are read; one number needs no brackets."""
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(content))
    assert read_weights_file(path) == {"LM0": (0.5,), "TM": (1.0, -2e-9)}


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "{", '{"TM": "12"}', '{"TM": [true]}', '{"TM": []}', '{"TM": [NaN]}',
     '{"TM": {"a": 1}}', '{"TM": 1e999}', '{"TM": 1' + "0" * 400 + "}", "\udcff"],
)  # fmt: skip
def test_other_files_are_no_weights_files(tmp_path: Path, content: str) -> None:
    """Other files are refused with the expected form."""
    path = tmp_path / "weights.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"not a weights file: .*Expected JSON such as"):
        read_weights_file(path)


def test_weights_of_an_ini(tmp_path: Path) -> None:
    """Weights are those of listed components and sparse features; a note names hidden ones."""
    (tmp_path / "moses.ini").write_text(INI)
    weights, notes = read_weights(str(tmp_path / "moses.ini"))
    assert weights == {"WordPenalty0": (-1.0,), "TM": (0.1, 0.3), "TM_domain": (0.7,)}
    assert notes == ("the lists do not show all scores of TM; the missing scores are ignored",)


def test_json_is_recognised_by_its_content(tmp_path: Path) -> None:
    """A JSON file of weights needs no name that ends in ``.json``, and may begin with spaces."""
    (tmp_path / "weights").write_text('\n {"LM0": 0.5}')
    assert read_weights(str(tmp_path / "weights")) == ({"LM0": (0.5,)}, ())


def test_a_damaged_json_file_is_not_read_as_a_moses_ini(tmp_path: Path) -> None:
    """A file whose name ends in ``.json`` is refused as JSON, even without ``{`` at its start."""
    (tmp_path / "weights.json").write_text("")
    with pytest.raises(InputError, match="not a weights file: it is not JSON"):
        read_weights(str(tmp_path / "weights.json"))


def test_dense_weights_of_mert_moses(tmp_path: Path) -> None:
    """A run*.dense has a line for each component, in the order of the lists."""
    path = tmp_path / "run3.dense"
    path.write_text("LM0= 0.5\nTM= -1e-05\nTM= 0.3\n")
    assert read_weights(str(path)) == ({"LM0": (0.5,), "TM": (-1e-5, 0.3)}, ())
    path.write_text("LM0= 0.5\nTM= much\n")
    with pytest.raises(IniError, match=r"run3\.dense: a weight of TM is 'much'"):
        read_weights(str(path))


@pytest.mark.parametrize("content", ["0.1 0.2 -0.3 \n", "not used\n"])
def test_weights_without_names(tmp_path: Path, content: str) -> None:
    """A run*.weights.txt has no names; the error names the file that has the same weights."""
    path = tmp_path / "run5.weights.txt"
    path.write_text(content)
    with pytest.raises(IniError, match=r"run5\.weights\.txt to run6\.moses\.ini or moses\.ini"):
        read_weights(str(path))
