"""Compute ln p of texts with one or more models, and filter lines, for ``score-text``.

If the command is killed, running it again continues after the last complete block, and the output
has the same bytes as without interruption. With ``share``, memory grows by some bytes per line;
otherwise it does not depend on the length of the texts.

The dual conditional cross-entropy is defined by Junczys-Dowmunt (2018), "Dual Conditional
Cross-Entropy Filtering of Noisy Parallel Corpora", equations 1 and 2.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import SettingsError, counted
from phrasescore.model.folder import PROVENANCE, LoadedModel
from phrasescore.model.kinds import kind_named
from phrasescore.runs.final_names import hidden, open_output, remove
from phrasescore.runs.json_files import read_object
from phrasescore.runs.stream import BlockStream, LineCounts, StreamReport, keeps_work
from phrasescore.scoring.block_scoring import ScoringModel
from phrasescore.scoring.probability_column import ln_p_texts
from phrasescore.table.input_files import read_lines
from phrasescore.table.text_blocks import TextBlock, Texts
from phrasescore.words.known_words import unknown_warning
from phrasescore.words.vocabulary import UNK_ID


@dataclass(frozen=True)
class TextSettings:
    """Settings of the output: the columns to write, and the lines to keep.

    Args:
        words: Whether to also write ln p of each word.
        normalised: Whether scores are ln p divided by the number of tokens, ``</s>`` counted.
        dual: Whether to also write the dual conditional cross-entropy score.
        threshold: The minimum score of a line that is kept; ``None`` keeps all lines.
        share: The share of the scored lines to keep, best first; ``None`` keeps all lines.
    """

    words: bool = False
    normalised: bool = False
    dual: bool = False
    threshold: float | None = None
    share: float | None = None

    def check(self, models: Sequence[LoadedModel]) -> None:
        """Check that the models fit together, and that one score decides which lines are kept.

        Raises:
            SettingsError: The models do not fit together, or several scores could decide.
        """
        reads_source = [kind_named(each.model.settings.kind).reads_source for each in models]
        if len(set(reads_source)) > 1:
            raise SettingsError(
                "a language model reads one text, but the other models read pairs",
                remedy="score with them in two runs",
            )
        directions = sorted(each.direction for each in models)
        opposite = directions == ["source-target", "target-source"] and reads_source[0]
        if self.dual and not opposite:
            raise SettingsError(
                "--dual compares two models of opposite directions",
                remedy="give one --model trained with --direction source-target and one with "
                "--direction target-source",
            )
        keeps_some = self.threshold is not None or self.share is not None
        if keeps_some and len(models) > 1 and not self.dual:
            raise SettingsError(
                f"{counted(len(models), 'model')} give as many scores, but --keep needs one",
                remedy="give one model, or two of opposite directions with --dual",
            )


def dual_score(forward: NDArray[np.float64], backward: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the adequacy of N pairs, ``(N,)``, from 0 to 1; high if both ln p are high and alike.

    Args:
        forward: ``(N,)`` mean ln p of a target token, given the source.
        backward: ``(N,)`` mean ln p of a source token, given the target.

    >>> dual_score(np.array([-1.0, -1.0]), np.array([-1.0, -3.0])).round(4).tolist()
    [0.3679, 0.0183]
    """
    # with H1 and H2 = -ln p per token: exp(-(|H1 - H2| + (H1 + H2) / 2))
    return np.exp(-np.abs(forward - backward) + (forward + backward) / 2)


def perplexity(ln_p: float, tokens: int) -> float:
    """Return exp(-ln p / tokens), or ``nan`` if there are no tokens."""
    if not tokens:
        return math.nan
    return math.exp(-ln_p / tokens) if -ln_p < 709 * tokens else math.inf


@dataclass(frozen=True)
class ModelCounts:
    """Counts of one model over the lines so far.

    Args:
        tokens: Tokens of the predicted texts, including ``</s>`` of each line.
        unknown: Tokens outside the model's shortlist.
        ln_p: The sum of ln p over the tokens.
    """

    tokens: int = 0
    unknown: int = 0
    ln_p: float = 0.0


