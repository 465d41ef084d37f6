"""Times JoeyNMT's training updates of an attention model on two texts.

The model has the sizes of our model: a bidirectional GRU encoder with H (our hidden size) units per
direction, a GRU decoder with Bahdanau's attention, and word vectors and vocabularies of the same
sizes. The networks still differ: JoeyNMT's GRU applies the reset gate after the product, its
attention and output layer have H units without maxout, and its output matrix is H x V without low
rank. An update is JoeyNMT's own: a batch of 64 sentences from its iterator, the loss with label
smoothing, gradients, clipping at 1, Adam. Validation and checkpoints are left out.

The script runs in a separate environment with joeynmt, and needs no part of this project:

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
from joeynmt_scorer import configuration, write_vocabulary


def settings_of(sizes: dict[str, int], folder: Path, batch: int) -> dict[str, object]:
    settings = configuration(sizes, folder, batch)
    settings["data"]["train"] = str(folder / "train")  # type: ignore[index]
    settings["model"]["encoder"]["hidden_size"] = sizes["hidden"]  # type: ignore[index]
    for side in ("encoder", "decoder"):
        settings["model"][side]["dropout"] = 0.3  # type: ignore[index]
        settings["model"][side]["embeddings"]["dropout"] = 0.3  # type: ignore[index]
    settings["training"] |= {"label_smoothing": 0.1, "loss": "crossentropy"}  # type: ignore[operator]
    return settings


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
    arguments = parse_global_args(settings_of(sizes, folder, options.batch), rank=0, mode="train")
    f, e, train, _, _ = load_data(cfg=arguments.data, datasets=["train"])
    model = build_model(arguments.model, src_vocab=f, trg_vocab=e)
    model.loss_function = arguments.train.loss, arguments.train.label_smoothing
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    ids = {"pad_index": model.pad_index, "eos_index": model.eos_index}
    batches = train.make_iter(options.batch, "sentence", shuffle=True, **ids)
    words, start, before = 0, 0.0, 0.0
    for number, batch in enumerate(itertools.islice(batches, options.updates + 1)):
        if number == 1:  # the first update is a warm-up
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
