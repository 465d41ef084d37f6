"""Draws soft alignments of sentence pairs, like figure 3 of Bahdanau et al. (2014)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, SettingsError, counted
from phrasescore.generation.sentence_models import SentenceModels
from phrasescore.generation.soft_alignments import SoftAlignments, between_words
from phrasescore.pictures.figure_files import check_drawing, cut_label, plain_label, saved_figure
from phrasescore.table.text_blocks import Texts
from phrasescore.words.token_sequences import from_lists
from phrasescore.words.vocabulary import EOS

_CELL = 0.28  # size of a cell in inches; smaller if the matrix would exceed _MAX_SIZE
_MAX_SIZE = 30.0  # inches
_SCALE = 1.1  # width of the colour scale, and its minimum height, in inches
_LETTERS = 0.09  # width of a letter at the largest font size, in inches
_POINTS, _POINTS_PER_INCH = 9.0, 72


def draw_alignment(
    path: str | Path, source: Sequence[str], target: Sequence[str], alignment: NDArray[np.float32]
) -> None:
    """Write one picture: source words from left to right, target words from top to bottom.

    Args:
        path: The picture; the ending of the name determines the format.
        source: J words; the last one is </s>.
        target: I words; the last one is </s>.
        alignment: (I, J) the share of its attention that each target word gives to each source
            word. The darkest colour means 0, the lightest means the maximum of the matrix.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The name has no format, or the file cannot be written.
    """
    source, target = [*map(cut_label, source)], [*map(cut_label, target)]
    longest = max(len(source), len(target))
    cell = min(_CELL, _MAX_SIZE / longest)
    points = min(_POINTS, cell * _POINTS_PER_INCH * 0.8)
    letter = _LETTERS * points / _POINTS
    width, height = (
        max(cell * len(along), least) + letter * max(map(len, across)) + margin
        for along, across, least, margin in (
            (source, target, 0.0, 0.4 + _SCALE),
            (target, source, _SCALE, 0.4),
        )
    )
    with warnings.catch_warnings(), saved_figure(path, width, height) as figure:
        # a letter that the font lacks is drawn as an empty box; matplotlib's warning is not needed
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        axes = figure.add_subplot()
        # the scale ends at the maximum; otherwise a weak alignment would be dark everywhere
        largest = max(float(alignment.max()), np.finfo(np.float32).tiny)
        # cells are drawn without interpolation, also in vector formats
        cells = axes.imshow(
            alignment, cmap="viridis", vmin=0.0, vmax=largest, interpolation="nearest"
        )
        scale = figure.colorbar(cells, ax=axes, label="share of the attention")
        scale.ax.tick_params(labelsize=_POINTS)
        axes.set_xticks(
            range(len(source)), list(map(plain_label, source)), rotation=90, fontsize=points
        )
        axes.set_yticks(range(len(target)), list(map(plain_label, target)), fontsize=points)
        axes.tick_params(length=0, top=False, bottom=False, labeltop=True, labelbottom=False)


# the words that a model reads and the words that it writes
_Pair: TypeAlias = list[list[bytes]]


def draw_alignments(
    models: SentenceModels,
    source: str | Path,
    target: str | Path,
    sentences: Sequence[int],
    folder: Path,
    form: str,
    device: str = "auto",
) -> list[Path]:
    """Draw how models align pairs of sentences; return the names of the pictures.

    Args:
        models: At least one of them has attention.
        source: The source text, plain, gzip or ``-``.
        target: The target text; each line is the translation of the same line of ``source``.
        sentences: The numbers of the lines to draw, from 1.
        folder: The folder for the pictures, which are named after their lines. It is created if it
            does not exist.
        form: ``png``, ``svg`` or ``pdf``.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        InputError: A text cannot be read, the texts have different numbers of lines, or one of the
            lines does not exist.
        SettingsError: A picture cannot be written.
        MissingDependencyError: matplotlib is not installed.
    """
    pairs = _read(models, source, target, sentences)
    paths = {number: folder / f"{number}.{form}" for number in pairs}
    check_drawing()
    vocabularies = models.first.source_vocabulary, models.first.target_vocabulary
    read, predicted = (
        from_lists([vocabulary.encode(words) for words in texts])
        for vocabulary, texts in zip(vocabularies, zip(*pairs.values(), strict=True), strict=True)
    )
    aligned = SoftAlignments(models.aligning, device).align(read, predicted)
    aligned = between_words(aligned, (read, predicted), vocabularies)
    # created after the alignments, which may run out of memory, so that no empty folder is left
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"cannot make this folder ({error.strerror})", path=folder, remedy="name another output"
        ) from None
    for (number, pair), alignment in zip(pairs.items(), aligned, strict=True):
        source_words, target_words = map(_shown, pair)
        draw_alignment(paths[number], source_words, target_words, alignment)
    return list(paths.values())


def _read(
    models: SentenceModels, source: str | Path, target: str | Path, sentences: Sequence[int]
) -> dict[int, _Pair]:
    """Return the given pairs by their numbers, in ascending order."""
    wanted, found, lines = set(sentences), dict[int, _Pair](), 0
    sides = slice(None, None, -1 if models.first.direction == "target-source" else 1)
    texts_of_both = Texts((source, target), factor=models.first.settings.factor, empties=True)
    for block in texts_of_both.blocks():
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
            found[number] = texts[sides]
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
