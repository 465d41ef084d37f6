"""Stream pairs of texts past a model: ln p of each target, of each of its words, of all together.

As for a phrase table, the same command continues after the last whole block if it was killed, with
the same bytes at the end, and memory does not depend on how long the texts are together.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from phrasescore import __version__
from phrasescore.errors import InputError, ModelError
from phrasescore.model.folder import LoadedModel
from phrasescore.runs.file_kinds import can_be_read_again, refuse_same_file
from phrasescore.runs.final_names import is_gzip_name
from phrasescore.runs.identity import sha256_of
from phrasescore.scoring.probability_column import ln_p_texts
from phrasescore.scoring.shared_work import SharedWork
from phrasescore.scoring.text_report import TextCounts, TextReport
from phrasescore.table.block_stream import BlockStream
from phrasescore.table.input_files import InputCheck
from phrasescore.table.text_blocks import TextBlock, Texts
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import UNK_ID


class WordScorer(Protocol):
    """Gives ln p of the words of pairs of id sequences."""

    @property
    def work(self) -> SharedWork:
        """What it has done since it was made."""
        ...

    def score_words(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        """Return ln p of each target word and final </s>, ``(all target words + N,)``."""
        ...


class TextScorer:
    """Scores blocks, one after the other.

    Args:
        loaded: The model.
        scorer: What computes with it.
        words: Whether to write ln p of each word, too.
    """

    def __init__(self, loaded: LoadedModel, scorer: WordScorer, words: bool) -> None:
        self._loaded, self._scorer, self._words = loaded, scorer, words

    def score(self, block: TextBlock, before: TextCounts) -> tuple[bytes, TextCounts]:
        """Score one block; return its lines with their scores, and the counts up to its end.

        Args:
            block: Its lines.
            before: The counts up to the line before it.

        Raises:
            ModelError: The model gives something that is not a log-probability.
        """
        rows = np.flatnonzero(~block.faulty)
        sources, targets = self._ids(block, rows)
        done = self._scorer.work
        ln_p = self._scorer.score_words(sources, targets)
        begins = targets.offsets[:-1] + np.arange(len(rows))
        totals = np.add.reduceat(ln_p, begins) if len(rows) else np.empty(0)
        wrong = np.flatnonzero(~np.isfinite(totals))
        if len(wrong):
            raise ModelError(
                f"the model {self._loaded.path} gives no number for this pair",
                path=block.path,
                line=block.first_line + int(rows[wrong[0]]),
                remedy="train it again; its parameters are not finite",
            )
        columns = [_spread(ln_p_texts(totals), rows, len(block))]
        if self._words:
            fields = _joined(ln_p_texts(ln_p), targets.lengths + 1)
            columns.append(_spread(fields, rows, len(block)))
        counts = TextCounts(
            lines=before.lines + len(block),
            skipped=before.skipped + len(block) - len(rows),
            tokens=before.tokens + len(ln_p),
            unknown=before.unknown + int((targets.tokens == UNK_ID).sum()),
            ln_p=before.ln_p + float(totals.sum()),
            work=before.work + (self._scorer.work - done),
        )
        return block.with_columns(columns), counts

    def _ids(
        self, block: TextBlock, rows: NDArray[np.int64]
    ) -> tuple[TokenSequences, TokenSequences]:
        """Return what the model reads, no words where there is only one text, and predicts."""
        backwards = self._loaded.direction == "target-source"
        *read, predicted = block.tokens[::-1] if backwards else block.tokens
        sources = TokenSequences(np.empty(0, np.int32), np.zeros(len(rows) + 1, np.int64))
        for spans in read:
            sources = self._loaded.source_vocabulary.encode_spans(spans).select(rows)
        return sources, self._loaded.target_vocabulary.encode_spans(predicted).select(rows)


def _joined(texts: list[bytes], counts: NDArray[np.int64]) -> list[bytes]:
    stops = np.cumsum(counts).tolist()
    return [
        b" ".join(texts[stop - count : stop])
        for stop, count in zip(stops, counts.tolist(), strict=True)
    ]


def _spread(fields: list[bytes], rows: NDArray[np.int64], lines: int) -> list[bytes]:
    """Give each line its field, and the others an empty one."""
    column = [b""] * lines
    for row, field in zip(rows.tolist(), fields, strict=True):
        column[row] = field
    return column


def score_texts(
    texts: Texts,
    output: str | Path,
    loaded: LoadedModel,
    scorer: WordScorer,
    *,
    words: bool = False,
    numerics: dict[str, Any],
) -> TextReport:
    """Write the lines of texts with the model's scores.

    Args:
        texts: What to score.
        output: Where to; gzip if the name ends in ``.gz``; ``-`` is standard output.
        loaded: The model.
        scorer: What computes with it.
        words: Whether to write ln p of each word, too.
        numerics: What else decides the digits (device, batch size), as JSON values: an interrupted
            run only continues under the same ones.

    Raises:
        InputError: A file cannot be read, or a line cannot be scored.
        SettingsError: The output is an input, or cannot be written.
        ModelError: The model gives something that is not a log-probability.
    """
    for path in texts.paths:
        refuse_same_file(path, output, "one of the texts")
    start = time.monotonic()
    again = all(can_be_read_again(path) for path in texts.paths)
    sha256 = tuple(sha256_of(path) for path in texts.paths) if again else ()
    signature = None
    if again:
        signature = {
            "phrasescore": __version__,
            "texts_sha256": sha256,
            "texts": {**dataclasses.asdict(texts), "paths": None},
            "model": loaded.digest,
            "words": words,
            "numerics": numerics,
            "gzip": is_gzip_name(output),
        }
    stream = BlockStream(
        lambda _, done: texts.blocks(skip=done),
        TextScorer(loaded, scorer, words).score,
        TextCounts(),
        check=InputCheck(texts.blocks) if again else None,
        changed=InputError(
            "the text changed while it was being scored",
            path=texts.paths[0],
            remedy="run the command again",
        ),
        unlike="other options, model or texts",
    )
    counts, resumed = stream.write(output, signature)
    return TextReport(counts, resumed, time.monotonic() - start, sha256)
