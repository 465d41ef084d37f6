"""Trains a small Transformer with JoeyNMT for a given CPU time, and translates with it.

What a user with the same parallel text and the same minutes gets from a neural system alone.
Settings for little text: 2,000 joint byte-pair merges, batches of 1,000 tokens, tied vectors,
dropout 0.3 and label smoothing 0.1 (after Sennrich and Zhang 2019, "Revisiting Low-Resource Neural
Machine Translation", whose own networks are recurrent). The text is raw and cased, and so is the
translation. The clock counts the CPU time of the training alone, without byte-pair merges and
translating. Nothing chooses among checkpoints: the last weights translate, greedily, because a beam
of five takes longer than the training. Tried with JoeyNMT 2.3.0, sentencepiece 0.2.0 and
importlib_metadata, which it imports without asking for it.

The script runs in a separate environment with joeynmt, and needs no part of this project:

    JOEYNMT/python joeynmt_transformer.py PAIR SOURCE TARGET OUTPUT --seconds N
        [--width 256] [--layers 3]

PAIR is a folder such as en-hau, with {train,test}.{en,hau}.gz. The translation is OUTPUT/test.txt;
OUTPUT/result.json has the CPU seconds and the updates.
"""

from __future__ import annotations

import argparse
import gzip
import json
import signal
import time
from pathlib import Path
from types import FrameType

import sentencepiece
import torch
from joeynmt.config import parse_global_args
from joeynmt.prediction import predict, prepare
from joeynmt.training import TrainManager

_SPECIAL_IDS = {"unk_id": 0, "pad_id": 1, "bos_id": 2, "eos_id": 3}


def write_texts(pair: Path, languages: list[str], folder: Path) -> list[int]:
    """Write the texts as JoeyNMT reads them, and return the order of the test set's lines.

    They are sorted by length, because a batch is searched as long as its longest line. An empty
    line becomes a full stop.
    """
    for part in ("train", "test"):
        texts = []
        for language in languages:
            with gzip.open(pair / f"{part}.{language}.gz", "rt", encoding="utf-8") as lines:
                texts.append([" ".join(line.split()) for line in lines])
        pairs = [*zip(*texts, strict=True)]
        if part == "train":
            pairs = [both for both in pairs if all(both)]
        else:
            order = sorted(range(len(pairs)), key=lambda row: len(pairs[row][0]))
            pairs = [pairs[row] for row in order]
        for language, lines in zip(languages, zip(*pairs, strict=True), strict=True):
            text = "".join(f"{line or '.'}\n" for line in lines)
            (folder / f"{part}.{language}").write_text(text, "utf-8")
    return order


def write_pieces(languages: list[str], folder: Path, pieces: int) -> None:
    """Learn byte-pair merges of both languages together, and write their vocabulary."""
    sentencepiece.SentencePieceTrainer.train(
        input=[str(folder / f"train.{language}") for language in languages],
        model_prefix=str(folder / "pieces"),
        vocab_size=pieces,
        model_type="bpe",
        character_coverage=1.0,
        minloglevel=2,
        **_SPECIAL_IDS,
    )
    lines = (folder / "pieces.vocab").read_text("utf-8").splitlines()
    names = [line.split("\t")[0] for line in lines]
    (folder / "vocabulary.txt").write_text("\n".join(names) + "\n", "utf-8")


def configuration(
    languages: list[str], folder: Path, width: int, layers: int, seed: int
) -> dict[str, object]:
    side = {
        "level": "bpe",
        "lowercase": False,
        "max_length": 256,
        "voc_file": str(folder / "vocabulary.txt"),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(folder / "pieces.model")},
    }
    network = {
        "type": "transformer",
        "num_layers": layers,
        "num_heads": 4,
        "hidden_size": width,
        "ff_size": 4 * width,
        "dropout": 0.3,
        "layer_norm": "pre",
        "embeddings": {"embedding_dim": width, "scale": True, "dropout": 0.0},
    }
    return {
        "name": "transformer",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": seed,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "test"),  # JoeyNMT wants one; nothing is validated
            "test": str(folder / "test"),
            "dataset_type": "plain",
            "src": {**side, "lang": languages[0]},
            "trg": {**side, "lang": languages[1]},
        },
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "learning_rate": 0.001,
            "learning_rate_min": 0.0,
            "learning_rate_warmup": 400,
            "scheduling": "warmupinversesquareroot",
            "label_smoothing": 0.1,
            "clip_grad_norm": 1.0,
            "batch_size": 1000,
            "batch_type": "token",
            "normalization": "tokens",
            "epochs": 1_000_000,
            "max_updates": 1_000_000_000,
            "logging_freq": 100,
            "validation_freq": 1_000_000_000,
        },
        "testing": {
            "batch_size": 64,
            "batch_type": "sentence",
            "beam_size": 1,
            "max_output_length": -1,  # 1.5 times the longest source
            "eval_metrics": ["bleu"],
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": network,
            "decoder": network,
        },
    }


def stop(_number: int, _frame: FrameType | None) -> None:
    # JoeyNMT ends a training on Ctrl-C, and keeps its weights.
    raise KeyboardInterrupt


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("pair", type=Path)
    parser.add_argument("languages", nargs=2)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seconds", type=float, required=True, help="CPU seconds of the training")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--pieces", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder = options.output
    (folder / "model").mkdir(parents=True)
    order = write_texts(options.pair, options.languages, folder)
    write_pieces(options.languages, folder, options.pieces)
    settings = configuration(options.languages, folder, options.width, options.layers, options.seed)
    arguments = parse_global_args(settings, rank=0, mode="train")
    model, train, dev, test = prepare(arguments, rank=0, mode="train")
    trainer = TrainManager(
        model=model,
        model_dir=arguments.model_dir,
        device=arguments.device,
        rank=0,
        autocast=arguments.autocast,
        seed=arguments.seed,
        train_args=arguments.train,
        dev_args=arguments.test,
    )
    signal.signal(signal.SIGPROF, stop)
    before = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, options.seconds)
    trainer.train_and_validate(train_data=train, valid_data=dev)
    result = {
        "cpu": time.process_time() - before,
        "updates": trainer.stats.steps,
        "epochs": trainer.stats.epochs,
        "weights": sum(weight.numel() for weight in model.parameters()),
    }
    found = predict(
        model=model,
        data=test,
        device=arguments.device,
        rank=0,
        n_gpu=0,
        args=arguments.test,
        autocast=arguments.autocast,
    )[2]
    lines = [line for _, line in sorted(zip(order, found, strict=True))]
    (folder / "test.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
