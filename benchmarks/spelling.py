"""Measures the word accuracy of spelling normalisation by number of training words.

    python -m benchmarks.spelling histnorm results.jsonl [--blocks 10] [--neural]

The folder has files such as ``slovene-bohoric.train.tsv`` (and ``.dev.tsv``, ``.test.tsv``), a list
of modern words and the published table, from coastalcph/histnorm. Words are prepared as for that
table (Bollmann 2019, section 4.1): lines without two columns, or with a column of only punctuation,
are dropped; text is converted to NFC and lower case; digits become 0 if both words are equal. For
each number of words, evenly spaced blocks are cut from the training set. A normaliser is trained on
each block, tuned on all of dev, and measured on dev and test. Each result is a line of JSON in the
results file, and is not computed again. A table of our and the published accuracies is printed to
standard output.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import resource
import statistics
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tuning.normalisation.normaliser import Normaliser, NormaliserSettings, train
from tuning.normalisation.word_pairs import evaluate, read_pairs

_DATASETS = {"SLB": "slovene-bohoric", "SLG": "slovene-gaj"}
_WORD_LIST = "modern-words.sl.txt"
_SIZES = (100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000)
_BLOCKS = 10
_PEER = "cSMTiser+LM"


def prepared(path: Path) -> list[str]:
    """Return the lines of a file of pairs, prepared as for the published figures."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        columns = [
            unicodedata.normalize("NFC", column).lower().strip() for column in line.split("\t")
        ]
        if len(columns) != 2 or not all(map(_is_word, columns)):
            continue
        if columns[0] == columns[1]:
            columns = ["".join("0" if sign.isdigit() else sign for sign in columns[0])] * 2
        lines.append("\t".join(columns))
    return lines


def _is_word(text: str) -> bool:
    return not all(unicodedata.category(sign).startswith("P") for sign in text)


def blocks(lines: list[str], size: int, max_blocks: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line's index, block) for up to ``max_blocks``, at most ten, evenly spaced."""
    count = min(_BLOCKS, len(lines) // size)
    chosen = min(max_blocks, count)
    for number in sorted({place * (count - 1) // max(chosen - 1, 1) for place in range(chosen)}):
        begin = number * (len(lines) - size) // max(count - 1, 1)
        yield begin, lines[begin : begin + size]


def measure(
    training: list[str], held_out: dict[str, Path], word_list: Path, *, neural: bool
) -> dict[str, Any]:
    """Train a normaliser; return its accuracies and the seconds of training."""
    with tempfile.TemporaryDirectory() as scratch:
        words, folder = Path(scratch, "train.tsv"), Path(scratch, "normaliser")
        words.write_text("".join(f"{line}\n" for line in training), "utf-8")
        cpu, clock = _cpu_seconds(), time.monotonic()
        settings = NormaliserSettings(
            str(words), str(held_out["dev"]), (str(word_list),), neural=neural
        )
        choice = train(settings, folder, print)
        costs = {"cpu_seconds": _cpu_seconds() - cpu, "seconds": time.monotonic() - clock}
        normaliser = Normaliser(folder)
        scores = {}
        for name, path in held_out.items():
            pairs = read_pairs(path)
            found = evaluate(normaliser.forms(pairs.words), pairs, normaliser.memory)
            scores[name] = {each.name: dataclasses.asdict(each) for each in found}
    return {"rule": choice.rule, "system_right": choice.system_right, **costs, **scores}


def _cpu_seconds() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def published(path: Path) -> dict[tuple[str, int], float]:
    """Return the published accuracies by data and number of words."""
    with path.open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["system"] == _PEER]
    return {
        (name, int(row["words"])): float(row[name])
        for row in rows
        for name in _DATASETS
        if row[name] != "–"
    }


def table(results: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table: mean accuracies over blocks, and published accuracies."""
    yield f"| data | words | blocks | dev | test | {_PEER} | CPU seconds |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    groups: dict[tuple[str, bool, int], list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault((result["data"], result["neural"], result["words"]), []).append(result)
    for (name, neural, words), group in sorted(groups.items()):
        dev, test = (
            100 * statistics.fmean(each[part]["all words"]["accuracy"]["mean"] for each in group)
            for part in ("dev", "test")
        )
        theirs = group[0]["published"]
        seconds = statistics.median(each["cpu_seconds"] for each in group)
        yield (
            f"| {name}{' neural' * neural} | {words:,} | {len(group)} | {dev:.2f} | {test:.2f} | "
            f"{f'{theirs:.2f}' if theirs else '–'} | {seconds:.0f} |"
        )


def main() -> None:
    """Compute the missing results, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spelling")
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--data", nargs="+", choices=_DATASETS, default=list(_DATASETS))
    parser.add_argument(
        "--sizes", nargs="+", type=int, help="default: all published, and all words"
    )
    parser.add_argument("--blocks", type=int, default=_BLOCKS)
    parser.add_argument("--neural", action="store_true")
    arguments = parser.parse_args()
    lines = arguments.results.read_text().splitlines() if arguments.results.exists() else []
    results = [json.loads(line) for line in lines]
    known = {(each["data"], each["words"], each["begin"], each["neural"]) for each in results}
    theirs = published(arguments.folder / "table6.tsv")
    for name in arguments.data:
        parts = {
            part: prepared(arguments.folder / f"{_DATASETS[name]}.{part}.tsv")
            for part in ("train", "dev", "test")
        }
        with tempfile.TemporaryDirectory() as scratch:
            held_out = {part: Path(scratch, f"{part}.tsv") for part in ("dev", "test")}
            for part, path in held_out.items():
                path.write_text("".join(f"{line}\n" for line in parts[part]), "utf-8")
            for size in arguments.sizes or (*_SIZES, len(parts["train"])):
                for begin, block in blocks(parts["train"], size, arguments.blocks):
                    key = {"data": name, "words": size, "begin": begin, "neural": arguments.neural}
                    if tuple(key.values()) in known:
                        continue
                    word_list = arguments.folder / _WORD_LIST
                    found = measure(block, held_out, word_list, neural=arguments.neural)
                    results.append(key | {"published": theirs.get((name, size))} | found)
                    with arguments.results.open("a") as stream:
                        stream.write(f"{json.dumps(results[-1])}\n")
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
