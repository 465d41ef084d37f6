"""Blocks of a table scored on a worker of a cluster: what runs there.

What goes back and forth is text and bytes. The models are read on the worker, from a file system
that it shares with the others, and stay for the next block.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from phrasescore.closed_settings import from_mapping
from phrasescore.cluster.worker_side import UnfitWorkerError, own_name, own_threads
from phrasescore.errors import ClusterError, ModelError, SettingsError
from phrasescore.runs.final_names import GzipMember, compress_member

if TYPE_CHECKING:
    import torch

    from phrasescore.scoring.block_scoring import BlockScorer, ScoringModel, ScoringSettings
    from phrasescore.scoring.model_loading import ComputeSettings
    from phrasescore.table.block import TableBlock

_KEPT = 2  # jobs whose models a worker keeps
_loading = threading.Lock()
_ready: OrderedDict[str, BlockScorer] = OrderedDict()


@dataclass(frozen=True)
class JobModel:
    """A model of a job.

    Args:
        name: Its folder as the user gave it.
        folder: Its folder, from the root of all files.
        digest: What it must be.
        direction: Which side of the table it reads.
        precision: What its large products are in.
    """

    name: str
    folder: str
    digest: str
    direction: str
    precision: Literal["fp32", "bf16"]


@dataclass(frozen=True)
class ScoringJob:
    """What a worker needs to know to score blocks, as JSON values.

    Args:
        models: One column each, in this order.
        device: The type of device, that of all workers.
        batch_size: Pairs at a time; ``None`` for the device's own.
        shared: Whether pairs share the work of their common prefixes.
        settings: Those of ``ScoringSettings``.
    """

    models: tuple[JobModel, ...]
    device: str
    batch_size: int | None
    shared: bool
    settings: dict[str, Any]


@dataclass(frozen=True)
class SentBlock:
    """A block on its way to a worker.

    Args:
        first_line: The number of its first line, from 1.
        lines: How many lines it has.
        path: The table's file, for errors.
        scores: How many scores each line has.
        hierarchical: Whether phrases end in a left-hand side.
    """

    first_line: int
    lines: int
    path: str
    scores: int
    hierarchical: bool


def sent(block: TableBlock) -> tuple[bytes, str]:
    """Return the lines of a block, compressed, and what else to send of it."""
    known = SentBlock(
        block.first_line,
        len(block),
        str(block.path),
        block.format.scores,
        block.format.hierarchical,
    )
    return bytes(compress_member(block.text)), json.dumps(dataclasses.asdict(known))


def describe_models(folders: list[str], asked: str, sample: tuple[bytes, str] | None) -> str:
    """Load models, choose what they compute in, and describe them.

    Args:
        folders: From the root of all files.
        asked: ``factor`` and the fields of ``ComputeSettings``, as JSON.
        sample: Lines to compare precisions on.

    Returns:
        JSON: ``digests``, ``directions``, ``factor``, ``numerics``, ``checks``, ``notes`` with the
        folders as they are here, and ``processor``.

    Raises:
        ClusterError: A model cannot be loaded here.
        UnfitWorkerError: There is no such device here.
    """
    from phrasescore.scoring.model_loading import ComputeSettings, load_models

    values = json.loads(asked)
    factor = values.pop("factor")
    settings = from_mapping(ComputeSettings, values, where="compute settings")
    block = None if sample is None else _received(*sample)
    _own_device(settings.device)
    with _loading:
        _use_threads()
        with _refusals_named(folders):
            ready = load_models(folders, settings, factor, block)
    return json.dumps(
        {
            "digests": [model.digest for model in ready.models],
            "directions": [model.direction for model in ready.models],
            "factor": ready.factor,
            "numerics": ready.numerics,
            "checks": [dataclasses.asdict(check) for check in ready.checks],
            "notes": ready.notes,
            "processor": ready.processor,
        }
    )


def score_block(job: str, text: bytes, known: str) -> tuple[bytes, str]:
    """Score a block.

    Args:
        job: A :class:`ScoringJob` as JSON.
        text: See :func:`sent`.
        known: Likewise.

    Returns:
        The lines with their scores as a gzip member, and JSON: ``first_source``, ``counts`` and
        ``worker``, who did it.

    Raises:
        ClusterError: A model is not here, or another one.
        UnfitWorkerError: There is no such device here.
        PhrasescoreError: As ``BlockScorer.score`` does.
    """
    scorer = _scorer_of(job)
    scored = scorer.score(_received(text, known))
    said = {
        "first_source": scored.first_source,
        "counts": dataclasses.asdict(scored.counts),
        "worker": own_name(),
    }
    return bytes(compress_member(scored.text)), json.dumps(said)


def _received(text: bytes, known: str) -> TableBlock:
    from phrasescore.table.block import checked_block
    from phrasescore.table.phrase_table import TableFormat

    block = from_mapping(SentBlock, json.loads(known), where="block")
    expected = TableFormat(block.scores, block.hierarchical)
    lines = GzipMember(text).text()
    return checked_block(lines, block.lines, block.first_line, block.path, expected)


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
    from phrasescore.model.device import processor_of
    from phrasescore.scoring.block_scoring import BlockScorer, ScoringSettings
    from phrasescore.scoring.model_loading import ComputeSettings

    device = _own_device(job.device)
    _use_threads()
    settings = from_mapping(ScoringSettings, job.settings, where="job")
    with _refusals_named([model.folder for model in job.models]):
        models = [
            _model(
                model,
                ComputeSettings(job.device, model.precision, job.batch_size, job.shared),
                settings,
            )
            for model in job.models
        ]
    return BlockScorer(models, settings, processor_of(device))


def _own_device(name: str) -> torch.device:
    from phrasescore.model.device import choose_device

    try:
        return choose_device(name)
    except SettingsError as error:
        raise UnfitWorkerError(
            f"the worker {own_name()} cannot use --device {name}: {error.problem}",
            remedy="start workers that can, or use --device cpu",
            worker=own_name(),
        ) from None


def _model(model: JobModel, compute: ComputeSettings, settings: ScoringSettings) -> ScoringModel:
    from phrasescore.scoring.model_loading import load_models

    (loaded,) = load_models([model.folder], compute, settings.factor, None).models
    if loaded.digest != model.digest:
        raise ClusterError(
            f"the worker {own_name()} has another model there",
            path=model.folder,
            remedy="wait until all machines show the same files, and type the command again",
        )
    return dataclasses.replace(loaded, name=model.name)


@contextlib.contextmanager
def _refusals_named(folders: list[str]) -> Iterator[None]:
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


def _use_threads() -> None:
    import torch

    torch.set_num_threads(own_threads())
