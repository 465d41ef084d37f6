"""The work of ``score``: scores a table with models, in this process or on a cluster.

Each block is read, scored, written and recorded. If the command is killed, running it again
continues after the last complete block, and the output has the same bytes as without interruption.
Memory does not depend on the length of the table. The scores may also be numbers from another
program, one for each line; this is fast, and is not continued.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, InputError, ModelError, counted
from phrasescore.model.device import choose_device, processor_of
from phrasescore.model.folder import LoadedModel, load_weights
from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.runs.json_files import JsonObject
from phrasescore.runs.ledger import differences, entry_of
from phrasescore.runs.stream import BlockStream, StreamReport, begun_work
from phrasescore.scoring.block_scoring import (
    BlockScorer,
    ComputeSettings,
    ScoringCounts,
    ScoringSettings,
    load_models,
    with_columns,
)
from phrasescore.scoring.probability_column import probability_texts
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, read_blocks
from phrasescore.table.phrase_table import FLOOR_LN
from phrasescore.table.text_blocks import numbers_in
from phrasescore.words.known_words import first_words, known_words, unknown_warning

if TYPE_CHECKING:
    from phrasescore.cluster import Cluster

_FIRST_LINES = 1024
_MIN_WORDS = 100  # minimum number of words on each side for judging whether a model fits


class Rescoring:
    """Models that are ready to score a table: in this process, or on the workers of a cluster.

    An interrupted run continues only with the same numerics.

    Args:
        table: A plain or gzip phrase table, or ``-``.
        output: The output; gzip if the name ends in ``.gz``; ``-`` is standard output.
        folders: The models, in the order of their columns.
        compute: The settings of the computation.
        settings: The settings of the scores; their factor is replaced by the factor to read.
        factor: The factor to read; ``None`` for the factor of the models.
        accept_unknown: Whether models may know less than half of the table's words.
        cluster: The workers, which load the models; ``None`` for this process. The first worker
            chooses the precision for all, unless an interrupted run of the same work has chosen it.

    Attributes:
        ready: The description of the models.
        settings: The settings of the scores.

    Raises:
        ModelError: A folder is not a complete model, or its model does not score phrases or knows
            less than half of the table's words.
        SettingsError: Models read different factors, or the device does not exist.
        ClusterError: A worker cannot load a model.
    """

    def __init__(
        self,
        table: str,
        output: str,
        folders: Sequence[str],
        compute: ComputeSettings,
        settings: ScoringSettings,
        *,
        factor: int | None = None,
        accept_unknown: bool = False,
        cluster: Cluster | None = None,
    ) -> None:
        self._table, self._output, self._folders, self._cluster = table, output, folders, cluster
        # all blocks, if the table can be read only once and its first block has been read already
        self._begun: Iterator[TableBlock] | None = None
        self._scorer: BlockScorer | None = None  # scores blocks here; workers have their own
        if cluster is None:
            sample = self._sample() if compute.wants_sample else None
            models, self.ready = load_models(folders, compute, factor, sample)
            if not accept_unknown:
                _refuse_unknown_words(table, [(each.name, each.loaded) for each in models], factor)
            self.settings = dataclasses.replace(settings, factor=self.ready.factor)
            processor = processor_of(choose_device(compute.device))
            self._scorer = BlockScorer(models, self.settings, processor)
            return
        from phrasescore.scoring import cluster_scoring

        if not accept_unknown:
            _refuse_unknown_words(table, _readable_here(folders), factor)
        job = cluster_scoring.ScoringJob(tuple(folders), compute, factor)
        earlier = _begun_settings(table, output)
        ready = earlier and cluster_scoring.describe_as_before(cluster, job, earlier)
        if not ready:
            sample = self._sample() if compute.precision != "fp32" else None
            ready = cluster_scoring.describe_on_worker(cluster, job, sample)
        self.ready = ready
        self.settings = dataclasses.replace(settings, factor=ready.factor)

    def _sample(self) -> TableBlock | None:
        """Return the table's first block; keep all blocks of a table that can be read only once."""
        if can_be_read_again(self._table):
            return next(read_blocks(self._table), None)
        blocks = _read_table(self._table)
        first = next(blocks, None)
        self._begun = itertools.chain([] if first is None else [first], blocks)
        return first

    def run(self) -> StreamReport[ScoringCounts]:
        """Write the table with the models' scores.

        Raises:
            InputError: The table cannot be read or violates its format.
            SettingsError: The options contradict each other or do not fit the table.
            ModelError: A result of a model is not a log-probability.
        """
        table, scorer, cluster = self._table, self._scorer, self._cluster
        asked = {
            "models": self.ready.identities,
            "settings": dataclasses.asdict(self.settings),
            "numerics": self.ready.numerics,
            "lines_per_block": LINES_PER_BLOCK,
        }

        def read(_: ScoringCounts, done: int) -> Iterator[Any]:
            blocks = self._begun or _read_table(table, done)
            if cluster is None:
                return blocks
            from phrasescore.scoring.cluster_scoring import scored_on_workers

            return scored_on_workers(cluster, self._folders, self.ready, self.settings, blocks)

        def work(block: Any, before: ScoringCounts) -> tuple[bytes, ScoringCounts]:
            # workers have scored a block before it is read here
            text, counts = block if scorer is None else scorer.score(block)
            return text, before + counts

        def note() -> str:
            return "" if cluster is None else counted(len(cluster.workers), "worker")

        check = partial(read_blocks, table)
        stream = BlockStream([table], asked, read, work, ScoringCounts(), check, note=note)
        return stream.write(self._output)

    def figures(self, done: StreamReport[ScoringCounts]) -> JsonObject:
        """Return the figures of a run, as JSON values."""
        counts, settings = done.counts, self.settings
        columns = ["average"] if settings.average else self._folders
        return {
            "pairs": counts.lines,
            "resumed_pairs": done.resumed,
            "seconds": round(done.seconds, 3),
            "pairs_per_second": round(done.per_second, 1),
            "source_unknown_rate": counts.source_unknown / max(1, counts.source_tokens),
            "target_unknown_rate": counts.target_unknown / max(1, counts.target_tokens),
            "unknown": settings.unknown,
            "models": [
                {"name": name, "mean_ln_p": total / counts.lines}
                for name, total in zip(self._folders, counts.ln_p_sums, strict=True)
            ],
            "columns": [
                {"name": name, "floor_hits": hits}
                for name, hits in zip(columns, counts.floor_hits, strict=True)
            ],
            "processors": list(counts.processors),
            "table_sha256": done.sha256[0] if done.sha256 else None,
            "output": str(self._output),
        }


