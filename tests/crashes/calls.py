"""One call of every long-running command, and what a repeated call must do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """A valid call, in a folder with the world in ``in`` and an empty folder ``out``.

    Args:
        arguments: The words of the call.
        kept: A pattern of files in ``out`` that contain finished work; empty if a repeated call
            starts from scratch.
        says: A pattern of the message of a call that continues such work.
        stays: Patterns of files in ``out`` that are not made again once they have their names.
        costly: Whether the call is tried less often, because its steps are separate processes.
    """

    arguments: tuple[str, ...]
    kept: str = ""
    says: str = ""
    stays: tuple[str, ...] = ()
    costly: bool = False

    @property
    def name(self) -> str:
        """The name of the command."""
        special = [word for word in self.arguments if word in ("--table", "--lm-order", "--seeds")]
        return " ".join([self.arguments[0], *special])


def _call(words: str, *kept: Any, **more: Any) -> Call:
    return Call(tuple(words.split()), *kept, **more)


_GOING_ON = "continuing after line"

CALLS: tuple[Call, ...] = (
    _call(
        "train in/short-table out/model --hidden 16 --embedding 16 --threads 1 --max-epochs 1 "
        "--evaluations 4 --checkpoint-every 0.3s",
        *("model.training/checkpoint.pt", "resuming after|is trained already"),
    ),
    _call(
        "score in/phrase-table --model in/model -o out/table.gz --threads 1",
        *(".table.gz.journal", _GOING_ON),
    ),
    _call(
        "score-text in/pairs.tsv --model in/model -o out/scored --words --threads 1",
        *(".scored.journal", _GOING_ON),
    ),
    _call(
        "generate --model in/model -i in/phrases -o out/targets --beam 2 --threads 1",
        *(".targets.journal", _GOING_ON),
    ),
    _call(
        "prune in/phrase-table -o out/table.gz --top 2 --column 1 --reordering in/reordering "
        "--reordering-output out/reordering.gz",
        *(".table.gz.journal", _GOING_ON),
    ),
    _call(
        "translate --model in/search -i in/longer.src -o out/text.gz --nbest out/list --beam 2 "
        "--max-length 6 --threads 1",
        *(".text.gz.journal", _GOING_ON),
    ),
    _call("filter in/moses.ini --input in/long.src -o out/part"),
    _call(
        "build in/train.fr in/train.en out/system --tokenize fr en --lm-order 3 --threads 1",
        stays=("system/phrase-table.gz", "system/aligned.grow-diag-final-and"),
    ),
    _call(
        "build in/train.fr in/train.en out/system --tokenize fr en --threads 1",
        stays=("system/phrase-table.gz", "system/aligned.grow-diag-final-and"),
    ),
    _call(
        "decode in/moses.ini -i in/long.src -o out/text --nbest out/list.gz --nbest-size 20 "
        "--cache-folder out/cache --threads 1",
        *(".text.journal", _GOING_ON),
    ),
    _call(
        "nbest in/list --model in/lm --source in/list.src -o out/list.gz --threads 1",
        *(".list.gz.journal", _GOING_ON),
    ),
    _call(
        "tune in/moses.ini --source in/dev.src --reference in/dev.trg -o out/tuned --decoder "
        "embedded --rounds 2 --nbest-size 20 --restarts 3 --threads 1",
        stays=("tuned/round*/nbest.gz", "tuned/steps/optimize.*.json"),
    ),
    _call(
        "tune in/moses.ini --source in/dev.src --reference in/dev.trg -o out/tuned --decoder "
        "embedded --rounds 1 --nbest-size 20 --restarts 1 --threads 1 --seeds 2",
        stays=("tuned/**/nbest.gz", "tuned/steps/*optimize.*.json"),
    ),
    _call(
        "experiment in/experiment.toml -o out/results --decoder embedded",
        stays=("results/models/rnn/model.safetensors", "results/system/moses.ini"),
        costly=True,
    ),
)