@dataclass(frozen=True)
class TextCounts(LineCounts):
    """Counts over the lines so far.

    Args:
        lines: The number of lines read.
        skipped: The number of lines that could not be scored.
        kept: The number of lines written.
        models: The counts of each model.
    """

    skipped: int = 0
    kept: int = 0
    models: tuple[ModelCounts, ...] = ()

    def figures(self) -> list[dict[str, int | float | None]]:
        """Return for each model the figures of the JSON result, with their names."""
        lines = {"lines": self.lines, "skipped": self.skipped}
        found = [perplexity(each.ln_p, each.tokens) for each in self.models]
        return [
            lines
            | dataclasses.asdict(each)
            | {"perplexity": number if math.isfinite(number) else None}
            for each, number in zip(self.models, found, strict=True)
        ]


def described(report: StreamReport[TextCounts], models: Sequence[ScoringModel]) -> str:
    """Describe a run in lines for the user."""
    counts = report.counts
    earlier = f", {report.resumed:,} of them in an earlier run" if report.resumed else ""
    said = [f"{counted(counts.lines, 'line')}{earlier}, {report.per_second:,.0f} lines/s"]
    if counts.kept != counts.lines:
        said[0] += f"; {counts.kept:,} kept"
    for each, model in zip(counts.models, models, strict=True):
        if each.tokens:
            # text of another language can have few unknown pieces of words, but a high perplexity
            held_out = read_object(model.loaded.path / PROVENANCE).get("held_out") or {}
            nll = (held_out.get("held_out_sources") or {}).get("nll")
            usual = f" (held-out training text: {perplexity(-nll, 1):.4f})" if nll else ""
            said.append(
                f"ln p {each.ln_p / each.tokens:.4f} a token, {each.unknown:,} of "
                f"{each.tokens:,} unknown (</s> counted), perplexity "
                f"{perplexity(each.ln_p, each.tokens):.4f}{usual}"
            )
            words = max(1, each.tokens - counts.lines + counts.skipped)
            said.append(unknown_warning(each.unknown / words))
    if counts.skipped:
        said.append(f"{counted(counts.skipped, 'line')} could not be scored: the score is empty")
    return "\n".join(filter(None, said))


def score_lines(
    models: Sequence[ScoringModel], settings: TextSettings, block: TextBlock, before: TextCounts
) -> tuple[bytes, TextCounts]:
    """Score one block; return the lines to write, and the counts up to its end.

    Args:
        models: The models, at least one.
        settings: The columns and the lines to write.
        block: The lines.
        before: The counts of all blocks before this one.

    Raises:
        ModelError: A result of a model is not a log-probability.
    """
    rows = np.flatnonzero(~block.faulty)
    fields: list[list[bytes]] = []  # the columns; each has a field for every scored line
    scores, means, counts = list[bytes](), [], []
    for model, earlier in zip(models, before.models, strict=True):
        words, lengths, unknown = _word_scores(model, block, rows)
        totals = np.add.reduceat(words, np.cumsum(lengths) - lengths) if len(rows) else words
        means.append(totals / lengths)
        scores = ln_p_texts(means[-1] if settings.normalised else totals)
        fields.append(scores)
        if settings.words:
            texts = iter(ln_p_texts(words))
            fields.append([b" ".join(itertools.islice(texts, n)) for n in lengths.tolist()])
        ln_p = earlier.ln_p + float(totals.sum())
        counts.append(ModelCounts(earlier.tokens + len(words), earlier.unknown + unknown, ln_p))
    if settings.dual:
        # the score is symmetric, so the order of the models does not matter
        scores = [b"%.6g" % score for score in dual_score(*means).tolist()]
        fields.append(scores)
    kept = np.arange(len(block))
    if settings.threshold is not None:
        # compare the rounded scores as written: a threshold copied from the output then keeps
        # the line that it was copied from
        kept = rows[np.array([float(text) for text in scores]) >= settings.threshold]
    columns = [dict(zip(rows.tolist(), column, strict=True)) for column in fields]
    lines = dataclasses.replace(block, lines=[block.lines[row] for row in kept.tolist()])
    # a line that cannot be scored gets empty fields
    text = lines.with_columns([[each.get(row, b"") for row in kept.tolist()] for each in columns])
    read, skipped = before.lines + len(block), before.skipped + len(block) - len(rows)
    return text, TextCounts(read, skipped, before.kept + len(kept), tuple(counts))