def described(figures: JsonObject) -> str:
    """Describe a run in lines for the user, from its figures."""
    unknown = figures["source_unknown_rate"], figures["target_unknown_rate"]
    resumed = ""
    if figures["resumed_pairs"]:
        resumed = f", {figures['resumed_pairs']:,} of them in an earlier run"
    lines = [
        f"{figures['pairs']:,} pairs{resumed}, {figures['pairs_per_second']:,.0f} pairs/s",
        f"unknown words: {unknown[0]:.2%} of the source, {unknown[1]:.2%} of the target"
        + ("; predicted unknown words share p(<unk>)" if figures["unknown"] == "share" else ""),
        unknown_warning(*unknown),
    ]
    lines += [f"{each['name']}: mean ln p {each['mean_ln_p']:.4f}" for each in figures["models"]]
    lines += [
        f"{each['name']}: {each['floor_hits']:,} pairs at Moses's floor of -100"
        for each in figures["columns"]
    ]
    return "\n".join(filter(None, lines))


def _readable_here(folders: Iterable[str]) -> Iterator[tuple[str, LoadedModel]]:
    """Yield the models that this process, which only distributes the work, can read."""
    for folder in folders:
        with contextlib.suppress(ModelError):  # reported when the workers load the model
            yield folder, load_weights(folder)


def _refuse_unknown_words(
    table: str, models: Iterable[tuple[str, LoadedModel]], factor: int | None
) -> None:
    """Before hours of scoring, raise an error if a model does not know the words of the table.

    The scores themselves would not look wrong, even with a model for other languages.
    """
    if not can_be_read_again(table):
        return
    counts = first_words(table)
    if min(each.total() for each in counts.values()) < _MIN_WORDS:
        return
    for folder, model in models:
        read_factor = model.settings.factor if factor is None else factor
        known = known_words(table, counts, model.sides, read_factor)
        if known.problem:
            remedy = f"{known.remedy}; or score with this model anyway, with --accept-unknown"
            raise ModelError(known.problem, path=folder, remedy=remedy)


