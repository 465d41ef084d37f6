"""Seconds and memory of estimating an n-gram model: ours, and KenLM's lmplz in turn.

Fresh processes, in turn, start-up included, medians; ours with a warm compile cache, and once with
an empty one. Text and model are plain files, so that no gzip is measured. The result is JSON on
standard output.

    python -m benchmarks.bench_language_model CORPUS --moses-bin FOLDER
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
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


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("corpus", type=Path, help="one sentence per line, plain or gzip")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--moses-bin", type=Path, default=os.environ.get("MOSES_BIN"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-lm-") as scratch:
        folder = Path(scratch)
        with open_input(options.corpus) as stream:
            (folder / "corpus").write_bytes(stream.read())
        order = str(options.order)
        ours = partial(run, [sys.executable, "-c", _ESTIMATE, order], folder=folder)
        cold = median([ours(cache=folder / "cache")])
        ours()  # so that the compile cache of the installation is warm, too
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
