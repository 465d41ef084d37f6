"""Commands that need no torch do not import it, because importing takes longer than most runs."""

from __future__ import annotations

from pathlib import Path

from phrasescore.cli import COMMANDS
from phrasescore.commands.warm_up import write_texts
from tests.support.fresh_process import run_fresh

# commands that use a model or run other commands
WITH_TORCH = {
    *("train", "score", "score-text", "generate", "translate", "alignments", "analyze", "nbest")
}
OF_OTHERS = {"experiment", "improve", "warm-up"}

# the main job of each other command, which may need the outputs of earlier entries
CALLS = {
    "build": "text.en text.fr system --alignment links",
    "decode": "system/moses.ini -i text.en -o out.fr --nbest out.nbest --nbest-size 5 "
    "--include-segmentation-in-n-best",
    "force-score": "system/moses.ini --input text.en --nbest out.nbest --check 1",
    "tune": "system/moses.ini --source text.en --reference text.fr --rounds 1 -o tuned",
    "optimize": "--nbest out.nbest --reference text.fr --start system/moses.ini",
    "rerank": "out.nbest --mbr -o reranked.fr",
    "doctor": "system/moses.ini",
    "prune": "system/phrase-table.gz -o pruned.gz --top 5 --column 3",
    "filter": "system/moses.ini --input text.en -o filtered",
    "ini": "absolute-paths system/moses.ini -o absolute.ini",
    "preprocess": "text.en --system system --side source -o prepared.en",
    "postprocess": "text.fr --system system --side target -o plain.fr",
    "evaluate": "out.fr --reference text.fr",
    "compare": "--reference text.fr --baseline text.en --system out.fr --json-file compared.json",
    "report": ". -o report.html",
    "normalise": "train words.tsv normaliser --dev words.tsv",
}
# one process runs all commands, because in a process of its own each would import numba again
PROBE = """
import sys
from phrasescore.cli import main
for line in sys.argv[1:]:
    sys.argv = ["phrasescore", *line.split()]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, line
    assert "torch" not in sys.modules, f"torch is loaded by {line}"
"""


def test_every_command_is_known_here() -> None:
    """Every command is in one of the two lists."""
    assert {*CALLS, *WITH_TORCH, *OF_OTHERS} == set(COMMANDS)


def test_no_torch_where_none_is_needed(tmp_path: Path) -> None:
    """The main jobs of these commands do not import torch."""
    write_texts(tmp_path)
    (tmp_path / "words.tsv").write_text("onely\tonly\nverie\tvery\nmanie\tmany\n" * 9)
    lines = [f"{command} {arguments}" for command, arguments in CALLS.items()]
    run_fresh(tmp_path, *lines, program=("-c", PROBE)).well()