def _begun_settings(table: str, output: str) -> dict[str, Any] | None:
    """Return the settings of an interrupted run over the same table, if there was one."""
    begun = begun_work(output)
    if begun is None or not can_be_read_again(table):
        return None
    return None if differences(begun, entry_of(begun.settings, [table])) else begun.settings


def _read_table(table: str | Path, skip: int = 0) -> Iterator[TableBlock]:
    """Yield the blocks of a table; the first blocks are short, so that scoring begins early."""
    return read_blocks(table, skip=skip, first=_FIRST_LINES)


# -- the numbers of another program ----------------------------------------------------------

Scale = Literal["ln", "log10", "probability"]
# scale -> the smallest and the largest number, and their name
_RANGES: dict[Scale, tuple[float, float, str]] = {
    "ln": (-math.inf, 0, "the ln of a probability, which is at most 0"),
    "log10": (-math.inf, 0, "the log10 of a probability, which is at most 0"),
    "probability": (0, 1, "a probability from 0 to 1"),
}
_ROUNDING = 1e-6  # other programs' rounding can make a logarithm slightly larger than 0
_ONE_EACH = "give one number for each line of the table, in the order of its lines"


def append_given_scores(
    table: str, scores: str, output: str, scale: Scale, replace_column: int | None = None
) -> StreamReport[ScoringCounts]:
    """Write a table with the scores of a file as a new column, or in place of a column.

    Args:
        table: A plain or gzip phrase table, or ``-``.
        scores: A file with one number for each line of the table.
        output: The output; gzip if the name ends in ``.gz``; ``-`` is standard output.
        scale: Whether the numbers are ln p, log10 p or p.
        replace_column: The score to replace, counted from 1; ``None`` appends a score.

    Raises:
        InputError: A file cannot be read, the files have different numbers of lines, or a number is
            no probability in this scale.
        SettingsError: There is no such column, or the output cannot be written.
    """
    numbers = numbers_in(scores)

    def work(block: TableBlock, before: ScoringCounts) -> tuple[bytes, ScoringCounts]:
        ln_p = _ln_p(scores, block, numbers, scale)
        counts = ScoringCounts(
            lines=len(block),
            ln_p_sums=(float(np.maximum(ln_p, FLOOR_LN).sum()),),
            floor_hits=(int((ln_p <= FLOOR_LN).sum()),),
        )
        return with_columns(block, [probability_texts(ln_p)], replace_column), before + counts

    def refuse_more(_: Path, counts: ScoringCounts) -> None:
        if next(numbers, None) is not None:
            problem = f"more numbers than {table} has lines, which are {counts.lines:,}"
            raise InputError(problem, path=scores, remedy=_ONE_EACH)

    return BlockStream(
        [table, scores], None, lambda *_: read_blocks(table), work, ScoringCounts()
    ).write(output, refuse_more)


def _ln_p(
    path: str, block: TableBlock, numbers: Iterator[float], scale: Scale
) -> NDArray[np.float64]:
    """Return (lines,) ln p of the lines of a block, from the next numbers of the file ``path``."""
    values = np.fromiter(itertools.islice(numbers, len(block)), np.float64)
    if len(values) < len(block):
        problem = f"the file ends before line {block.first_line + len(values):,} of {block.path}"
        raise InputError(problem, path=path, remedy=_ONE_EACH)
    low, high, what = _RANGES[scale]
    wrong = (values < low) | (values > high + _ROUNDING)
    if wrong.any():
        row = int(np.argmax(wrong))
        remedy, line = "correct the number, or give another --scores-are", block.first_line + row
        raise CorpusError(f"{values[row]:g} is not {what}", path=path, line=line, remedy=remedy)
    with np.errstate(divide="ignore"):
        ln_p: NDArray[np.float64] = np.log(values) if low == 0 else values
    return ln_p * math.log(10) if scale == "log10" else ln_p
