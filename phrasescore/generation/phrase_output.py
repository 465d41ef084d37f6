"""Writes a model's targets for a file of phrases.

An output line has a phrase, a target and its ln p; with samples, also the number of times that the
target was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from phrasescore.generation.targets import TargetGenerator
from phrasescore.model.folder import LoadedModel
from phrasescore.runs.stream import BlockStream, LineCounts, StreamReport
from phrasescore.scoring.probability_column import ln_p_texts
from phrasescore.table.text_blocks import TextBlock, Texts
from phrasescore.words.known_words import unknown_warning
from phrasescore.words.token_sequences import TokenSequences
from phrasescore.words.vocabulary import UNK_ID, Vocabulary

# a killed run loses at most one block, which takes some seconds to compute
PHRASES_PER_BLOCK = 2048


@dataclass(frozen=True)
class PhraseCounts(LineCounts):
    """Counts over phrases.

    Args:
        lines: Phrases read.
        words: Words of the phrases.
        unknown: Words outside the model's shortlist.
        targets: Targets written.
        ln_p: The sum of ln p of the first target of each phrase.
    """

    words: int = 0
    unknown: int = 0
    targets: int = 0
    ln_p: float = 0.0

    def __str__(self) -> str:
        share = self.unknown / self.words if self.words else 0.0
        mean = self.ln_p / self.lines if self.lines else 0.0
        said = (
            f"{self.targets:,} targets for {self.lines:,} phrases; {share:.2%} of the source words "
            f"are unknown; mean ln p of the first targets {mean:.4f}"
        )
        return "\n".join(filter(None, [said, unknown_warning(share)]))


def phrase_texts(phrases: TokenSequences, vocabulary: Vocabulary) -> list[bytes]:
    """Return the text of each phrase of ids: its words, separated by spaces."""
    return [b" ".join(vocabulary.decode(phrases[at])) for at in range(len(phrases))]


def generate_for_phrases(
    path: str | Path,
    output: str | Path,
    loaded: LoadedModel,
    generator: TargetGenerator,
    asked: dict[str, object],
    *,
    drawn: bool,
) -> StreamReport[PhraseCounts]:
    """Write a model's targets for the phrases in the first column of a file.

    Args:
        path: The file: plain, gzip, or ``-`` for standard input.
        output: The output; gzip if the name ends in ``.gz``; ``-`` is standard output.
        loaded: The model.
        generator: Searches or samples with the model.
        asked: Everything else that determines the output's bytes, as JSON values.
        drawn: Whether targets are samples; if so, the count of each target is written, too.

    Raises:
        InputError: The file cannot be read, or a phrase is empty or too long for a model to read.
        SettingsError: The output cannot be written.
        ModelError: A result of the model is not a number.
    """
    factor = loaded.model.settings.factor
    texts = Texts((path,), columns=1, factor=factor, lines_per_block=PHRASES_PER_BLOCK)

    def work(block: TextBlock, before: PhraseCounts) -> tuple[bytes, PhraseCounts]:
        spans = block.phrases()
        sources = loaded.source_vocabulary.encode_spans(spans)
        targets = generator.targets(sources, block.first_line - 1)
        counts = before + PhraseCounts(
            lines=len(block),
            words=len(sources.tokens),
            unknown=int((sources.tokens == UNK_ID).sum()),
            targets=len(targets),
            ln_p=float(targets.ln_p[targets.offsets[:-1]].sum()),
        )
        phrases = [b" ".join(spans.tokens(line)) for line in range(len(block))]
        written = phrase_texts(targets.words, loaded.target_vocabulary)
        numbers = zip(ln_p_texts(targets.ln_p), targets.counts.tolist(), strict=True)
        lines = []
        for source, text, (ln_p, count) in zip(targets.owners, written, numbers, strict=True):
            times = b"\t%d" % count if drawn else b""
            lines.append(b"%s\t%s\t%s%s\n" % (phrases[source], text, ln_p, times))
        return b"".join(lines), counts

    stream = BlockStream(
        [path],
        asked,
        lambda _, done: texts.blocks(skip=done),
        work,
        PhraseCounts(),
        check=texts.blocks,
        what="generating",
        unit="lines",
    )
    return stream.write(output)
