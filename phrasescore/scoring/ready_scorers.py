"""What scores a table with models in folders: this process, or the workers of a cluster."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from phrasescore import __version__
from phrasescore.errors import ModelError
from phrasescore.model.folder import load_words
from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.journal import earlier_signature
from phrasescore.scoring.block_scoring import BlockScorer, ScoringSettings
from phrasescore.scoring.model_loading import ComputeSettings, load_models
from phrasescore.scoring.table_rescoring import TableScorer, read_table
from phrasescore.table.block import TableBlock, read_blocks
from phrasescore.table.phrase_table import Side
from phrasescore.words.known_words import FEW, first_words, known_share

if TYPE_CHECKING:
    from phrasescore.cluster.cluster import Cluster
    from phrasescore.scoring.cluster_scoring import DescribedModels

Loaded = TypeVar("Loaded")
_WORDS_TO_JUDGE = 100  # of each side of a table; fewer say nothing of a model


@dataclass(frozen=True)
class Asked:
    """What a user asks for.

    Args:
        table: The phrase table.
        output: Where the scored one goes.
        folders: The models', one column each.
        compute: How to compute.
        settings: What goes into the table; its factor is not decided yet.
        factor: The factor to read; ``None`` for the models' own.
        accept_unknown: Whether models may know less than half of the table's words.
    """

    table: str
    output: str
    folders: Sequence[str]
    compute: ComputeSettings
    settings: ScoringSettings
    factor: int | None
    accept_unknown: bool = False


@dataclass(frozen=True)
class ReadyScorer:
    """What scores, and what the report says about it.

    Args:
        scorer: It.
        numerics: What of its arithmetic decides the digits, as JSON values.
        checks: The comparison of precisions for each model that had one, as JSON values.
        notes: What to tell the user.
        blocks: Those of a table that cannot be read twice, if reading has begun.
    """

    scorer: TableScorer[Any]
    numerics: dict[str, Any]
    checks: Sequence[dict[str, Any]]
    notes: Sequence[str]
    blocks: Iterator[TableBlock] | None


def scorer_here(asked: Asked) -> ReadyScorer:
    """Load models into this process.

    Raises:
        ModelError: A folder is not a whole model, its model is one of sentences, or it knows less
            than half of the table's words.
        SettingsError: Models read different factors, or there is no such device.
    """
    _refuse_unknown_words(asked)
    compute = asked.compute
    ready, blocks = _with_sample(
        asked.table,
        compute.wants_sample,
        lambda sample: load_models(asked.folders, compute, asked.factor, sample),
    )
    settings = dataclasses.replace(asked.settings, factor=ready.factor)
    scorer = BlockScorer(ready.models, settings, ready.processor)
    checks = [vars(check) for check in ready.checks]
    return ReadyScorer(scorer, ready.numerics, checks, ready.notes, blocks)


def scorer_on_cluster(asked: Asked, cluster: Cluster, same_hardware: bool) -> ReadyScorer:
    """Have models described by a worker, and loaded by each where a block comes.

    Args:
        asked: What for.
        cluster: Who works; the first worker that is there decides on the precision for all, unless
            an interrupted run of the same work has done so.
        same_hardware: Whether workers must be of one kind.

    Raises:
        ClusterError: A worker cannot load a model.
        ModelError: A model that this machine has too knows less than half of the table's words.
    """
    _refuse_unknown_words(asked)
    from phrasescore.scoring.cluster_scoring import ClusterScorer

    described, blocks = _described(asked, cluster)
    settings = dataclasses.replace(asked.settings, factor=described.factor)
    scorer = ClusterScorer(cluster, described, settings, same_hardware)
    return ReadyScorer(scorer, described.numerics, described.checks, described.notes, blocks)


def _refuse_unknown_words(asked: Asked) -> None:
    """See whether models know the words of a table, before hours of scoring.

    The scores of a model of other languages, or of the other direction, look like any others.
    """
    if asked.accept_unknown or not can_be_read_again(asked.table):
        return
    counts = first_words(asked.table)
    if min(each.total() for each in counts.values()) < _WORDS_TO_JUDGE:
        return
    for folder in asked.folders:
        try:
            model = load_words(folder)
        except ModelError:
            continue  # said where it is loaded, which may be on workers alone
        factor = model.factor if asked.factor is None else asked.factor
        shares = {
            side: known_share(counts[side], words, factor) for side, words in model.sides.items()
        }
        side = min(shares, key=lambda each: shares[each])
        if shares[side] >= FEW:
            continue
        other: Side = "target" if side == "source" else "source"
        swapped = known_share(counts[other], model.sides[side], factor)
        problem = f"it knows {shares[side]:.0%} of the words on the {side} side of {asked.table}"
        if swapped > max(FEW, shares[side]):
            problem += f", and its vocabulary for them knows {swapped:.0%} of the {other} side"
        raise ModelError(
            f"{problem}: it seems to be a model of other languages, or of the other direction",
            path=folder,
            remedy="name a model that was trained on this table or one of the same languages, "
            "tokenisation and case; --accept-unknown scores with this one all the same",
        )


def _described(
    asked: Asked, cluster: Cluster
) -> tuple[DescribedModels, Iterator[TableBlock] | None]:
    """Have models described by a worker; return the blocks of a pipe if that used them."""
    from phrasescore.scoring.cluster_scoring import describe_as_before, describe_on_worker

    compute = asked.compute
    models = cluster, asked.folders, compute, asked.factor
    signature = _earlier(asked)
    if signature and (described := describe_as_before(*models, signature)) is not None:
        return described, None
    return _with_sample(
        asked.table,
        compute.shared and compute.precision != "fp32",
        lambda sample: describe_on_worker(*models, sample),
    )


def _earlier(asked: Asked) -> dict[str, Any] | None:
    """Return the signature of an interrupted run over the same table, if there was one."""
    signature = earlier_signature(asked.output)
    if signature is None or signature.get("phrasescore") != __version__:
        return None
    if not can_be_read_again(asked.table):
        return None
    same_table = signature.get("table_sha256") == sha256_of(asked.table)
    return signature if same_table else None


def _with_sample(
    table: str, wanted: bool, load: Callable[[TableBlock | None], Loaded]
) -> tuple[Loaded, Iterator[TableBlock] | None]:
    """Load models, on the table's beginning if wanted; return the blocks if that used up a pipe."""
    if not wanted:
        return load(None), None
    if can_be_read_again(table):
        return load(next(read_blocks(table), None)), None
    blocks = read_table(table)
    begun = list(itertools.islice(blocks, 1))
    return load(begun[0] if begun else None), itertools.chain(begun, blocks)
