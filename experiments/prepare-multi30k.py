#!/usr/bin/env python3
"""Make the data of multi30k.toml: ``prepare-multi30k.py TEXTS [FOLDER]``.

TEXTS has Multi30k, tokenised and lower-cased: ``train``, ``val`` and ``test2016``, each with the
ending ``.en`` and ``.fr``, plain or gzip. ``--languages`` and ``--tests`` name others. FOLDER gets
the texts and a system that is built from the training text without the sentences set aside in
``held-out``. On one kind of processor, the same texts give the same files.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import subprocess
from collections import Counter
from pathlib import Path

SEED = 2016
Pair = tuple[str, str]


def read_pairs(folder: Path, name: str, languages: list[str]) -> list[Pair]:
    """Return the sentence pairs of a text."""
    sides = []
    for language in languages:
        path = folder / f"{name}.{language}"
        packed = path.with_name(f"{path.name}.gz")
        content = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
        sides.append(content.decode("utf-8").removesuffix("\n").split("\n"))
    return list(zip(*sides, strict=True))


def set_aside(
    training: list[Pair], others: list[Pair], count: int
) -> tuple[list[Pair], list[Pair]]:
    """Divide the training text; return the pairs that stay, and the pairs that are set aside.

    Neither side of a pair that is set aside occurs anywhere else in the training text or in the
    other texts. The choice depends only on the words of the pairs and on SEED.
    """
    seen = [Counter(side) for side in zip(*training, *others, strict=True)]
    single = [pair for pair in training if all(seen[n][pair[n]] == 1 for n in range(2))]
    if len(single) < count:
        raise SystemExit(f"{len(single)} sentence pairs can be set aside, not {count}")
    chosen = set(
        sorted(single, key=lambda pair: hashlib.sha256(f"{SEED} {pair}".encode()).digest())[:count]
    )
    rest = [pair for pair in training if pair not in chosen]
    return rest, [pair for pair in training if pair in chosen]


def main() -> None:
    """Write the texts and build the system."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", type=Path, metavar="TEXTS")
    parser.add_argument("folder", type=Path, metavar="FOLDER", nargs="?")
    parser.add_argument("--languages", nargs=2, default=["en", "fr"], metavar=("SOURCE", "TARGET"))
    parser.add_argument("--tests", nargs="+", default=["test2016"], metavar="NAME")
    parser.add_argument("--small", action="store_true", help="the data of multi30k-small.toml")
    options = parser.parse_args()
    folder = options.folder or here / "data" / f"multi30k-{'small' if options.small else 'main'}"
    languages, texts = options.languages, {}
    for name in ("train", "val", *options.tests):
        pairs = read_pairs(options.texts, name, languages)
        texts[name] = pairs[: 4_000 if name == "train" else 200] if options.small else pairs
    others = [pair for name in ("val", *options.tests) for pair in texts[name]]
    aside = 200 if options.small else 1_000
    texts["train"], texts["held-out"] = set_aside(texts["train"], others, aside)
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in texts.items():
        for language, side in zip(languages, zip(*pairs, strict=True), strict=True):
            (folder / f"{name}.{language}").write_text(
                "\n".join(side) + "\n", "utf-8", newline="\n"
            )
    train = [f"train.{language}" for language in languages]
    command = ["phrasescore", "build", *train, "system", "--lm-order", "5"]
    command += ["--aligner", "fast_align", "--update"]
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    main()
