"""Parallel text scored by several models in one pass, and the best of its lines kept.

The dual conditional cross-entropy is that of Junczys-Dowmunt (2018), "Dual Conditional
Cross-Entropy Filtering of Noisy Parallel Corpora", equations 1 and 2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import SettingsError, counted
from phrasescore.model.folder import LoadedModel
from phrasescore.model.kinds import kind_named
from phrasescore.runs.file_kinds import is_stream, refuse_same_file
from phrasescore.runs.final_names import hidden, open_output, remove
from phrasescore.runs.journal import JournaledOutputs
from phrasescore.scoring.probability_column import ln_p_texts
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.scoring.text_scoring import TextCounts, TextScorer, spread
from phrasescore.table.block_stream import BlockStream, StreamReport
from phrasescore.table.input_files import open_input
from phrasescore.table.text_blocks import TextBlock, Texts


@dataclass(frozen=True)
class Keep:
    """Which lines to keep: those with at least some score, or the best share.

    Args:
        threshold: The minimum score; ``None`` where a share is kept.
        share: The share of the lines that can be scored, from 0 to 1.
    """

    threshold: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class FilterSettings:
    """What is written for each line, and which lines.

    Args:
        words: Whether to write ln p of each word, too.
        normalised: Whether scores are ln p divided by the number of tokens, ``</s>`` counted.
        dual: Whether to write the dual conditional cross-entropy score, too.
        keep: Which lines; ``None`` for all.
    """

    words: bool = False
    normalised: bool = False
    dual: bool = False
    keep: Keep | None = None

    @property
    def is_plain(self) -> bool:
        """Whether ln p is all that is written, for every line."""
        return not (self.normalised or self.dual or self.keep)

    def check(self, models: Sequence[LoadedModel]) -> None:
        """Refuse models that do not fit together, or that leave open which score counts.

        Raises:
            SettingsError: Why.
        """
        kinds = [kind_named(each.model.settings.kind) for each in models]
        if len({kind.reads_source for kind in kinds}) > 1:
            raise SettingsError(
                "a language model reads one text, and the other models read pairs",
                remedy="score with them in two runs",
            )
        directions = sorted(each.direction for each in models)
        if self.dual and (
            directions != ["source-target", "target-source"] or not kinds[0].reads_source
        ):
            raise SettingsError(
                "--dual compares two models of opposite directions",
                remedy="give one --model trained with --direction source-target and one with "
                "--direction target-source",
            )
        if self.keep is not None and len(models) > 1 and not self.dual:
            raise SettingsError(
                f"{counted(len(models), 'model')} give as many scores, and --keep goes by one",
                remedy="give one model, or two of opposite directions with --dual",
            )


def dual_score(forward: NDArray[np.float64], backward: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the adequacy of N pairs, ``(N,)``, from 0 to 1: high where both models agree on much.

    Args:
        forward: ``(N,)`` ln p of each target token, given the source, on average.
        backward: ``(N,)`` the same of the source tokens, given the target.

    >>> dual_score(np.array([-1.0, -1.0]), np.array([-1.0, -3.0])).round(4).tolist()
    [0.3679, 0.0183]
    """
    # with cross-entropies H = -ln p a token: exp(-(|H1 - H2| + (H1 + H2) / 2))
    adequacy: NDArray[np.float64] = np.exp(-np.abs(forward - backward) + (forward + backward) / 2)
    return adequacy


@dataclass(frozen=True)
class FilterCounts:
    """Counts over the lines so far.

    Args:
        lines: All of them.
        kept: Those that are written.
        models: The counts of each model.
    """

    lines: int = 0
    kept: int = 0
    models: tuple[TextCounts, ...] = ()


class FilterReport(StreamReport[FilterCounts]):
    """The result of a run with several models, or with other scores than ln p."""

    def with_models(self, models: Sequence[str]) -> dict[str, Any]:
        """Return the report as JSON values.

        Args:
            models: The folder of each model.
        """
        return {
            "lines": self.counts.lines,
            "skipped": self.counts.models[0].skipped,
            "kept": self.counts.kept,
            "models": [
                {"model": name, **counts.figures}
                for name, counts in zip(models, self.counts.models, strict=True)
            ],
            "resumed_lines": self.resumed,
            "seconds": round(self.seconds, 3),
            "pairs_per_second": round(self.per_second, 1),
            "sha256": list(self.sha256),
        }

    def __str__(self) -> str:
        counts = self.counts
        skipped = counts.models[0].skipped
        said = f"{counted(counts.lines, 'line')}, {self.per_second:,.0f} pairs/s"
        said += f"; {counts.kept:,} kept" if counts.kept != counts.lines else ""
        for each in counts.models:
            if each.tokens:
                said += f"\nln p {each.ln_p / each.tokens:.4f} a token, "
                said += f"perplexity {each.perplexity:.4f}"
        return said + (f"\n{counted(skipped, 'line')} could not be scored" if skipped else "")


