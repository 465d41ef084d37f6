"""Chosen sentence pairs of two texts, aligned by a model and drawn, a picture each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from phrasescore.errors import CorpusError, SettingsError, counted
from phrasescore.generation.sentence_models import SentenceModels
from phrasescore.generation.soft_alignments import SoftAlignments
from phrasescore.pictures.alignment_matrices import draw_alignment
from phrasescore.pictures.figure_files import check_drawing
from phrasescore.table.text_blocks import Texts
from phrasescore.words.token_sequences import from_lists
from phrasescore.words.vocabulary import EOS


@dataclass(frozen=True)
class _Pair:
    """The words that a model reads, and those that it writes."""

    read: list[bytes]
    written: list[bytes]


def draw_alignments(
    models: SentenceModels,
    source: str | Path,
    target: str | Path,
    sentences: Sequence[int],
    folder: Path,
    form: str,
    device: str = "auto",
) -> list[Path]:
    """Draw how a model aligns pairs of sentences; return the pictures' names.

    Args:
        models: One of them at least has an attention.
        source: The source text, plain, gzip or ``-``.
        target: The target text, line by line its translation.
        sentences: Which lines, from 1.
        folder: Where the pictures go, each named after its line; made if need be.
        form: ``png``, ``svg`` or ``pdf``.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        InputError: A text cannot be read, the texts have different numbers of lines, or there is no
            such pair of sentences.
        SettingsError: A picture cannot be written.
        MissingDependencyError: matplotlib is not installed.
    """
    pairs = _read(models, source, target, sentences)
    paths = {number: folder / f"{number}.{form}" for number in pairs}
    check_drawing()
    sides = (
        from_lists([vocabulary.encode(words) for words in texts])
        for vocabulary, texts in (
            (models.source_vocabulary, [pair.read for pair in pairs.values()]),
            (models.target_vocabulary, [pair.written for pair in pairs.values()]),
        )
    )
    aligned = SoftAlignments(models.aligning, device).of(*sides)
    # an alignment that takes too much memory leaves no empty folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"cannot make this folder ({error.strerror})", path=folder, remedy="name another output"
        ) from None
    for (number, pair), alignment in zip(pairs.items(), aligned, strict=True):
        draw_alignment(paths[number], _shown(pair.read), _shown(pair.written), alignment)
    return list(paths.values())


def _read(
    models: SentenceModels, source: str | Path, target: str | Path, sentences: Sequence[int]
) -> dict[int, _Pair]:
    """Return the pairs that are wanted, by their numbers, in the order of these."""
    wanted, found, lines = set(sentences), dict[int, _Pair](), 0
    sides = slice(None, None, -1 if models.direction == "target-source" else 1)
    for block in Texts((source, target), factor=models.factor, empties=True).blocks():
        for number in sorted(wanted.intersection(range(lines + 1, lines + len(block) + 1))):
            texts = [spans.tokens(number - lines - 1) for spans in block.tokens]
            if not all(texts):
                raise CorpusError(
                    f"sentence {number:,} is empty in one of the texts, so there is nothing to "
                    "align",
                    path=target if texts[0] else source,
                    line=number,
                    remedy="leave it out of --sentences",
                )
            found[number] = _Pair(*texts[sides])
        lines += len(block)
    missing = sorted(wanted - found.keys())
    if missing:
        raise CorpusError(
            f"there is no sentence {missing[0]:,}: the text has {counted(lines, 'line')}",
            path=source,
            remedy="give --sentences the numbers of lines, from 1",
        )
    return found


def _shown(words: list[bytes]) -> list[str]:
    return [word.decode("utf-8", "backslashreplace") for word in [*words, EOS]]
