"""Stream a phrase table past the models: read a block, score it, write it, record it.

The same command continues after the last whole block if it was killed; the output's bytes are the
same whether it was or not. Memory does not depend on the table's length.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from phrasescore import __version__
from phrasescore.errors import InputError, SettingsError
from phrasescore.runs.file_kinds import can_be_read_again, refuse_same_file
from phrasescore.runs.final_names import is_gzip_name
from phrasescore.runs.identity import sha256_of
from phrasescore.scoring.block_scoring import ScoredBlock, ScoringCounts, ScoringSettings
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, read_blocks
from phrasescore.table.block_stream import BlockStream
from phrasescore.table.input_files import InputCheck
from phrasescore.words import Unknown
from phrasescore.words.known_words import warning_of

_FIRST_LINES = 1024
# what a scorer makes of a block that is to come
Ahead = TypeVar("Ahead", TableBlock, ScoredBlock)


class NamedModel(Protocol):
    """A model, wherever it is."""

    @property
    def name(self) -> str:
        """What to call it, its folder as given."""
        ...

    @property
    def digest(self) -> str:
        """What identifies its parameters and vocabularies."""
        ...

    @property
    def direction(self) -> str:
        """Which side of the table it reads."""
        ...


class TableScorer(Protocol[Ahead]):
    """Scores blocks of a table, here or elsewhere; what it gives for one depends on that alone."""

    @property
    def models(self) -> Sequence[NamedModel]:
        """One column each, in this order."""
        ...

    @property
    def settings(self) -> ScoringSettings:
        """What goes into the table."""
        ...

    @property
    def probability_columns(self) -> int:
        """How many columns of probabilities are written."""
        ...

    def ahead(self, blocks: Iterator[TableBlock]) -> Iterator[Ahead]:
        """Read blocks and do with them what can be done before their turn comes."""
        ...

    def score(self, block: Ahead) -> ScoredBlock:
        """Return a block's lines with their scores."""
        ...

    def note(self) -> str:
        """Say how the work stands, for the progress."""
        ...


