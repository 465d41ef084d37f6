"""Scores blocks of a table on the workers of a cluster.

The first half of this file runs in the process that reads and writes the table; the second half
runs on the workers. A worker reads the models from a file system that all workers share, and keeps
them in memory for the next block.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import torch

from phrasescore.cluster import Cluster, Task, in_order, own_name, own_threads, say
from phrasescore.errors import ClusterError, ModelError, SettingsError
from phrasescore.model.device import choose_device, processor_of
from phrasescore.runs.final_names import GzipMember, compress_member
from phrasescore.runs.json_files import JsonObject
from phrasescore.scoring.block_scoring import (
    BlockScorer,
    ComputeSettings,
    ReadyModels,
    Scored,
    ScoringCounts,
    ScoringModel,
    ScoringSettings,
    load_models,
)
from phrasescore.scoring.shared_scorer import Precision
from phrasescore.table.block import TableBlock, checked_block
from phrasescore.table.phrase_table import TableFormat

# For each worker, at most this number of blocks have been read but not written. Three are in
# progress: one is being scored, one is being read or written, and one is being sent. Three more may
# be finished and wait until an earlier, slow block is written.
BLOCKS = 6
_MAX_JOBS = 2  # maximum number of jobs whose models a worker keeps
# a block's lines as a gzip member, its number of lines, the number of its first line, the file of
# the table, and the format of the table
PackedBlock: TypeAlias = tuple[bytes, int, int, str, TableFormat]
# the scored lines as a gzip member, their counts, and the address of the worker
WorkerResult: TypeAlias = tuple[bytes, ScoringCounts, str]


@dataclass(frozen=True)
class ScoringJob:
    """The models that a worker loads, and the settings of scoring with them.

    Args:
        folders: The models, in the order of their columns; a worker gets absolute paths.
        compute: Settings of the computation.
        factor: The factor to read; ``None`` for the factor of the models.
        precisions: The precision of each distinct folder; ``None`` lets the worker choose.
        digests: The digests that the models must have; empty until a worker has described the
            models.
        settings: The settings of the scores.
    """

    folders: tuple[str, ...]
    compute: ComputeSettings
    factor: int | None
    precisions: tuple[Precision, ...] | None = None
    digests: tuple[str, ...] = ()
    settings: ScoringSettings = field(default_factory=ScoringSettings)


def describe_on_worker(cluster: Cluster, job: ScoringJob, sample: TableBlock | None) -> ReadyModels:
    """Let the first worker load the models and choose the device and precision for all workers.

    Args:
        cluster: The workers.
        job: The models, whose folders may have relative names.
        sample: Lines to compare precisions on; ``None``: do not compare.

    Raises:
        ClusterError: The worker cannot load a model.
    """
    job = dataclasses.replace(job, folders=_absolute(job.folders))
    return cluster.start(describe_models, job, sample and packed_block(sample)).result()


def describe_as_before(cluster: Cluster, job: ScoringJob, begun: JsonObject) -> ReadyModels | None:
    """Repeat the choice of device and precision that an interrupted run of the same work made.

    Args:
        cluster: The workers.
        job: The models, as in `describe_on_worker`.
        begun: The settings of the interrupted run, from its journal.

    Returns:
        The description; ``None`` if the interrupted run used other models, or a device, precision
        or batch size that the job excludes.
    """
    chosen, distinct = begun.get("numerics", {}), dict.fromkeys(job.folders)
    compute = job.compute
    agrees = (
        chosen.keys() == {"batch_size", "device", "precision"}
        and chosen["batch_size"] == compute.batch_size
        and compute.device.partition(":")[0] in ("auto", chosen["device"])
        and all(compute.precision in ("auto", each) for each in chosen["precision"])
        and len(chosen["precision"]) == len(distinct)
    )
    if not agrees:
        return None
    kept = dataclasses.replace(compute, device=chosen["device"])
    again = dataclasses.replace(job, compute=kept, precisions=tuple(chosen["precision"]))
    ready = describe_on_worker(cluster, again, None)
    if begun["models"] != list(map(list, ready.identities)):
        return None
    used = zip(distinct, chosen["precision"], strict=True)
    notes = tuple(f"{name}: {precision} is used, as before" for name, precision in used)
    return dataclasses.replace(ready, notes=notes)


def _absolute(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(Path(folder).absolute()) for folder in folders)


def scored_on_workers(
    cluster: Cluster,
    folders: Sequence[str],
    ready: ReadyModels,
    settings: ScoringSettings,
    blocks: Iterator[TableBlock],
) -> Iterator[Scored]:
    """Read blocks, let workers score several at a time, and yield them in their order.

    If the workers have different kinds of processors, a message says so.

    Args:
        cluster: The workers.
        folders: The models, in the order of their columns.
        ready: The description of the models.
        settings: The settings of the scores.
        blocks: The lines of the table.
    """
    numerics = ready.numerics
    compute = ComputeSettings(numerics["device"], batch_size=numerics["batch_size"])
    precisions, digests = tuple(numerics["precision"]), tuple(each for each, _ in ready.identities)
    job = ScoringJob(_absolute(folders), compute, settings.factor, precisions, digests, settings)

    def start(block: TableBlock) -> Task[WorkerResult]:
        return cluster.start(score_block, job, packed_block(block))

    def max_begun() -> int:
        return BLOCKS * max(1, len(cluster.workers))

    processors: dict[str, str] = {}  # kind -> the first worker that has it
    for text, counts, worker in in_order(blocks, start, max_begun):
        for kind in set(counts.processors) - processors.keys():
            if processors:
                other, first = next(iter(processors.items()))
                say(
                    f"the worker {worker} computes on {kind}, the worker {first} on {other}: the "
                    "last digits may differ"
                )
            processors[kind] = worker
        yield GzipMember(text), counts


def packed_block(block: TableBlock) -> PackedBlock:
    """Return a block in the form that is sent to a worker."""
    text = bytes(compress_member(block.text))
    return text, len(block), block.first_line, str(block.path), block.format


# -- on a worker -------------------------------------------------------------------------------

_loading = threading.Lock()


def describe_models(job: ScoringJob, sample: PackedBlock | None) -> ReadyModels:
    """Load models, choose the precision that they compute in, and describe them.

    Args:
        job: The models.
        sample: Lines to compare precisions on.

    Raises:
        ClusterError: A model cannot be loaded here, or there is no such device.
    """
    with _loading:
        return _load(job, sample and _unpacked_block(sample))[1]


def score_block(job: ScoringJob, block: PackedBlock) -> WorkerResult:
    """Score a block.

    Args:
        job: The models and the settings of scoring with them.
        block: See `packed_block`.

    Returns:
        The lines with their scores as a gzip member, their counts, and the worker's address.

    Raises:
        ClusterError: A model or the device is missing here, or a model differs from the one that
            was described.
        PhrasescoreError: As in ``BlockScorer.score``.
    """
    with _loading:
        scorer = _scorer(job)
    text, counts = scorer.score(_unpacked_block(block))
    return bytes(compress_member(text)), counts, own_name()


def _unpacked_block(block: PackedBlock) -> TableBlock:
    text, lines, first_line, path, form = block
    return checked_block(GzipMember(text).text(), lines, first_line, path, form)


@functools.lru_cache(maxsize=_MAX_JOBS)
def _scorer(job: ScoringJob) -> BlockScorer:
    """Return the scorer of a job; create it if this is the job's first block here."""
    models, _ = _load(job)
    for folder, model, digest in zip(job.folders, models, job.digests, strict=True):
        if model.loaded.digest != digest:
            problem = f"the worker {own_name()} has another model in this folder"
            remedy = "wait until all machines see the same files, then run the command again"
            raise ClusterError(problem, path=folder, remedy=remedy)
    return BlockScorer(models, job.settings, processor_of(choose_device(job.compute.device)))


def _load(
    job: ScoringJob, sample: TableBlock | None = None
) -> tuple[tuple[ScoringModel, ...], ReadyModels]:
    """Load models for the device and threads of this worker; errors name the worker."""
    torch.set_num_threads(own_threads())
    try:
        return load_models(job.folders, job.compute, job.factor, sample, job.precisions)
    except (ModelError, SettingsError) as error:
        raise ClusterError(
            f"the worker {own_name()} cannot score: {error.problem}",
            path=error.path,
            remedy="put the models into a folder that all workers see under the same path, and "
            "choose a device that all workers have",
        ) from None
