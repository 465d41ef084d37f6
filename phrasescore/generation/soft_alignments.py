"""Soft alignments: the attention alpha of each target word to each source word.

An alignment is a matrix, or a picture like figure 3 of Bahdanau et al. (2014).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import click
import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, counted
from phrasescore.generation.sentence_models import SentenceModels
from phrasescore.model.device import Cores, choose_device
from phrasescore.model.networks.attention_model import AttentionModel
from phrasescore.model.sequence_model import Batch
from phrasescore.pictures.figure_files import check_drawing, cut_label, plain_label, saved_figure
from phrasescore.scoring.prefix_trie import cut_by_area
from phrasescore.table.text_blocks import Texts
from phrasescore.words.known_words import unknown_warning
from phrasescore.words.token_sequences import TokenSequences, as_matrix, from_lists
from phrasescore.words.vocabulary import EOS, Vocabulary, unknown_counts

# alpha of each target word and </s> (rows) to each source word and </s> (columns)
Alignment = NDArray[np.float32]

_PAIRS = 64  # maximum number of pairs in a batch
_AREA = 1 << 16  # maximum number of elements in the matrices of a batch
_MAX_AREA = 20_000_000  # maximum number of elements for one pair; each takes about 20 bytes

_CELL = 0.28  # size of a cell in inches; smaller if the matrix would exceed _MAX_SIZE
_MAX_SIZE = 30.0  # inches
_SCALE = 1.1  # inches: the width of the colour scale and its minimum height
_MARGIN = 0.4  # inches
_LETTERS = 0.09  # width of a letter in inches, at the largest font size
_POINTS, _POINTS_PER_INCH = 9.0, 72


class SoftAlignments:
    """Aligns pairs of id sequences.

    Args:
        models: Models with attention, on any device. The result is the mean of their alignments.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
    """

    def __init__(self, models: Sequence[AttentionModel], device: str = "auto") -> None:
        self._device = choose_device(device)
        self._models = [copy.deepcopy(model).to(self._device).eval() for model in models]
        self._cores = Cores(self._device)

    def align(self, sources: TokenSequences, targets: TokenSequences) -> list[Alignment]:
        """Return the alignment of N pairs, ``(T + 1, S + 1)`` each, in their order.

        Args:
            sources: N sequences of ids of the side that the models read, without </s>.
            targets: N sequences of ids of the side that the models predict, without </s>.

        Raises:
            CorpusError: A pair is too long.
        """
        S, T = sources.lengths, targets.lengths
        if (S * T).max(initial=0) > _MAX_AREA:
            longest = int(np.argmax(S * T))
            raise CorpusError(
                f"the alignment of a sentence of {S[longest]:,} words with its translation of "
                f"{T[longest]:,} words would not fit into memory",
                remedy="split the sentence",
            )
        # pairs of similar lengths form a batch, so that there is little padding
        order = np.lexsort((T, S))
        # the batches do not depend on the number of cores, so digits do not depend on it either
        groups = cut_by_area(order, (S + 1) * (T + 1), _PAIRS, _AREA)
        found: dict[int, Alignment] = {}

        def work(rows: NDArray[np.int64]) -> NDArray[np.float32]:
            return self._batch(sources.select(rows), targets.select(rows))

        for rows, padded in itertools.chain.from_iterable(self._cores.each(work, groups)):
            for row, matrix in zip(rows.tolist(), padded, strict=True):
                found[row] = matrix[: T[row] + 1, : S[row] + 1].copy()
        return [found[row] for row in range(len(S))]

    def _batch(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float32]:
        """Return the alignments of a batch, ``(B, T + 1, S + 1)``, padded."""
        read, read_lengths = map(torch.from_numpy, as_matrix(sources))
        written, written_lengths = map(torch.from_numpy, as_matrix(targets))
        batch = Batch(read, written, (read_lengths, written_lengths)).to(self._device)
        with torch.inference_mode():
            total = self._models[0].alignments(batch)
            for model in self._models[1:]:
                total = total + model.alignments(batch)
        return (total / len(self._models)).float().cpu().numpy()


def between_words(
    alignments: Sequence[Alignment],
    sides: tuple[TokenSequences, TokenSequences],
    vocabularies: tuple[Vocabulary, Vocabulary],
) -> list[Alignment]:
    """Turn alignments between pieces of words into alignments between words; rows still sum to 1.

    The alpha of a source word is the sum over its pieces. The alpha of a target word is the mean
    over its pieces.

    Args:
        alignments: N alignments, ``(T + 1, S + 1)``.
        sides: Source and target ids of the N pairs.
        vocabularies: The source and the target vocabulary.
    """
    if vocabularies[0].byte_pairs is None:
        return list(alignments)
    found = []
    for pair, alignment in enumerate(alignments):
        read, written = (
            np.insert(np.flatnonzero(vocabulary.word_ends(ids[pair])) + 1, 0, 0)
            for vocabulary, ids in zip(vocabularies, sides, strict=True)
        )
        pieces = np.diff(written, append=len(alignment))
        sums = np.add.reduceat(np.add.reduceat(alignment, read, axis=1), written, axis=0)
        found.append((sums / pieces[:, None]).astype(np.float32))
    return found


# -- pictures ---------------------------------------------------------------------------------


def draw_alignment(
    path: str | Path, source: Sequence[str], target: Sequence[str], alignment: NDArray[np.float32]
) -> None:
    """Write one picture: source words from left to right, target words from top to bottom.

    Args:
        path: The picture; its ending names the format.
        source: J words, including the final </s>.
        target: I words, including the final </s>.
        alignment: (I, J) the share of attention that each target word gives each source word. The
            darkest colour is 0, and the lightest is the largest share, which the scale shows.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The file cannot be written.
    """
    source, target = [*map(cut_label, source)], [*map(cut_label, target)]
    longest = max(len(source), len(target))
    cell = min(_CELL, _MAX_SIZE / longest)
    points = min(_POINTS, cell * _POINTS_PER_INCH * 0.8)
    letter = _LETTERS * points / _POINTS
    width = cell * len(source) + letter * max(map(len, target)) + (_MARGIN + _SCALE)
    height = max(cell * len(target), _SCALE) + letter * max(map(len, source)) + _MARGIN
    with saved_figure(path, width, height) as figure:
        axes = figure.add_subplot()
        # the scale ends at the largest share; otherwise a weak alignment would be one dark square
        largest = max(float(alignment.max()), np.finfo(np.float32).tiny)
        # no interpolation between cells, not even in vector formats
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
        target: The target text; each line translates the same line of the source text.
        sentences: The line numbers of the pairs to draw, from 1.
        folder: The folder for the pictures, created if missing; line numbers name the pictures.
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
    vocabularies = models.first.source_vocabulary, models.first.target_vocabulary
    read, predicted = (
        from_lists([vocabulary.encode(words) for words in texts])
        for vocabulary, texts in zip(vocabularies, zip(*pairs.values(), strict=True), strict=True)
    )
    shares = [unknown_counts(ids).sum() / ids.lengths.sum() for ids in (read, predicted)]
    if warning := unknown_warning(*shares):
        click.echo(warning, err=True)
    aligned = SoftAlignments(models.aligning, device).align(read, predicted)
    aligned = between_words(aligned, (read, predicted), vocabularies)
    # create the folder only now: if computing the alignments fails, no empty folder may be left
    folder.mkdir(parents=True, exist_ok=True)
    for (number, pair), alignment in zip(pairs.items(), aligned, strict=True):
        source_words, target_words = map(shown, pair)
        draw_alignment(paths[number], source_words, target_words, alignment)
    return list(paths.values())


def _read(
    models: SentenceModels, source: str | Path, target: str | Path, sentences: Sequence[int]
) -> dict[int, _Pair]:
    """Return the pairs on the given lines, by line number, in ascending order."""
    wanted, found, lines = set(sentences), dict[int, _Pair](), 0
    sides = slice(None, None, -1 if models.first.direction == "target-source" else 1)
    texts_of_both = Texts((source, target), factor=models.first.settings.factor, empties=True)
    for block in texts_of_both.blocks():
        for number in sorted(wanted.intersection(range(lines + 1, lines + len(block) + 1))):
            texts = [spans.tokens(number - lines - 1) for spans in block.tokens]
            if not all(texts):
                raise CorpusError(
                    f"sentence {number:,} is empty in one of the texts, so it has no alignment",
                    path=target if texts[0] else source,
                    line=number,
                    remedy="leave it out of --sentences",
                )
            found[number] = texts[sides]
        lines += len(block)
    if missing := sorted(wanted - found.keys()):
        raise CorpusError(
            f"there is no sentence {missing[0]:,}: the text has {counted(lines, 'line')}",
            path=source,
            remedy="give --sentences numbers of lines, counted from 1",
        )
    return found


def shown(words: Sequence[bytes]) -> list[str]:
    """Return the words of a sentence and </s> as texts."""
    return [word.decode("utf-8", "backslashreplace") for word in [*words, EOS]]
