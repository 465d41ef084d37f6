"""Everything compiled ahead, by the commands themselves, over a small text of their own.

No list of functions and types could go stale here: what the commands compile for this text is what
they compile for any.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from phrasescore.errors import PhrasescoreError
from phrasescore.runs.final_names import scratch_folder
from phrasescore.runs.processes import python_command, run, usable_cores
from phrasescore.runs.progress import Progress

_SENTENCES, _WORDS = 60, 40

# a command in a process of its own, which leaves in a file how many functions it compiled
_JOB = """
from phrasescore.cli import main
count = sys.argv.pop(1)
try:
    main()
finally:
    watch = sys.modules.get("phrasescore.compiling.watch")
    with open(count, "w") as file:
        print(watch.compiled_functions() if watch else 0, file=file)
"""

# what each step needs was made by the steps before it; those of a step run side by side
STEPS: tuple[tuple[str, ...], ...] = (
    ("build text.en text.fr system --alignment links --threads 1",),
    (
        "train system/phrase-table.gz model --hidden 16 --max-epochs 1 --evaluations 1",
        "train text.fr lm --kind feed-forward-lm --hidden 16 --max-epochs 1 --evaluations 1",
        "tune system/moses.ini --source text.en --reference text.fr --rounds 2 -o tuned",
        "decode system/moses.ini -i text.en -o out.fr --nbest out.nbest --nbest-size 10 "
        "--include-segmentation-in-n-best",
        "decode system/moses.ini -i text.en -o cubes.fr --search-algorithm 1 --mbr",
        "doctor system/moses.ini --source text.en --reference text.fr",
        "prune system/phrase-table.gz -o pruned.gz --top 5 --column 3",
        "filter system/moses.ini --input text.en -o filtered",
        "evaluate text.en --reference text.fr",
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


def warm_up(cores: int | None = None) -> int:
    """Have everything compiled that the commands use.

    Args:
        cores: How many commands run side by side; ``None`` for as many as there are cores.

    Returns:
        How many functions were compiled; 0 if all of them were there.

    Raises:
        PhrasescoreError: A command failed.
    """
    compiled = 0
    with (
        scratch_folder(Path(tempfile.gettempdir()) / "phrasescore") as folder,
        ThreadPoolExecutor(cores or usable_cores()) as pool,
        Progress("compiling", sum(map(len, STEPS)), "commands") as progress,
    ):
        write_texts(folder)
        for step in STEPS:
            jobs = [pool.submit(_run, folder, command) for command in step]
            for job in _finished(jobs):
                compiled += job
                progress.advance(1, f"{compiled:,} functions")
    return compiled


def _finished(jobs: list[Future[int]]) -> Iterator[int]:
    try:
        for job in as_completed(jobs):
            yield job.result()
    finally:
        for job in jobs:
            job.cancel()


def _run(folder: Path, command: str) -> int:
    """Run one command; return how many functions it compiled."""
    count = folder / f"count.{command.replace('/', ' ').replace(' ', '_')}"[-200:]
    done = run(
        python_command(_JOB, [str(count), *command.split()]),
        cwd=folder,
        env={**os.environ, **_cache_folder()},
        stdin=-3,
        stdout=-1,
        stderr=-1,
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise PhrasescoreError(
            f"`phrasescore {command}` failed on a text made for it: {said}",
            remedy="that command does not work on this machine, either: begin with what it says",
        )
    return int(count.read_text())


def _cache_folder() -> dict[str, str]:
    """Return the cache folder as it is seen from elsewhere."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    return {"NUMBA_CACHE_DIR": str(Path(named).absolute())} if named else {}


def write_texts(folder: Path) -> None:
    """Write to a folder ``text.en``, ``text.fr`` and ``links``.

    They are sentences of made-up words and their translations, every third turned round.
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
