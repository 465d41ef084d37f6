"""Blocks of a table scored by the workers of a cluster.

The first half of this file runs in the process that reads and writes the table, the second half on
the workers. Text, bytes and numbers go back and forth. A worker reads models from a file system
that it shares with the others, and keeps them for the next block.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch

from phrasescore.closed_settings import from_mapping
from phrasescore.cluster.cluster import Cluster, in_order
from phrasescore.cluster.worker_side import UnfitWorkerError, own_name, own_threads
from phrasescore.errors import ClusterError, ModelError, SettingsError, counted
from phrasescore.model.device import choose_device, processor_of
from phrasescore.runs.final_names import GzipMember, compress_member
from phrasescore.scoring.block_scoring import (
    BlockScorer,
    ScoredBlock,
    ScoringCounts,
    ScoringModel,
    ScoringSettings,
)
from phrasescore.scoring.model_loading import ComputeSettings, ReadyModels, load_models
from phrasescore.scoring.shared_scorer import Precision
from phrasescore.table.block import TableBlock, checked_block
from phrasescore.table.phrase_table import TableFormat

# blocks under way for each worker: one is scored, one read or written, one is on its way
BLOCKS = 3
_KEPT = 2  # jobs whose models a worker keeps
# its lines as a gzip member, its first line, how many lines, the table's file, and its format
SentBlock: TypeAlias = tuple[bytes, int, int, str, int, bool]


@dataclass(frozen=True)
class ModelRequest:
    """Models that a worker loads.

    Args:
        folders: From the root of all files.
        compute: How to compute.
        factor: The factor to read; ``None`` for the models' own.
        precisions: The precision of each distinct folder; ``None`` lets the worker choose.
    """

    folders: tuple[str, ...]
    compute: ComputeSettings
    factor: int | None
    precisions: tuple[Precision, ...] | None = None


@dataclass(frozen=True)
class ScoringJob:
    """What a worker needs to know to score blocks.

    Args:
        request: The models, one column each.
        digests: What the models must be.
        settings: What goes into the table.
    """

    request: ModelRequest
    digests: tuple[str, ...]
    settings: ScoringSettings


def describe_on_worker(
    cluster: Cluster,
    folders: Sequence[str],
    compute: ComputeSettings,
    factor: int | None,
    sample: TableBlock | None = None,
    precisions: Sequence[Precision] | None = None,
) -> ReadyModels:
    """Let a worker load models and choose how all workers compute; waits for the first to join.

    Args:
        cluster: The workers.
        folders: See `load_models`; likewise the other arguments.
        compute: How to compute.
        factor: The factor to read.
        sample: Lines to compare precisions on.
        precisions: The precision of each distinct folder where an earlier choice is repeated.

    Raises:
        ClusterError: It cannot load a model.
    """
    request = _request(folders, compute, factor, precisions)
    block = None if sample is None else sent(sample)
    found = cluster.start(describe_models, _json(request), block).result()
    ready = from_mapping(ReadyModels, json.loads(found), where="models of a worker")
    models = [
        dataclasses.replace(model, name=folder)
        for folder, model in zip(folders, ready.models, strict=True)
    ]
    return dataclasses.replace(ready, models=tuple(models))


def describe_as_before(
    cluster: Cluster,
    folders: Sequence[str],
    compute: ComputeSettings,
    factor: int | None,
    signature: dict[str, Any],
) -> ReadyModels | None:
    """Take the device and the precision that an interrupted run of the same work has chosen.

    Args:
        cluster: See `describe_on_worker`.
        folders: Likewise.
        compute: Likewise.
        factor: Likewise.
        signature: That of the interrupted run.

    Returns:
        The models; ``None`` if that run was one of other models, or chose what is not asked for.
    """
    chosen, named = signature["numerics"], dict.fromkeys(folders)
    numerics = {"batch_size": compute.batch_size, "shared": compute.shared}
    agrees = (
        chosen == {**chosen, **numerics}
        and compute.device.partition(":")[0] in ("auto", chosen["device"])
        and all(compute.precision in ("auto", each) for each in chosen["precision"])
        and len(chosen["precision"]) == len(named)
    )
    if not agrees:
        return None
    kept = dataclasses.replace(compute, device=chosen["device"])
    ready = describe_on_worker(cluster, folders, kept, factor, precisions=chosen["precision"])
    if signature["models"] != [[model.digest, model.direction] for model in ready.models]:
        return None
    used = zip(named, chosen["precision"], strict=True)
    notes = tuple(f"{name}: {precision} is used, as before" for name, precision in used)
    return dataclasses.replace(ready, notes=notes)


def _request(
    folders: Sequence[str],
    compute: ComputeSettings,
    factor: int | None,
    precisions: Sequence[Precision] | None,
) -> ModelRequest:
    places = tuple(str(Path(folder).absolute()) for folder in folders)
    return ModelRequest(places, compute, factor, None if precisions is None else tuple(precisions))


def _json(settings: ModelRequest | ScoringJob | ReadyModels) -> str:
    return json.dumps(dataclasses.asdict(settings))


class ClusterScorer:
    """Scores blocks on workers; a `TableScorer`.

    Args:
        cluster: Who works.
        ready: The models.
        settings: What goes into the table.
        same_hardware: Whether workers must be of one kind.
    """

    def __init__(
        self, cluster: Cluster, ready: ReadyModels, settings: ScoringSettings, same_hardware: bool
    ) -> None:
        self._cluster, self._same_hardware = cluster, same_hardware
        numerics = ready.numerics
        compute = ComputeSettings(
            numerics["device"], batch_size=numerics["batch_size"], shared=numerics["shared"]
        )
        folders = [model.name for model in ready.models]
        request = _request(folders, compute, settings.factor, numerics["precision"])
        digests = tuple(model.digest for model in ready.models)
        self._job = _json(ScoringJob(request, digests, settings))
        self._processors: dict[str, str] = {}
        self._lines: Counter[str] = Counter()
        self._begin: dict[str, float] = {}

    def ahead(self, blocks: Iterator[TableBlock]) -> Iterator[ScoredBlock]:
        """Read blocks and have them scored, in their order."""
        return map(self._taken, in_order(blocks, self._start, self._most))

    def score(self, block: ScoredBlock) -> ScoredBlock:
        """Return a block that was scored ahead."""
        return block

    def _most(self) -> int:
        return BLOCKS * max(1, len(self._cluster.workers))

    def _start(self, block: TableBlock) -> Future[tuple[bytes, str]]:
        return self._cluster.start(score_block, self._job, sent(block), size=len(block))

    def _taken(self, made: tuple[bytes, str]) -> ScoredBlock:
        text, said = made
        told = json.loads(said)
        counts = from_mapping(ScoringCounts, told["counts"], where="counts of a block")
        worker = told["worker"]
        self._look_at(worker, counts.processors)
        # the first one took longer, with the loading of the models
        if worker in self._begin:
            self._lines[worker] += counts.lines
        self._begin.setdefault(worker, time.monotonic())
        return ScoredBlock(GzipMember(text), told["first_source"], counts)

    def _look_at(self, worker: str, processors: tuple[str, ...]) -> None:
        """Note the kind of a worker's processor.

        Raises:
            ClusterError: It is another than that of others, where that must not be.
        """
        for kind in processors:
            if kind in self._processors:
                continue
            problem = ""
            if self._processors:
                other, first = next(iter(self._processors.items()))
                problem = (
                    f"the worker {worker} computes on {kind}, the worker {first} on {other}: last "
                    "digits may differ"
                )
            self._processors[kind] = worker
            if problem and self._same_hardware:
                remedy = "choose workers of one kind, or leave out --same-hardware"
                raise ClusterError(problem, remedy=remedy)
            if problem:
                print(f"cluster: {problem}", file=sys.stderr, flush=True)  # noqa: T201

    def note(self) -> str:
        """Say how many workers there are and how fast each is."""
        workers = self._cluster.workers
        now = time.monotonic()
        rates = sorted(
            lines / max(now - self._begin[worker], 1e-9)
            for worker, lines in self._lines.items()
            if worker in workers and now > self._begin[worker]
        )
        each = f", {rates[0]:,.0f} to {rates[-1]:,.0f}/s each" if rates else ""
        return f"{counted(len(workers), 'worker')}{each}"


def sent(block: TableBlock) -> SentBlock:
    """Return a block as it goes to a worker."""
    lines, form = bytes(compress_member(block.text)), block.format
    return lines, block.first_line, len(block), str(block.path), form.scores, form.hierarchical


# -- on a worker -------------------------------------------------------------------------------

_loading = threading.Lock()
_ready: OrderedDict[str, BlockScorer] = OrderedDict()


def describe_models(request: str, sample: SentBlock | None) -> str:
    """Load models, choose what they compute in, and describe them.

    Args:
        request: A `ModelRequest` as JSON.
        sample: Lines to compare precisions on.

    Returns:
        `ReadyModels` as JSON, with the folders as they are here.

    Raises:
        ClusterError: A model cannot be loaded here.
        UnfitWorkerError: There is no such device here.
    """
    wanted = from_mapping(ModelRequest, json.loads(request), where="request")
    block = None if sample is None else _received(sample)
    with _loading:
        _, ready = _load(wanted, block)
    return _json(ready)


def score_block(job: str, block: SentBlock) -> tuple[bytes, str]:
    """Score a block.

    Args:
        job: A `ScoringJob` as JSON.
        block: See `sent`.

    Returns:
        The lines with their scores as a gzip member, and JSON: ``first_source``, ``counts`` and
        ``worker``, who did it.

    Raises:
        ClusterError: A model is not here, or another one.
        UnfitWorkerError: There is no such device here.
        PhrasescoreError: As ``BlockScorer.score`` does.
    """
    scored = _scorer_of(job).score(_received(block))
    said = {
        "first_source": scored.first_source,
        "counts": dataclasses.asdict(scored.counts),
        "worker": own_name(),
    }
    return bytes(compress_member(scored.text)), json.dumps(said)


def _received(block: SentBlock) -> TableBlock:
    text, first_line, lines, path, scores, hierarchical = block
    expected = TableFormat(scores, hierarchical)
    return checked_block(GzipMember(text).text(), lines, first_line, path, expected)


def _scorer_of(text: str) -> BlockScorer:
    """Return what scores for a job, loaded by the first block of it that comes here."""
    with _loading:
        if text not in _ready:
            _ready[text] = _loaded(from_mapping(ScoringJob, json.loads(text), where="job"))
        _ready.move_to_end(text)
        while len(_ready) > _KEPT:
            _ready.popitem(last=False)
        return _ready[text]


def _loaded(job: ScoringJob) -> BlockScorer:
    models, _ = _load(job.request)
    for folder, model, digest in zip(job.request.folders, models, job.digests, strict=True):
        if model.digest != digest:
            raise ClusterError(
                f"the worker {own_name()} has another model there",
                path=folder,
                remedy="wait until all machines show the same files, and type the command again",
            )
    device = choose_device(job.request.compute.device)
    return BlockScorer(models, job.settings, processor_of(device))


def _load(
    request: ModelRequest, sample: TableBlock | None = None
) -> tuple[tuple[ScoringModel, ...], ReadyModels]:
    """Load models with the device and the threads of this worker."""
    device = request.compute.device
    try:
        choose_device(device)
    except SettingsError as error:
        raise UnfitWorkerError(
            f"the worker {own_name()} cannot use --device {device}: {error.problem}",
            remedy="start workers that can, or use --device cpu",
            worker=own_name(),
        ) from None
    torch.set_num_threads(own_threads())
    with _refusals_named(request.folders):
        return load_models(
            request.folders, request.compute, request.factor, sample, request.precisions
        )


@contextlib.contextmanager
def _refusals_named(folders: Sequence[str]) -> Iterator[None]:
    """Say of a model that cannot be loaded which worker it was."""
    for folder in folders:
        if not Path(folder).is_dir():
            raise ClusterError(
                f"the worker {own_name()} does not see this model folder",
                path=folder,
                remedy="put it on a file system that all workers share, under one name",
            )
    try:
        yield
    except (ModelError, SettingsError) as error:
        raise ClusterError(
            f"the worker {own_name()} cannot use the model: {error.problem}",
            path=error.path,
            remedy=error.remedy,
        ) from None
