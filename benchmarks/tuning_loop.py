"""Measures the whole outer loop: ``phrasescore tune`` and Moses's ``mert-moses.pl``, alternately.

Both tune the same ini on the same dev set with MERT, with the same number of rounds of 100-best
lists and 20 restarts each, and filter the tables themselves. Ours decodes once more, to score the
last weights. mert-moses.pl asks the decoder for a list of its features. moses2 cannot print one, so
this module gives the script the list in moses2's order: the order of the ini.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.costs import Cost, run

_PATH = re.compile(r"(?<= path=)[^\s]+")


@dataclass(frozen=True)
class Loop:
    """A system to tune, and the programs and settings of tuning.

    Args:
        ini: The system; its paths are relative to the current directory.
        source: The dev set.
        reference: The reference translation of the dev set.
        moses_bin: The folder of Moses's programs.
        scripts: The folder of Moses's scripts.
        scratch: A scratch folder.
        rounds: The number of optimisations.
        threads: The number of threads of decoders and optimisers.
    """

    ini: Path
    source: Path
    reference: Path
    moses_bin: Path
    scripts: Path
    scratch: Path
    rounds: int
    threads: int

    def _absolute(self) -> Path:
        """Write the ini with absolute paths."""
        text = self.ini.read_text("utf-8")
        whole = _PATH.sub(lambda found: str(Path(found[0]).resolve()), text)
        path = self.scratch / "moses.ini"
        path.write_text(whole, "utf-8")
        return path

    def ours(self, number: int) -> tuple[Cost, float]:
        """Run `phrasescore tune`; return its cost, and BLEU of the best round."""
        folder = self.scratch / f"ours{number}"
        command = [sys.executable, "-m", "phrasescore", "tune", str(self._absolute())]
        command += ["--source", str(self.source), "--reference", str(self.reference)]
        command += ["--rounds", str(self.rounds), "--patience", "0", "-o", str(folder)]
        cost = run([*command, "--threads", str(self.threads)], folder=self.scratch)
        return cost, float(json.loads((folder / "weights.json").read_text("utf-8"))["bleu"])

    def _features(self, ini: Path) -> str:
        """Return the output of `-show-weights` for tuneable features, in the order of the ini."""
        command = [str(self.moses_bin / "moses"), "-f", str(ini), "-show-weights"]
        shown = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        lines = {line.partition("=")[0]: line for line in shown.splitlines() if "=" in line}
        kinds = re.findall(r"^(\w+)(?: .*?name=(\S+))?", ini.read_text("utf-8"), re.MULTILINE)
        names = [name or f"{kind}0" for kind, name in kinds]
        return "".join(f"{lines[name]}\n" for name in dict.fromkeys(names) if name in lines)

    def moses(self, decoder: str, number: int) -> tuple[Cost, float]:
        """Run `mert-moses.pl` with moses or moses2; return its cost, and BLEU of the best round."""
        folder, ini = self.scratch / f"{decoder}{number}", self._absolute()
        folder.mkdir()
        if decoder == "moses2":
            (folder / "features.list").write_text(self._features(ini), "utf-8")
        script = self.scripts / "training" / "mert-moses.pl"
        command = ["perl", str(script), "--working-dir", str(folder), "--predictable-seeds"]
        command += ["--mertdir", str(self.moses_bin), "--rootdir", str(self.scripts)]
        command += ["--nbest", "100", "--maximum-iterations", str(self.rounds)]
        command += [f"--threads={self.threads}", f"--decoder-flags=-threads {self.threads}"]
        command += ["--return-best-dev", str(self.source), str(self.reference)]
        command += [str(self.moses_bin / decoder), str(ini)]
        cost = run(command, folder=self.scratch)
        best = re.search(r"^# BLEU ([0-9.]+)", (folder / "moses.ini").read_text("utf-8"), re.M)
        return cost, float(best[1]) if best else float("nan")


def measured(loop: Loop, runs: int) -> dict[str, object]:
    """Run ours, Moses and moses2 alternately; return costs, and ratios of wall and CPU seconds."""
    loop.ours(0)  # warms the compile cache
    found: dict[str, list[tuple[Cost, float]]] = {"ours": [], "moses": [], "moses2": []}
    for number in range(1, runs + 1):
        found["ours"].append(loop.ours(number))
        for decoder in ("moses", "moses2"):
            found[decoder].append(loop.moses(decoder, number))
    result: dict[str, object] = {
        name: [{**asdict(cost), "bleu": round(bleu, 4)} for cost, bleu in rows]
        for name, rows in found.items()
    }
    for decoder in ("moses", "moses2"):
        pairs = list(zip(found[decoder], found["ours"], strict=True))
        result[f"{decoder} by ours"] = {
            what: [round(getattr(a, what) / getattr(b, what), 2) for (a, _), (b, _) in pairs]
            for what in ("wall", "cpu")
        }
    return result
