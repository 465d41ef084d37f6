"""Measures the seconds and memory of estimating an n-gram model, by us and by KenLM's lmplz.

Both run alternately in fresh processes; the figures are medians and include start-up. Ours runs
with a warm compile cache, and once with an empty cache. Text and model are plain files, so that
gzip is not measured. The result is JSON on standard output.

    python -m benchmarks.bench_language_model CORPUS --moses-bin FOLDER

With ``--sentences N``, the text is N new sentences, each joined from parts of three sentences.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import random
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.costs import in_turn, median, run
from phrasescore.table.input_files import open_input

_ESTIMATE = (
    "import sys; from moses_integration.language_model.kneser_ney import write_arpa; "
    "write_arpa('corpus', int(sys.argv[1]), 'own.arpa')"
)


def spliced(text: bytes, sentences: int) -> bytes:
    """Make new sentences: the beginning of one sentence, part of a second, the end of a third."""
    lines = [line.split() for line in text.splitlines()]
    chance = random.Random(1)
    new = []
    for _ in range(sentences):
        first, second, third = chance.choices(lines, k=3)
        begin, end = (int(chance.random() * (len(side) + 1)) for side in (first, third))
        middle = int(chance.random() * (len(second) + 1))
        new.append(b" ".join(first[:begin] + second[middle // 2 : middle] + third[end:]))
    return b"\n".join(new) + b"\n"


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("corpus", type=Path, help="one sentence per line, plain or gzip")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--sentences", type=int, help="new sentences, made from the corpus")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--moses-bin", type=Path, default=os.environ.get("MOSES_BIN"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-lm-") as scratch:
        folder = Path(scratch)
        with open_input(options.corpus) as stream:
            text = stream.read()
        text = spliced(text, options.sentences) if options.sentences else text
        (folder / "corpus").write_bytes(text)
        order = str(options.order)
        ours = partial(run, [sys.executable, "-c", _ESTIMATE, order], folder=folder)
        cold = median([ours(cache=folder / "cache")])
        ours()  # warms the compile cache of the installation
        result: dict[str, object] = {"ours with an empty compile cache": cold}
        if options.moses_bin is None:
            result["ours"] = in_turn(options.runs, ours)[0]
        else:
            command = [str(options.moses_bin / "lmplz"), "-o", order, "-S", "1G"]
            command += ["--discount_fallback", "--text", "corpus", "--arpa", "lmplz.arpa"]
            lmplz = partial(run, command, folder=folder)
            result["ours"], result["lmplz"] = in_turn(options.runs, ours, lmplz)
            same = filecmp.cmp(folder / "own.arpa", folder / "lmplz.arpa", shallow=False)
            result["same bytes"] = same
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
