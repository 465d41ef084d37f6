"""Sources per second of beam search: many at once, one at a time, and a plain loop, in turn.

All three search with the same model and the same beam, and their targets are compared. "many" is
what `phrasescore generate` does, "one" the same with one source at a time on one thread, "plain" a
loop over one source in PyTorch, with topk over the beam's words and torch's own threads. Figures
are wall-clock; report those of a quiet machine. Sources are drawn from a phrase table. An untrained
model says little here: its targets are as long as they may be. The result is JSON on standard
output.

    python -m benchmarks.bench_generation MODEL TABLE [--sources N] [--beam N] [--best N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

from phrasescore.generation.beam_search import BeamSearch
from phrasescore.generation.targets import BeamSettings, TargetGenerator, TargetSettings
from phrasescore.model.folder import LoadedModel, load_model
from phrasescore.model.sequence_model import END, SequenceModel
from phrasescore.table.block import read_source_runs
from phrasescore.words.token_sequences import TokenSequences, from_lists

Listed = list[list[list[int]]]


def ours(
    model: SequenceModel, sources: TokenSequences, beam: BeamSettings, group: int | None
) -> Listed:
    method = partial(BeamSearch, beam, TargetSettings())
    found = TargetGenerator(model, method, "cpu", group).targets(sources)
    return [
        [found.words[row].tolist() for row in range(a, b)]
        for a, b in zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True)
    ]


def plain(model: SequenceModel, sources: TokenSequences, beam: BeamSettings) -> Listed:
    """Search for one source after the other."""
    with torch.inference_mode():
        return [plain_search(model, source.tolist(), beam) for source in sources]


def plain_search(model: SequenceModel, source: list[int], beam: BeamSettings) -> list[list[int]]:
    limit = max(10, 3 * len(source))
    state, ln_p = model.start(torch.tensor([source]))
    totals, prefixes = torch.zeros(1, 1), [[]]
    finished: list[tuple[float, list[int]]] = []
    while prefixes:
        if len(prefixes[0]) == limit:
            scores, words = (totals + ln_p[:, END : END + 1]).flatten(), None
        else:
            scores, words = (totals + ln_p).flatten(), ln_p.shape[1]
        best, places = scores.topk(min(beam.size - len(finished), len(scores)))
        kept = []
        for score, place in zip(best.tolist(), places.tolist(), strict=True):
            row, word = divmod(place, words) if words else (place, END)
            if word == END:
                finished.append((score, prefixes[row]))
            else:
                kept.append((row, word, score))
        if len(finished) >= beam.best:
            worst = sorted((score for score, _ in finished), reverse=True)[beam.best - 1]
            kept = [each for each in kept if each[2] > worst]
        prefixes = [[*prefixes[row], word] for row, word, _ in kept]
        if kept:
            rows, read = torch.tensor([k[0] for k in kept]), torch.tensor([k[1] for k in kept])
            totals = torch.tensor([[k[2]] for k in kept])
            state, ln_p = model.step(state.gathered(rows), read)
    finished.sort(key=lambda each: -each[0])
    return [target for _, target in finished[: beam.best]]


def sources_of(table: Path, loaded: LoadedModel, count: int) -> TokenSequences:
    """Return sources from all parts of a table, in an order that is not its own."""
    found = [
        loaded.source_vocabulary.encode_spans(block.token_spans("source")).select(
            block.run_offsets[:-1]
        )
        for block in read_source_runs(table)
    ]
    phrases = [phrase.tolist() for block in found for phrase in block]
    rng = np.random.default_rng(1)
    rows = rng.choice(len(phrases), min(count, len(phrases)), replace=False)
    return from_lists([phrases[row] for row in rows])


def timed(work: Callable[[], Listed], threads: int) -> tuple[float, Listed]:
    torch.set_num_threads(threads)
    begin = time.monotonic()
    found = work()
    return time.monotonic() - begin, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--sources", type=int, default=1000, help="that many at once see")
    parser.add_argument("--alone", type=int, default=100, help="that the others see")
    parser.add_argument("--beam", type=int, default=10)
    parser.add_argument("--best", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    loaded = load_model(options.model)
    sources = sources_of(options.table, loaded, options.sources)
    few = sources.select(np.arange(min(options.alone, len(sources))))
    beam = BeamSettings(options.beam, options.best)
    ways: dict[str, tuple[TokenSequences, int, Callable[[], Listed]]] = {
        "many": (sources, options.threads, lambda: ours(loaded.model, sources, beam, None)),
        "one": (few, 1, lambda: ours(loaded.model, few, beam, 1)),
        "plain": (few, options.threads, lambda: plain(loaded.model, few, beam)),
    }
    ours(loaded.model, few, beam, None)  # compiles
    rates: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, Listed] = {}
    for _ in range(options.runs):
        for name, (phrases, threads, work) in ways.items():
            seconds, found[name] = timed(work, threads)
            rates[name].append(len(phrases) / seconds)
    alike = [
        sum(a == b for a, b in zip(found["many"], found[name], strict=False)) / len(few)
        for name in ("one", "plain")
    ]
    medians = {name: statistics.median(each) for name, each in rates.items()}
    result = {
        "sources per second": {name: round(rate, 1) for name, rate in medians.items()},
        "many to one": round(medians["many"] / medians["one"], 2),
        "many to plain": round(medians["many"] / medians["plain"], 2),
        "lists alike": {"one": alike[0], "plain": alike[1]},
        "beam": options.beam,
        "best": options.best,
        "threads": options.threads,
        "load": os.getloadavg()[0],
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
