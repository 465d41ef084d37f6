"""Makes moses2's inputs: a probing phrase table with reordering scores, and a KenLM binary.

This module does the work of moses2's script binarize4moses2.perl without programs that few builds
have: the scores of the reordering table become a property of each line of the phrase table.
"""

from __future__ import annotations

import gzip
import re
import subprocess
from pathlib import Path

from phrasescore.table.input_files import read_lines

_TABLE, _MODEL, _FOLDER = "table.with-reordering.gz", "lm.probing", "probing-table"
_SEPARATOR = b" |||"


def prepare(folder: Path, ini: str, programs: Path) -> str:
    """Make the inputs of moses2 in a system's folder; return the name of an ini that names them.

    Args:
        folder: The system, with one phrase table, one reordering table and one language model.
        ini: The name of the system's ini.
        programs: The folder of ``CreateProbingPT2`` and ``build_binary``.
    """
    text = (folder / ini).read_text()
    table, scores = _path_and_scores(text, "PhraseDictionaryMemory")
    reordering, reordering_scores = _path_and_scores(text, "LexicalReordering")
    model = re.search(r"^KENLM .*path=(\S+)", text, re.MULTILINE)
    assert model is not None, "the ini has no KenLM language model"
    _join(folder / table, folder / reordering, folder / _TABLE)
    for command in (
        f"CreateProbingPT2 --num-scores {scores} --num-lex-scores {reordering_scores} --log-prob "
        f"--input-pt {_TABLE} --output-dir {_FOLDER}",
        f"build_binary probing {model[1]} {_MODEL}",
    ):
        program, *arguments = command.split()
        subprocess.run(
            [programs / program, *arguments], cwd=folder, check=True, capture_output=True
        )
    text = re.sub(r"^PhraseDictionaryMemory", "ProbingPT", text, flags=re.MULTILINE)
    text = text.replace(f"path={table}", f"path={_FOLDER}").replace(model[1], _MODEL)
    text = text.replace(f"path={reordering}", "property-index=0")
    (folder / "moses2.ini").write_text(text)
    return "moses2.ini"


def _path_and_scores(ini: str, kind: str) -> tuple[str, int]:
    line = next(line for line in ini.splitlines() if line.startswith(f"{kind} "))
    options = dict(part.split("=", 1) for part in line.split()[1:])
    return options["path"], int(options["num-features"])


def _join(table: Path, reordering: Path, joined: Path) -> None:
    scores = {}
    for line in read_lines(reordering):
        *pair, values = (column.strip() for column in line.split(_SEPARATOR))
        scores[tuple(pair)] = values
    with gzip.open(joined, "wb", compresslevel=1) as stream:
        for line in read_lines(table):
            columns = [column.strip() for column in line.split(_SEPARATOR)]
            columns += [b""] * (7 - len(columns))
            columns[6] += b"{{LexRO %s}}" % scores[columns[0], columns[1]]
            stream.write(b" ||| ".join(columns) + b"\n")
