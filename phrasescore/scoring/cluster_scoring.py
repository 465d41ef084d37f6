"""Blocks of a table scored by the workers of a cluster.

The first half of this file runs in the process that reads and writes the table, the second half on
the workers. Text, bytes and numbers go back and forth. A worker reads models from a file system
that it shares with the others, and keeps them for the next block.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
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
    Scored,
    ScoringCounts,
    ScoringModel,
    ScoringSettings,
)
from phrasescore.scoring.model_loading import ComputeSettings, ReadyModels, load_models
from phrasescore.scoring.shared_scorer import Precision
from phrasescore.table.block import TableBlock, checked_block
from phrasescore.table.phrase_table import TableFormat

# blocks in progress per worker: one is scored, one is read or written, one is on its way
BLOCKS = 3
_MAX_JOBS = 2  # whose models a worker keeps
# its lines as a gzip member, the number of its first line, how many lines, the table's file, and
# the table's format: scores, and whether it is hierarchical
PackedBlock: TypeAlias = tuple[bytes, int, int, str, int, bool]


@dataclass(frozen=True)
class ScoringJob:
    """The models that a worker loads, and how it scores with them.

    Args:
        folders: Absolute paths of the models, one column each.
        compute: How to compute.
        factor: The factor to read; ``None`` for the models' own.
        precisions: The precision of each distinct folder; ``None`` lets the worker choose.
        digests: The digests that the models must have; unknown before they are described.
        settings: What goes into the table.
    """

    folders: tuple[str, ...]
    compute: ComputeSettings
    factor: int | None
    precisions: tuple[Precision, ...] | None = None
    digests: tuple[str, ...] = ()
    settings: ScoringSettings = field(default_factory=ScoringSettings)


def describe_on_worker(
    cluster: Cluster,
    folders: Sequence[str],
    compute: ComputeSettings,
    factor: int | None,
    sample: TableBlock | None = None,
    precisions: Sequence[Precision] | None = None,
) -> ReadyModels:
    """Let a worker load models and choose how all workers compute; waits for the first worker.

    Args:
        cluster: The workers.
        folders: See `load_models`; likewise the other arguments.
        compute: How to compute.
        factor: The factor to read.
        sample: Lines to compare precisions on.
        precisions: The precision of each distinct folder where an earlier choice is repeated.

    Raises:
        ClusterError: The worker cannot load a model.
    """
    chosen = None if precisions is None else tuple(precisions)
    job = ScoringJob(_absolute(folders), compute, factor, chosen)
    block = None if sample is None else packed_block(sample)
    found = cluster.start(describe_models, _json(job), block).result()
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
    signature: Mapping[str, Any],
) -> ReadyModels | None:
    """Repeat the choice of device and precision that an interrupted run of the same work made.

    Args:
        cluster: See `describe_on_worker`; likewise the next three.
        folders: The models.
        compute: How to compute.
        factor: The factor to read.
        signature: That of the interrupted run.

    Returns:
        The models; ``None`` if that run used other models, or a device or precision that these
        settings exclude.
    """
    chosen, distinct = signature["numerics"], dict.fromkeys(folders)
    numerics = {"batch_size": compute.batch_size, "shared": compute.shared}
    agrees = (
        chosen == {**chosen, **numerics}
        and compute.device.partition(":")[0] in ("auto", chosen["device"])
        and all(compute.precision in ("auto", each) for each in chosen["precision"])
        and len(chosen["precision"]) == len(distinct)
    )
    if not agrees:
        return None
    kept = dataclasses.replace(compute, device=chosen["device"])
    ready = describe_on_worker(cluster, folders, kept, factor, precisions=chosen["precision"])
    if signature["models"] != [[model.digest, model.direction] for model in ready.models]:
        return None
    used = zip(distinct, chosen["precision"], strict=True)
    notes = tuple(f"{name}: {precision} is used, as before" for name, precision in used)
    return dataclasses.replace(ready, notes=notes)


def _absolute(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(Path(folder).absolute()) for folder in folders)


def _json(values: ScoringJob | ReadyModels) -> str:
    return json.dumps(dataclasses.asdict(values))


class ClusterScorer:
    """Scores blocks on workers; a `TableScorer`.

    Args:
        cluster: The workers.
        ready: The models.
        settings: What goes into the table.
        same_hardware: Whether all workers must have processors of one kind.
    """

    def __init__(
        self, cluster: Cluster, ready: ReadyModels, settings: ScoringSettings, same_hardware: bool
    ) -> None:
        self._cluster, self._same_hardware = cluster, same_hardware
        numerics = ready.numerics
        job = ScoringJob(
            _absolute([model.name for model in ready.models]),
            ComputeSettings(
                numerics["device"], batch_size=numerics["batch_size"], shared=numerics["shared"]
            ),
            settings.factor,
            tuple(numerics["precision"]),
            tuple(model.digest for model in ready.models),
            settings,
        )
        self._job = _json(job)
        self._processors: dict[str, str] = {}  # the first worker with each kind
        self._lines: Counter[str] = Counter()  # by worker, and when its first block came back
        self._begin: dict[str, float] = {}

    def ahead(self, blocks: Iterator[TableBlock]) -> Iterator[Scored]:
        """Read blocks and have them scored, in their order."""
        return map(self._unpacked, in_order(blocks, self._start, self._max_blocks))

    def score(self, block: Scored) -> Scored:
        """Return a block that was scored ahead."""
        return block

    def _max_blocks(self) -> int:
        return BLOCKS * max(1, len(self._cluster.workers))

    def _start(self, block: TableBlock) -> Future[tuple[bytes, str]]:
        return self._cluster.start(score_block, self._job, packed_block(block), size=len(block))

    def _unpacked(self, result: tuple[bytes, str]) -> Scored:
        text, report = result[0], json.loads(result[1])
        counts = from_mapping(ScoringCounts, report["counts"], where="counts of a block")
        worker = report["worker"]
        self._compare_processors(worker, counts.processors)
        # the first block also took the time of loading the models, so its lines do not count
        if worker in self._begin:
            self._lines[worker] += counts.lines
        self._begin.setdefault(worker, time.monotonic())
        return GzipMember(text), counts

    def _compare_processors(self, worker: str, processors: tuple[str, ...]) -> None:
        """Note the kind of a worker's processor; warn if it differs from that of other workers.

        Raises:
            ClusterError: It differs, and all workers must have one kind.
        """
        for kind in processors:
            if kind in self._processors:
                continue
            others = list(self._processors.items())
            self._processors[kind] = worker
            if not others:
                continue
            other, first = others[0]
            problem = (
                f"the worker {worker} computes on {kind}, the worker {first} on {other}: last "
                "digits may differ"
            )
            if self._same_hardware:
                remedy = "choose workers of one kind, or leave out --same-hardware"
                raise ClusterError(problem, remedy=remedy)
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


def packed_block(block: TableBlock) -> PackedBlock:
    """Return a block in the form in which it travels to a worker."""
    lines, form = bytes(compress_member(block.text)), block.format
    return lines, block.first_line, len(block), str(block.path), form.scores, form.hierarchical


# -- on a worker -------------------------------------------------------------------------------

_loading = threading.Lock()


def describe_models(job: str, sample: PackedBlock | None) -> str:
    """Load models, choose the precision that they compute in, and describe them.

    Args:
        job: A `ScoringJob` as JSON.
        sample: Lines to compare precisions on.

    Returns:
        `ReadyModels` as JSON, with the folders as this worker sees them.

    Raises:
        ClusterError: A model cannot be loaded here.
        UnfitWorkerError: There is no such device here.
    """
    block = None if sample is None else _unpacked_block(sample)
    with _loading:
        _, ready = _load(from_mapping(ScoringJob, json.loads(job), where="job"), block)
    return _json(ready)


def score_block(job: str, block: PackedBlock) -> tuple[bytes, str]:
    """Score a block.

    Args:
        job: A `ScoringJob` as JSON.
        block: See `packed_block`.

    Returns:
        The lines with their scores as a gzip member, and JSON: ``counts``, and the ``worker``.

    Raises:
        ClusterError: A model is missing here, or differs from the one that was described.
        UnfitWorkerError: There is no such device here.
        PhrasescoreError: As ``BlockScorer.score`` does.
    """
    with _loading:
        scorer = _scorer(job)
    text, counts = scorer.score(_unpacked_block(block))
    report = {"counts": dataclasses.asdict(counts), "worker": own_name()}
    return bytes(compress_member(text)), json.dumps(report)


def _unpacked_block(block: PackedBlock) -> TableBlock:
    text, first_line, lines, path, scores, hierarchical = block
    expected = TableFormat(scores, hierarchical)
    return checked_block(GzipMember(text).text(), lines, first_line, path, expected)


@functools.lru_cache(maxsize=_MAX_JOBS)
def _scorer(text: str) -> BlockScorer:
    """Return the scorer of a job, which the job's first block on this worker loads."""
    job = from_mapping(ScoringJob, json.loads(text), where="job")
    models, _ = _load(job)
    for folder, model, digest in zip(job.folders, models, job.digests, strict=True):
        if model.digest != digest:
            raise ClusterError(
                f"the worker {own_name()} has another model there",
                path=folder,
                remedy="wait until all machines show the same files, and type the command again",
            )
    return BlockScorer(models, job.settings, processor_of(choose_device(job.compute.device)))


def _load(
    job: ScoringJob, sample: TableBlock | None = None
) -> tuple[tuple[ScoringModel, ...], ReadyModels]:
    """Load models with the device and the threads of this worker; errors name the worker."""
    device = job.compute.device
    try:
        choose_device(device)
    except SettingsError as error:
        raise UnfitWorkerError(
            f"the worker {own_name()} cannot use --device {device}: {error.problem}",
            remedy="start workers that can, or use --device cpu",
            worker=own_name(),
        ) from None
    torch.set_num_threads(own_threads())
    for folder in job.folders:
        if not Path(folder).is_dir():
            raise ClusterError(
                f"the worker {own_name()} does not see this model folder",
                path=folder,
                remedy="put it on a file system that all workers share, under one name",
            )
    try:
        return load_models(job.folders, job.compute, job.factor, sample, job.precisions)
    except (ModelError, SettingsError) as error:
        raise ClusterError(
            f"the worker {own_name()} cannot use the model: {error.problem}",
            path=error.path,
            remedy=error.remedy,
        ) from None