def _word_scores(
    model: ScoringModel, block: TextBlock, rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """Return one model's scores of some lines.

    Returns:
        ln p of each word, ``</s>`` included, line by line; ``(rows,)`` the number of words in each
        line; and the number of unknown tokens.
    """
    sources, targets = (ids.select(rows) for ids in model.loaded.encode(block.tokens))
    ln_p = model.scorer.score_words(sources, targets)
    words, lengths = model.loaded.target_vocabulary.sums_of_words(ln_p, targets)
    return words, lengths, int((targets.tokens == UNK_ID).sum())


def score_texts(
    texts: Texts,
    output: str | Path,
    models: Sequence[ScoringModel],
    settings: TextSettings,
    *,
    numerics: Mapping[str, object],
) -> StreamReport[TextCounts]:
    """Write the lines that the settings keep, with the scores of all models.

    Args:
        texts: The texts to score.
        output: The output; gzip if the name ends in ``.gz``; ``-`` is standard output.
        models: The models, at least one, which fit together (see ``TextSettings.check``).
        settings: The columns and the lines to write.
        numerics: Everything else that can change scores (device, batch size), as JSON values. An
            interrupted run continues only with the same values.

    Raises:
        InputError: A file cannot be read, or a line cannot be scored.
        SettingsError: The output cannot be written.
        ModelError: A result of a model is not a log-probability.
    """
    share = settings.share
    if share is not None and not keeps_work(output):
        raise SettingsError(
            "the best lines are known only after all are scored, so the output must be a file",
            remedy="name a file with -o, or give --keep a NUMBER",
        )
    stream = BlockStream(
        texts.paths,
        {
            "texts": {**dataclasses.asdict(texts), "paths": None},
            "models": [model.loaded.digest for model in models],
            "settings": dataclasses.asdict(settings),
            "numerics": numerics,
        },
        lambda _, done: texts.blocks(skip=done),
        partial(score_lines, models, settings),
        TextCounts(models=(ModelCounts(),) * len(models)),
        check=texts.blocks,
    )
    if share is None:
        return stream.write(output)
    # All scored lines are first written to a hidden file. Its journal exists until the best lines
    # are selected: if the run is killed before that, the next run does not score them again.
    scored = hidden(output, "scored.gz")
    place = -2 if settings.words and not settings.dual else -1  # index of the ranking column
    kept = [0]

    def write_best(part: Path, _: TextCounts) -> None:
        is_best = _best(part, place, share)
        kept[0] = int(is_best.sum())
        with open_output(output) as stream:
            for line in itertools.compress(read_lines(part, is_text=False), is_best):
                stream.write(line + b"\n")

    report = stream.write(scored, write_best)
    remove(scored)
    return dataclasses.replace(report, counts=dataclasses.replace(report.counts, kept=kept[0]))


def _best(path: Path, place: int, share: float) -> NDArray[np.bool_]:
    """Return ``(lines,)``: true for the highest scores; of equal scores, the first are taken."""
    lines = read_lines(path, is_text=False)
    texts = (line.rstrip(b"\r").split(b"\t")[place] for line in lines)
    scores = np.fromiter((float(text) if text else np.nan for text in texts), np.float64)
    scorable = np.flatnonzero(~np.isnan(scores))
    order = np.argsort(-scores[scorable], kind="stable")
    is_best = np.zeros(len(scores), np.bool_)
    is_best[scorable[order[: round(share * len(scorable))]]] = True
    return is_best