class _Filter:
    """Scores blocks with all models, and drops the lines below a threshold."""

    def __init__(
        self, models: Sequence[LoadedModel], scorers: Sequence[SharedScorer], how: FilterSettings
    ) -> None:
        self._models, self._how = models, how
        self._scorers = [
            TextScorer(loaded, scorer, how.words)
            for loaded, scorer in zip(models, scorers, strict=True)
        ]

    def score(self, block: TextBlock, before: FilterCounts) -> tuple[bytes, FilterCounts]:
        """Return the lines to write with their scores, and the counts up to the block's end."""
        how, rows = self._how, np.flatnonzero(~block.faulty)
        columns: list[list[bytes]] = []
        counts, normalised, texts = [], [], list[bytes]()
        for scorer, earlier in zip(self._scorers, before.models, strict=True):
            totals, lengths, own_columns, own_counts = scorer.columns(block, earlier)
            normalised.append(totals / lengths)
            texts = ln_p_texts(normalised[-1] if how.normalised else totals)
            columns += [spread(texts, rows, len(block)), *own_columns[1:]]
            counts.append(own_counts)
        if how.dual:
            # the measure is symmetric, so the order of the models does not matter
            texts = [b"%.6g" % score for score in dual_score(*normalised).tolist()]
            columns.append(spread(texts, rows, len(block)))
        kept = np.arange(len(block))
        if how.keep is not None and how.keep.threshold is not None:
            # the numbers as written decide, so that a threshold read from a file keeps its line
            kept = rows[np.array([float(text) for text in texts]) >= how.keep.threshold]
        lines = dataclasses.replace(block, lines=[block.lines[row] for row in kept.tolist()])
        text = lines.with_columns([[column[row] for row in kept.tolist()] for column in columns])
        done = before.lines + len(block), before.kept + len(kept), tuple(counts)
        return text, FilterCounts(*done)


def filter_texts(
    texts: Texts,
    output: str | Path,
    models: Sequence[LoadedModel],
    scorers: Sequence[SharedScorer],
    how: FilterSettings,
    *,
    numerics: dict[str, Any],
) -> FilterReport:
    """Write the lines of texts with the scores of all models, or those lines that are to be kept.

    Args:
        texts: What to score.
        output: Where to; gzip if the name ends in ``.gz``; ``-`` is standard output.
        models: At least one.
        scorers: What computes with each.
        how: What to write.
        numerics: What else decides the digits, as JSON values.

    Raises:
        InputError: A file cannot be read, or a line cannot be scored.
        SettingsError: The models do not fit together, or the output cannot be written.
        ModelError: A model gives something that is not a log-probability.
    """
    how.check(models)
    share = None if how.keep is None else how.keep.share
    if share is not None and (str(output) == "-" or is_stream(output)):
        raise SettingsError(
            "a share of the lines is known when all are scored, so the output must be a file",
            remedy="name a file with -o, or keep by a threshold",
        )
    asked = {
        "texts": {**dataclasses.asdict(texts), "paths": None},
        "models": [loaded.digest for loaded in models],
        "how": dataclasses.asdict(how),
        "numerics": numerics,
    }
    stream = BlockStream(
        texts.paths,
        asked,
        lambda _, done: texts.blocks(skip=done),
        _Filter(models, scorers, how).score,
        FilterCounts(models=tuple(TextCounts() for _ in models)),
        check=texts.blocks,
        unlike="other options, models or texts",
    )
    if share is None:
        done = stream.write(output)
        return FilterReport(done.counts, done.resumed, done.seconds, done.sha256)
    # All lines are scored into a hidden file first. The best are written before that file gets its
    # name: a run that is killed meanwhile still has its journal, and scores nothing again.
    for path in texts.paths:
        refuse_same_file(path, output)
    scored = hidden(output, "scored.gz")
    kept = [0]

    def write_best(outputs: JournaledOutputs, _: FilterCounts) -> None:
        place = -1 - (how.words and not how.dual)  # the deciding column, from the end of the line
        best = iter(_best(outputs.part_path, place, share).tolist())
        with open_output(output) as stream:
            number = next(best, None)
            for at, line in enumerate(_lines(outputs.part_path)):
                if at == number:
                    stream.write(line)
                    kept[0] += 1
                    number = next(best, None)

    done = stream.write(scored, write_best)
    remove(scored)
    counts = dataclasses.replace(done.counts, kept=kept[0])
    return FilterReport(counts, done.resumed, done.seconds, done.sha256)


def _lines(path: Path) -> Iterator[bytes]:
    with open_input(path) as stream:
        yield from stream


def _best(path: Path, place: int, share: float) -> NDArray[np.int64]:
    """Return the numbers of the best lines, rising; of equally good ones the first are kept."""
    texts = (line.rstrip(b"\r\n").split(b"\t")[place] for line in _lines(path))
    scores = np.fromiter((float(text) if text else np.nan for text in texts), np.float64)
    scorable = np.flatnonzero(~np.isnan(scores))
    order = np.argsort(-scores[scorable], kind="stable")
    return np.sort(scorable[order[: round(share * len(scorable))]])
