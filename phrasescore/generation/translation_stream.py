"""Stream a text past models that translate it, to one output or several; resumable."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phrasescore import __version__
from phrasescore.errors import CorpusError, InputError
from phrasescore.generation.translation_output import TranslationCounts, TranslationWriter
from phrasescore.runs.file_kinds import can_be_read_again, refuse_same_file
from phrasescore.runs.final_names import is_gzip_name
from phrasescore.runs.identity import sha256_of
from phrasescore.table.block_stream import BlockStream
from phrasescore.table.input_files import InputCheck
from phrasescore.table.text_blocks import TextBlock, Texts

# of an output's block: some seconds of work, which is what a kill can lose
SENTENCES_PER_BLOCK = 512


@dataclass(frozen=True)
class TranslationReport:
    """What a run did.

    Args:
        counts: Over the whole input, that of an earlier, interrupted run included.
        resumed: Sentences that an earlier run had done.
        seconds: How long this run took.
        sha256: The digest of the input; ``None`` for a pipe.
    """

    counts: TranslationCounts
    resumed: int
    seconds: float
    sha256: str | None

    @property
    def per_second(self) -> float:
        """Sentences that this run translated in a second."""
        return (self.counts.lines - self.resumed) / max(self.seconds, 1e-9)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        counts = dataclasses.asdict(self.counts)
        return {
            "sentences": counts.pop("lines"),
            **counts,
            "mean_ln_p": self.counts.mean_ln_p,
            "resumed_sentences": self.resumed,
            "seconds": round(self.seconds, 3),
            "sentences_per_second": round(self.per_second, 3),
            "input_sha256": self.sha256,
        }

    def __str__(self) -> str:
        return f"{self.counts}\n{self.seconds:,.1f} s, {self.per_second:,.1f} sentences/s"


def translate_text(
    path: str | Path,
    outputs: Sequence[str | Path],
    writer: TranslationWriter,
    asked: dict[str, Any],
    *,
    factor: int = 0,
    longest: int,
) -> TranslationReport:
    """Write the translations of a text, a sentence a line.

    Args:
        path: Plain, gzip or ``-``.
        outputs: Where the writer's texts go; gzip if a name ends in ``.gz``; ``-`` is standard
            output.
        writer: What writes a block.
        asked: All else that decides the outputs' bytes, as JSON values.
        factor: Which factor of a token the models read.
        longest: Words of the longest sentence that is accepted.

    Raises:
        InputError: The text cannot be read, or has a longer sentence.
        SettingsError: An output is the input, or cannot be written.
        ModelError: A model gives no numbers.
    """
    for output in outputs:
        refuse_same_file(path, output, "the input")
    start = time.monotonic()
    texts = Texts(
        (path,),
        columns=1,
        factor=factor,
        whole_lines=True,
        lines_per_block=SENTENCES_PER_BLOCK,
    )
    again = can_be_read_again(path)
    sha256 = sha256_of(path) if again else None
    signature = None
    if again:
        gzip = [is_gzip_name(output) for output in outputs]
        signature = {"phrasescore": __version__, "input": sha256, "gzip": gzip, **asked}
    stream = BlockStream(
        lambda _, done: _short_enough(texts.blocks(skip=done), longest),
        writer.write,
        TranslationCounts(),
        check=InputCheck(lambda: _short_enough(texts.blocks(), longest)) if again else None,
        changed=InputError(
            "the text changed while it was being translated",
            path=path,
            remedy="run the command again",
        ),
        unlike="other options, models or input",
        what="translating",
        unit="sentences",
    )
    counts, resumed = stream.write(outputs[0], signature, beside=outputs[1:])
    return TranslationReport(counts, resumed, time.monotonic() - start, sha256)


def _short_enough(blocks: Iterator[TextBlock], longest: int) -> Iterator[TextBlock]:
    """Pass blocks on; raise for a sentence with too many words."""
    for block in blocks:
        lengths = np.diff(block.tokens[0].offsets)
        too_long = np.flatnonzero(lengths > longest)
        if len(too_long):
            row = int(too_long[0])
            raise CorpusError(
                f"{int(lengths[row]):,} words, and a sentence may have {longest:,}",
                path=block.path,
                line=block.first_line + row,
                remedy="give one sentence a line, or raise --max-sentence-length",
            )
        yield block
