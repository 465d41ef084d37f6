"""JoeyNMT (PyPI: joeynmt) as a trainer of attention models: updates on two texts, timed.

The model has the sizes of the one it is compared with: a bidirectional GRU encoder of as many units
a direction, a GRU decoder with Bahdanau's attention, word vectors and vocabularies of the same
sizes. It is another network all the same: its GRU resets after the product, the attention and the
output layer have H units without maxout, and the output matrix is H x V without a low rank. An
update is that of its own training: batches of 64 sentences from its own iterator, the loss with
label smoothing, gradients, clipping at 1, Adam; what comes around it (validation, checkpoints) is
left out.

Runs in an environment of its own, which needs joeynmt and no part of this project:

    JOEYNMT/python joeynmt_trainer.py MODEL SOURCE TARGET FOLDER [--updates N] [--threads N]
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import time
from pathlib import Path

import torch
from joeynmt.config import parse_global_args
from joeynmt.data import load_data
from joeynmt.model import build_model

_SPECIALS = ("<unk>", "<pad>", "<s>", "</s>")
_NOT_WORDS = {"</s>", "<unk>", *_SPECIALS}


def write_vocabulary(words: Path, path: Path) -> None:
    text = words.read_text("utf-8").removesuffix("\n").split("\n")
    known = [word for word in text if word not in _NOT_WORDS]
    path.write_text("\n".join([*_SPECIALS, *known]) + "\n", "utf-8")


def configuration(sizes: dict[str, int], folder: Path, batch: int) -> dict[str, object]:
    side = {"level": "word", "lowercase": False, "max_length": -1, "min_length": -1}
    layer = {
        "type": "recurrent",
        "rnn_type": "gru",
        "hidden_size": sizes["hidden"],
        "num_layers": 1,
        "dropout": 0.3,
        "embeddings": {"embedding_dim": sizes["embedding"], "dropout": 0.3},
    }
    return {
        "name": "peer",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder),
        "use_cuda": False,
        "data": {
            "train": str(folder / "train"),
            "test": str(folder / "test"),
            "dataset_type": "plain",
            "src": {**side, "lang": "f", "voc_file": str(folder / "f.vocab")},
            "trg": {**side, "lang": "e", "voc_file": str(folder / "e.vocab")},
        },
        "training": {"batch_size": batch, "label_smoothing": 0.1, "loss": "crossentropy"},
        "testing": {"batch_size": batch, "batch_type": "sentence", "beam_size": 1},
        "model": {
            "encoder": {**layer, "bidirectional": True},
            "decoder": {**layer, "init_hidden": "bridge", "attention": "bahdanau"},
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    for name in ("model", "source", "target", "folder"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = options.folder
    for side, path in (("f", options.source), ("e", options.target)):
        text = path.read_bytes()
        if path.suffix == ".gz":
            text = gzip.decompress(text)
        for part in ("train", "test"):
            (folder / f"{part}.{side}").write_bytes(text)
    write_vocabulary(options.model / "source.vocabulary.txt", folder / "f.vocab")
    write_vocabulary(options.model / "target.vocabulary.txt", folder / "e.vocab")
    sizes = json.loads((options.model / "config.json").read_bytes())
    arguments = parse_global_args(configuration(sizes, folder, options.batch), rank=0, mode="train")
    f, e, train, _, _ = load_data(cfg=arguments.data, datasets=["train"])
    model = build_model(arguments.model, src_vocab=f, trg_vocab=e)
    model.loss_function = arguments.train.loss, arguments.train.label_smoothing
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    ids = {"pad_index": model.pad_index, "eos_index": model.eos_index}
    batches = train.make_iter(options.batch, "sentence", shuffle=True, **ids)
    words, start, before = 0, 0.0, 0.0
    for number, batch in enumerate(itertools.islice(batches, options.updates + 1)):
        if number == 1:  # the first one warms up
            words, start, before = 0, time.perf_counter(), time.process_time()
        batch.sort_by_src_length()
        loss, *_ = model(return_type="loss", **vars(batch))
        (loss / batch.ntokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model.zero_grad()
        words += int(batch.ntokens)
    wall, cpu = time.perf_counter() - start, time.process_time() - before
    parameters = sum(p.numel() for p in model.parameters())
    print(json.dumps({"words": words, "wall": wall, "cpu": cpu, "parameters": parameters}))


if __name__ == "__main__":
    main()
