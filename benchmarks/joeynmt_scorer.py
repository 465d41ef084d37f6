"""Scores given pairs with JoeyNMT's ``test`` command and ``return_prob: ref``.

JoeyNMT (PyPI: joeynmt) is a maintained toolkit that has recurrent models and prints
log-probabilities of given references. The model made here has the sizes of our model (hidden,
embedding and vocabulary sizes, one GRU layer per side) and random initial weights, because speed
does not depend on weights. The networks still differ. JoeyNMT's encoder does less work than ours:
it reads in both directions with half of the units each (version 2.3.0 fails on a single direction).
Its decoder does more work: it has attention, and a full hidden x V output matrix without maxout or
low rank. Its GRU applies the reset gate after the product.

The script runs in a separate environment with joeynmt, and needs no part of this project:

    JOEYNMT/python joeynmt_scorer.py MODEL TABLE FOLDER [--batch 64] [--threads N]
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path

import torch
from joeynmt.config import parse_global_args
from joeynmt.data import load_data
from joeynmt.model import build_model
from joeynmt.prediction import test

_SPECIALS = ("<unk>", "<pad>", "<s>", "</s>")
_NOT_WORDS = {"</s>", "<unk>", *_SPECIALS}


def write_text(table: Path, folder: Path) -> int:
    """Write a table's sides to test.f and test.e, one phrase per line; return the pair count."""
    with gzip.open(table, "rb") as lines:
        phrases = [line.split(b" ||| ", 2)[:2] for line in lines]
    for name, column in (("test.f", 0), ("test.e", 1)):
        (folder / name).write_bytes(b"".join(pair[column] + b"\n" for pair in phrases))
    return len(phrases)


def write_vocabulary(words: Path, path: Path) -> None:
    text = words.read_text("utf-8").removesuffix("\n").split("\n")
    known = [word for word in text if word not in _NOT_WORDS]
    path.write_text("\n".join([*_SPECIALS, *known]) + "\n", "utf-8")


def configuration(model: dict[str, int], folder: Path, batch: int) -> dict[str, object]:
    side = {"level": "word", "lowercase": False, "max_length": -1, "min_length": -1}
    layer = {
        "type": "recurrent",
        "rnn_type": "gru",
        "hidden_size": model["hidden"],
        "num_layers": 1,
        "dropout": 0.0,
        "embeddings": {"embedding_dim": model["embedding"], "dropout": 0.0},
    }
    return {
        "name": "peer",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder),
        "use_cuda": False,
        "data": {
            "test": str(folder / "test"),
            "dataset_type": "plain",
            "src": {**side, "lang": "f", "voc_file": str(folder / "f.vocab")},
            "trg": {**side, "lang": "e", "voc_file": str(folder / "e.vocab")},
        },
        "training": {"batch_size": batch},
        "testing": {
            "batch_size": batch,
            "batch_type": "sentence",
            "beam_size": 1,
            "return_prob": "ref",
        },
        "model": {
            "encoder": {**layer, "hidden_size": model["hidden"] // 2, "bidirectional": True},
            "decoder": {**layer, "init_hidden": "bridge", "attention": "bahdanau"},
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    for name in ("model", "table", "folder"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = options.folder
    pairs = write_text(options.table, folder)
    write_vocabulary(options.model / "source.vocabulary.txt", folder / "f.vocab")
    write_vocabulary(options.model / "target.vocabulary.txt", folder / "e.vocab")
    sizes = json.loads((options.model / "config.json").read_bytes())
    settings = configuration(sizes, folder, options.batch)
    arguments = parse_global_args(settings, rank=0, mode="test")
    f, e, _, _, phrases = load_data(cfg=arguments.data, datasets=["test"])
    model = build_model(arguments.model, src_vocab=f, trg_vocab=e)
    model.loss_function = arguments.train.loss, arguments.train.label_smoothing
    start, before = time.perf_counter(), time.process_time()
    test(
        settings,
        output_path=str(folder / "scores"),
        prepared={"model": model, "dev": None, "test": phrases},
        save_scores=True,
    )
    wall, cpu = time.perf_counter() - start, time.process_time() - before
    print(json.dumps({"pairs": pairs, "wall": wall, "cpu": cpu}))


if __name__ == "__main__":
    main()
