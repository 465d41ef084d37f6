"""Makes one better system from the sample corpus, and tests it; ``make demo`` runs this script.

One command builds a Moses system from two raw text files, trains models, keeps those that help on
the dev set, and leaves a folder that translates raw text. Then the test set is translated with this
folder and with the tuned system that has no models. The demo shows each command before it runs.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

# a checkout that is not installed finds itself
sys.path.append(str(Path(__file__).resolve().parents[1]))
from phrasescore.runs import processes

HERE = Path(__file__).resolve().parent
OUTPUT = Path("demo-output")
TIME = "110s"


def run(*arguments: str | Path) -> None:
    """Show a ``phrasescore`` command and run it; stop the demo if it fails."""
    words = [str(argument) for argument in arguments]
    print(f"\n$ phrasescore {' '.join(words)}", flush=True)
    done = processes.run(processes.phrasescore_command(words))
    if done.returncode:
        sys.exit(f"the demo stops here: that command ended with status {done.returncode}")


def main() -> None:
    """Improve, translate the test set, compare; then say what there is to look at."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    corpus = HERE.relative_to(Path.cwd()) if HERE.is_relative_to(Path.cwd()) else HERE
    run("improve", "--parallel", corpus / "train.en", corpus / "train.fr",
        "--source", corpus / "dev.en", "--reference", corpus / "dev.fr",
        "--tokenize", "en", "fr", "--lowercase", "--time", TIME, "-o", OUTPUT)  # fmt: skip
    texts = []
    for name in ("baseline", "system"):
        texts.append(OUTPUT / f"test.{name}.fr")
        run("decode", OUTPUT / name, "--raw", "-i", corpus / "test.en", "-o", texts[-1])
    run("compare", "--reference", corpus / "test.fr", "--lowercase", "--tokenize", "13a",
        "--baseline", texts[0], "--system", texts[1])  # fmt: skip
    run("report", OUTPUT, "-o", OUTPUT / "report.html")
    print(
        f"\n{OUTPUT / 'improve.md'} says what each model brings, and {OUTPUT / 'commands.sh'} has "
        f"all steps.\nOn so little text and time, models learn little; docs/results.md is about "
        f"larger corpora.\nTranslate: phrasescore decode {OUTPUT / 'system'} --raw"
    )


if __name__ == "__main__":
    main()
