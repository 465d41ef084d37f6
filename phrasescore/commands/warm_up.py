"""``phrasescore warm-up``: compile ahead of time all code that numba caches on a machine."""

from __future__ import annotations

import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import click

from phrasescore import compile_cache
from phrasescore.commands.declarations import Options, command
from phrasescore.commands.options import CORES
from phrasescore.errors import PhrasescoreError, SettingsError, counted
from phrasescore.runs.final_names import scratch_folder
from phrasescore.runs.processes import CAPTURED, phrasescore_command, run, usable_cores
from phrasescore.runs.progress import Progress

_SENTENCES, _WORDS = 60, 40

# the commands of a step run in parallel, and read the outputs of the earlier steps
STEPS: tuple[tuple[str, ...], ...] = (
    ("build text.en text.fr system --alignment links --threads 1",),
    (
        "train system/phrase-table.gz model --hidden 16 --max-epochs 1 --evaluations 1",
        "train text.fr lm --kind feed-forward-lm --hidden 16 --max-epochs 1 --evaluations 1",
        "tune system/moses.ini --source text.en --reference text.fr --rounds 2 -o tuned",
        "decode system/moses.ini -i text.en -o out.fr --nbest out.nbest --nbest-size 10 "
        "--include-segmentation-in-n-best",
        "decode system/moses.ini -i text.en -o cubes.fr --search-algorithm 1",
        "doctor system/moses.ini --source text.en --reference text.fr",
        "prune system/phrase-table.gz -o pruned.gz --top 5 --column 3",
        "filter system/moses.ini --input text.en -o filtered",
        "evaluate text.en --reference text.fr",
        "build text.en text.fr characters --characters --threads 1",
    ),
    (
        "score --model model system/phrase-table.gz -o scored.gz",
        "score-text --model model text.en text.fr",
        "generate --model model -i text.en",
        "nbest --model model --source text.en out.nbest -o rescored.nbest",
        "force-score system/moses.ini --input text.en --nbest out.nbest --check 1",
        "tune system/moses.ini --source text.en --reference text.fr --rounds 1 "
        "--optimizer mira -o tuned.mira",
        "tune system/moses.ini --source text.en --reference text.fr --rounds 1 "
        "--optimizer pro -o tuned.pro",
        "compare --reference text.fr --baseline out.fr --system cubes.fr",
    ),
)


def compile_all(cores: int | None = None) -> int:
    """Run the commands over a small text, so that everything they use is compiled.

    This needs no list of functions and types, which could become incomplete: the commands compile
    the same functions for this text as for any other text.

    Args:
        cores: The number of commands to run in parallel; ``None`` for the number of cores.

    Returns:
        The number of functions that were compiled; 0 if all of them were cached.

    Raises:
        SettingsError: There is no safe folder for the code.
        PhrasescoreError: A command failed.
    """
    compile_cache.choose_folder()  # the commands inherit the folder
    if compile_cache.chosen_folder is None:
        raise SettingsError(
            "there is no folder for compiled functions that you alone can write",
            remedy="name one with NUMBA_CACHE_DIR",
        )
    before = _kept_functions()
    with (
        scratch_folder(Path(tempfile.gettempdir()) / "phrasescore") as folder,
        ThreadPoolExecutor(cores or usable_cores()) as pool,
        Progress("compiling", sum(map(len, STEPS)), "commands") as progress,
    ):
        write_texts(folder)
        for step in STEPS:
            # after a failure, `map` cancels the commands that have not begun
            for _ in pool.map(partial(_run, folder), step):
                progress.advance(1, f"{_kept_functions() - before:,} functions")
    return _kept_functions() - before


def _kept_functions() -> int:
    """Return the number of functions in numba's cache, which has a file for each function."""
    assert compile_cache.chosen_folder is not None
    return sum(1 for _ in compile_cache.chosen_folder.glob("*/*.nbc"))


def _run(folder: Path, command: str) -> None:
    """Run one command."""
    command_line = phrasescore_command(command.split())
    done = run(command_line, cwd=folder, stdin=subprocess.DEVNULL, **CAPTURED)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip(".\n ").split("\n")[-1]
        raise PhrasescoreError(
            f"`phrasescore {command}` failed on a small test text: {said}",
            remedy="correct the cause of that message, then run warm-up again",
        )


def write_texts(folder: Path) -> None:
    """Write ``text.en``, ``text.fr`` and ``links`` to a folder.

    The texts are sentences of made-up words and their translations. Every third translation has its
    words in reverse order.
    """
    source, target, links = [], [], []
    for number in range(_SENTENCES):
        order = range(3 + number % 7)
        words = [(number * 7 + place * (3 + number % 5)) % _WORDS for place in order]
        places = list(reversed(order)) if number % 3 == 0 else list(order)
        source.append(" ".join(f"w{word}" for word in words))
        target.append(" ".join(f"m{words[place]}" for place in places))
        links.append(" ".join(f"{place}-{at}" for at, place in enumerate(places)))
    for name, lines in (("text.en", source), ("text.fr", target), ("links", links)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


class WarmUpOptions(Options):
    """Options of ``warm-up``."""

    threads: int | None = CORES


@command("warm-up", WarmUpOptions)
def warm_up(options: WarmUpOptions) -> None:
    """Compile the numerical code of all commands ahead of time.

    A command compiles its numerical code when it first runs on a machine, and keeps the result.
    warm-up runs all commands on a small text in a temporary folder, so that all code of a container
    image or a cluster is compiled before the first job. The compiled code goes to NUMBA_CACHE_DIR,
    or else beside the program, or else to the user's cache folder; users who cannot write there can
    still read it. The code is valid for one version of phrasescore, Python and numba, and for one
    kind of processor: on a cluster with several kinds, run warm-up on each kind.
    """
    start = time.monotonic()
    compiled = compile_all(options.threads)
    seconds = time.monotonic() - start
    if compiled:
        click.echo(f"compiled {counted(compiled, 'function')} in {seconds:,.0f} s")
    else:
        click.echo(f"nothing was left to compile ({seconds:,.0f} s)")
