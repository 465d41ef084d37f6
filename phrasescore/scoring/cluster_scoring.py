"""A table scored by the workers of a cluster: what the process does that reads and writes it."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasescore.closed_settings import from_mapping
from phrasescore.cluster.cluster import Cluster
from phrasescore.cluster.in_order import in_order
from phrasescore.errors import ClusterError, counted
from phrasescore.runs.final_names import GzipMember
from phrasescore.scoring.block_scoring import ScoredBlock, ScoringCounts, ScoringSettings
from phrasescore.scoring.model_loading import ComputeSettings
from phrasescore.scoring.worker_scoring import (
    JobModel,
    ScoringJob,
    describe_models,
    score_block,
    sent,
)
from phrasescore.table.block import TableBlock

# blocks under way for each worker: one is scored, one read or written, one is on its way
BLOCKS = 3


@dataclass(frozen=True)
class DescribedModels:
    """What a worker found when it loaded the models; see ``ReadyModels``.

    Args:
        models: In the order of their folders.
        factor: The factor that they read.
        numerics: What of their arithmetic decides the digits, as JSON values.
        checks: The comparisons of precisions, as JSON values.
        notes: What to tell the user.
    """

    models: tuple[JobModel, ...]
    factor: int
    numerics: dict[str, Any]
    checks: list[dict[str, Any]]
    notes: tuple[str, ...]


def describe_on_worker(
    cluster: Cluster,
    folders: Sequence[str],
    compute: ComputeSettings,
    factor: int | None,
    sample: TableBlock | None,
) -> DescribedModels:
    """Let a worker choose what all of them compute in; waits for the first one to join.

    Raises:
        ClusterError: It cannot load a model.
    """
    places = [str(Path(folder).absolute()) for folder in folders]
    asked = json.dumps({"factor": factor, **dataclasses.asdict(compute)})
    block = None if sample is None else sent(sample)
    found = json.loads(cluster.start(describe_models, places, asked, block).result())
    numerics = found["numerics"]
    precision = dict(zip(dict.fromkeys(places), numerics["precision"], strict=True))
    models = tuple(
        JobModel(name, place, digest, direction, precision[place])
        for name, place, digest, direction in zip(
            folders, places, found["digests"], found["directions"], strict=True
        )
    )
    notes = tuple(found["notes"])
    return DescribedModels(models, found["factor"], numerics, found["checks"], notes)


def describe_as_before(
    cluster: Cluster,
    folders: Sequence[str],
    compute: ComputeSettings,
    factor: int | None,
    signature: dict[str, Any],
) -> DescribedModels | None:
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
    kept = dataclasses.replace(compute, device=chosen["device"], precision="fp32")
    numerics = {"batch_size": kept.batch_size, "shared": kept.shared, "device": kept.device}
    agrees = (
        chosen == {**numerics, "precision": chosen["precision"]}
        and compute.device.partition(":")[0] in ("auto", kept.device)
        and all(compute.precision in ("auto", each) for each in chosen["precision"])
        and len(chosen["precision"]) == len(named)
    )
    if not agrees:
        return None
    described = describe_on_worker(cluster, folders, kept, factor, None)
    if signature["models"] != [[model.digest, model.direction] for model in described.models]:
        return None
    precision = dict(zip(named, chosen["precision"], strict=True))
    models = tuple(
        dataclasses.replace(model, precision=precision[model.name]) for model in described.models
    )
    notes = tuple(f"{name}: {each} is used, as before" for name, each in precision.items())
    return dataclasses.replace(described, models=models, numerics=chosen, notes=notes)


class ClusterScorer:
    """Scores blocks on workers; a ``TableScorer``.

    Args:
        cluster: Who works.
        described: The models.
        settings: What goes into the table.
        same_hardware: Whether workers must be of one kind.
    """

    def __init__(
        self,
        cluster: Cluster,
        described: DescribedModels,
        settings: ScoringSettings,
        same_hardware: bool,
    ) -> None:
        self.models, self.settings = described.models, settings
        self._cluster, self._same_hardware = cluster, same_hardware
        numerics = described.numerics
        job = ScoringJob(
            described.models,
            numerics["device"],
            numerics["batch_size"],
            numerics["shared"],
            dataclasses.asdict(settings),
        )
        self._job = json.dumps(dataclasses.asdict(job))
        self._processors: dict[str, str] = {}
        self._lines: Counter[str] = Counter()
        self._begin: dict[str, float] = {}

    @property
    def probability_columns(self) -> int:
        """See ``TableScorer``."""
        return 1 if self.settings.average else len(self.models)

    def ahead(self, blocks: Iterator[TableBlock]) -> Iterator[ScoredBlock]:
        """Read blocks and have them scored, in their order."""
        return map(self._taken, in_order(blocks, self._start, self._most))

    def score(self, block: ScoredBlock) -> ScoredBlock:
        """Return a block that was scored ahead."""
        return block

    def _most(self) -> int:
        return BLOCKS * max(1, len(self._cluster.workers))

    def _start(self, block: TableBlock) -> Future[tuple[bytes, str]]:
        return self._cluster.start(score_block, self._job, *sent(block), size=len(block))

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