@dataclass(frozen=True)
class RescoringReport:
    """What a run did.

    Args:
        counts: Over the whole table, lines scored by an earlier, interrupted run included.
        models: The names of the models.
        columns: What each column of probabilities holds.
        resumed_lines: How many lines an earlier run had already scored.
        seconds: How long this run took.
        table_sha256: The digest of the table's file; ``None`` for a pipe.
        unknown: What words outside the shortlists were given.
    """

    counts: ScoringCounts
    models: tuple[str, ...]
    columns: tuple[str, ...]
    resumed_lines: int
    seconds: float
    table_sha256: str | None
    unknown: Unknown = "whole"

    @property
    def pairs_per_second(self) -> float:
        """The rate of this run."""
        return (self.counts.lines - self.resumed_lines) / max(self.seconds, 1e-9)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        counts = self.counts
        return {
            "pairs": counts.lines,
            "resumed_pairs": self.resumed_lines,
            "seconds": round(self.seconds, 3),
            "pairs_per_second": round(self.pairs_per_second, 1),
            "source_runs": counts.source_runs,
            "work": dataclasses.asdict(counts.work),
            "savings": dict(zip(("source", "target"), counts.work.savings, strict=True)),
            "source_unknown_rate": _rate(counts.source_unknown, counts.source_tokens),
            "target_unknown_rate": _rate(counts.target_unknown, counts.target_tokens),
            "unknown": self.unknown,
            "models": [
                {"name": name, "mean_ln_p": total / counts.lines}
                for name, total in zip(self.models, counts.ln_p_sums, strict=True)
            ],
            "columns": [
                {"name": name, "floor_hits": hits}
                for name, hits in zip(self.columns, counts.floor_hits, strict=True)
            ],
            "processors": list(counts.processors),
            "table_sha256": self.table_sha256,
        }

    def __str__(self) -> str:
        counts = self.counts
        unknown = [
            _rate(counts.source_unknown, counts.source_tokens),
            _rate(counts.target_unknown, counts.target_tokens),
        ]
        resumed = f", {self.resumed_lines:,} of them earlier" if self.resumed_lines else ""
        lines = [
            f"{counts.lines:,} pairs{resumed}, {self.pairs_per_second:,.0f} pairs/s; "
            f"{counts.source_runs:,} distinct sources (runs of equal ones)",
            f"unknown words: {unknown[0]:.2%} of the source, {unknown[1]:.2%} of the target"
            + ("; predicted ones share p(<unk>)" if self.unknown == "share" else ""),
        ]
        lines += filter(None, [warning_of(*unknown)])
        source, target = counts.work.savings
        lines.insert(
            1,
            f"shared work: {counts.work.source_done:,} source steps for "
            f"{counts.work.source_asked:,} asked ({source:.2f} times fewer), "
            f"{counts.work.target_done:,} target steps for {counts.work.target_asked:,} "
            f"({target:.2f} times fewer)",
        )
        for name, total in zip(self.models, counts.ln_p_sums, strict=True):
            lines.append(f"{name}: mean ln p {total / counts.lines:.4f}")
        for name, hits in zip(self.columns, counts.floor_hits, strict=True):
            lines.append(f"{name}: {hits:,} pairs at Moses's floor of -100")
        return "\n".join(lines)


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def rescore_table(
    table: str | Path,
    output: str | Path,
    scorer: TableScorer[Ahead],
    *,
    numerics: dict[str, Any],
    lines_per_block: int = LINES_PER_BLOCK,
    blocks: Iterator[TableBlock] | None = None,
) -> RescoringReport:
    """Write the table with the models' scores.

    Args:
        table: A plain or gzip phrase table, or ``-``.
        output: Where to; gzip if the name ends in ``.gz``; ``-`` is standard output.
        scorer: What scores, with at least one model.
        numerics: What else decides the digits (device, precision, batch size), as JSON values: an
            interrupted run only continues under the same ones.
        lines_per_block: How many lines to hold at a time; the first blocks are shorter.
        blocks: The blocks of a table that cannot be read twice, if reading has begun; their sizes
            must be those of ``read_table``.

    Raises:
        InputError: The table cannot be read or breaks its format.
        SettingsError: The options do not fit together or to the table.
        ModelError: A model gives something that is not a log-probability.
    """
    models, settings = scorer.models, scorer.settings
    if not models:
        raise SettingsError("there is no model to score with", remedy="name one with --model")
    refuse_same_file(table, output, "the table itself")
    start = time.monotonic()
    sha256 = sha256_of(table) if can_be_read_again(table) else None
    signature = None
    if sha256 is not None:
        signature = {
            "phrasescore": __version__,
            "table_sha256": sha256,
            "models": [[model.digest, model.direction] for model in models],
            "settings": dataclasses.asdict(settings),
            "numerics": numerics,
            "gzip": is_gzip_name(output),
            "lines_per_block": lines_per_block,
        }

    def score(block: Ahead, before: ScoringCounts) -> tuple[bytes, ScoringCounts]:
        scored = scorer.score(block)
        return scored.text, before.followed_by(scored)

    stream = BlockStream(
        lambda _, done: scorer.ahead(blocks or read_table(table, lines_per_block, skip=done)),
        score,
        ScoringCounts.none(len(models), scorer.probability_columns),
        check=None if sha256 is None else InputCheck(lambda: read_blocks(table, lines_per_block)),
        changed=InputError(
            "the table changed while it was being scored",
            path=table,
            remedy="run the command again",
        ),
        unlike="other options, models or table",
        note=scorer.note,
    )
    counts, resumed = stream.write(output, signature)
    names = tuple(model.name for model in models)
    columns = ("average",) if settings.average else names
    seconds = time.monotonic() - start
    return RescoringReport(counts, names, columns, resumed, seconds, sha256, settings.unknown)


def read_table(
    table: str | Path, lines_per_block: int = LINES_PER_BLOCK, *, skip: int = 0
) -> Iterator[TableBlock]:
    """Yield a table's blocks; the first are short, so that the first scores come soon."""
    return read_blocks(table, lines_per_block, skip=skip, first=_FIRST_LINES)
