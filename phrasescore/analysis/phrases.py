"""Summaries c of phrases, and reading the phrases: from a phrase table, or one on each line."""

from __future__ import annotations

import copy
import itertools
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.analysis.vectors import JoinedTexts, Vectors
from phrasescore.errors import CorpusError, ModelError, counted
from phrasescore.generation.phrase_output import phrase_texts
from phrasescore.model.device import choose_device, each_on_one_core, in_fitting_parts
from phrasescore.model.folder import LoadedModel
from phrasescore.model.kinds import must_summarise
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.sequence_model import END, SequenceModel
from phrasescore.runs.progress import Progress
from phrasescore.scoring.gated.gated_steps import GatedSteps, pack
from phrasescore.scoring.pair_order import cut_by_area, cut_in_groups, is_new, pair_order
from phrasescore.table.block import MAX_PHRASE, read_blocks
from phrasescore.table.phrase_table import Side
from phrasescore.table.text_blocks import Texts
from phrasescore.words.distinct_phrases import first_rows, is_first, phrase_digests
from phrasescore.words.token_sequences import TokenSequences, as_matrix, from_lists
from phrasescore.words.vocabulary import UNK_ID, Vocabulary

_GROUP = {"cpu": 2048, "cuda": 16384}
_CHUNK = {"cpu": 256, "cuda": 4096}
_PANEL = 1024
_LONG = 64  # the largest area of a padded chunk, in words per phrase
_PHRASES_AT_ONCE = 16_384
_TEXTS_AT_ONCE = 65_536

Rows: TypeAlias = NDArray[np.int64]
# encodes sorted, distinct phrases into their summaries, (N, H)
Encode: TypeAlias = Callable[[TokenSequences], Tensor]


class TablePhrases:
    """The phrases of a table whose words a model knows, as arrays of word ids.

    A phrase with an unknown word is skipped: all unknown words are the same word to the model, so
    different phrases would look alike.

    Args:
        path: A plain or gzip phrase table, or ``-``.
        loaded: The model.
        min_words: Minimum number of words of a phrase.

    Attributes:
        unknown: Number of phrases skipped so far because of an unknown word.
    """

    def __init__(self, path: str | Path, loaded: LoadedModel, min_words: int = 1) -> None:
        self._path, self._min_words = path, min_words
        self._vocabulary = loaded.source_vocabulary
        self._side: Side = "source" if loaded.direction == "source-target" else "target"
        self._factor = loaded.model.settings.factor
        self.unknown = 0

    def blocks(self) -> Iterator[TokenSequences]:
        """Yield the phrases as word ids, block by block, distinct within a block.

        Raises:
            InputError: The file cannot be read.
            PhraseTableError: The file breaks the format.
        """
        with Progress("reading the phrase table", unit="lines") as progress:
            for block in read_blocks(self._path):
                spans = block.token_spans(self._side, self._factor)
                ids = distinct(self._vocabulary.encode_spans(spans))
                ids = ids.select(np.flatnonzero(ids.lengths >= self._min_words))
                unknown_before = np.concatenate([[0], np.cumsum(ids.tokens == UNK_ID)])
                known = np.flatnonzero(np.diff(unknown_before[ids.offsets]) == 0)
                self.unknown += len(ids) - len(known)
                if len(known):
                    yield ids.select(known)
                progress.advance(len(block))

    def all(self) -> TokenSequences:
        """Return the distinct phrases of the whole table, in the order of their first lines.

        Raises:
            CorpusError: The model knows none of them.
        """
        ids = distinct(joined(list(self.blocks())))
        if not len(ids):
            raise self.no_phrase_error()
        return ids

    def no_phrase_error(self) -> CorpusError:
        """Return the error to raise if the model knows no phrase of the table."""
        at_least = "" if self._min_words == 1 else f" of at least {self._min_words} words"
        return CorpusError(
            f"the model knows all words of no {self._side} phrase{at_least} in this table "
            f"({counted(self.unknown, 'phrase')} with unknown words)",
            path=self._path,
            remedy="name a table of the language that the model was trained on",
        )


def read_phrases(path: str | Path, loaded: LoadedModel) -> tuple[TokenSequences, JoinedTexts]:
    """Read one phrase per line; words that the model does not know become ``<unk>``.

    Returns:
        The word ids of N phrases, and their texts.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line is empty or too long for a model to read, or the file is empty.
    """
    ids, texts, lengths = [], [], list[int]()
    for block in Texts((path,), columns=1, factor=loaded.model.settings.factor).blocks():
        spans = block.tokens[0]
        words = np.diff(spans.offsets)
        wrong = np.flatnonzero((words == 0) | (words > MAX_PHRASE))
        if len(wrong):
            row = int(wrong[0])
            raise CorpusError(
                f"a phrase of {words[row]:,} words, where a model reads at most {MAX_PHRASE:,}"
                if words[row]
                else "an empty phrase",
                path=path,
                line=block.first_line + row,
                remedy="delete the line",
            )
        ids.append(loaded.source_vocabulary.encode_spans(spans))
        lines = [b" ".join(spans.tokens(line)) for line in range(len(block))]
        texts.append(b"".join(lines))
        lengths += map(len, lines)
    if not ids:
        raise CorpusError("there is no phrase", path=path, remedy="write phrases, one a line")
    return joined(ids), (b"".join(texts), _offsets(lengths))


def texts_of(ids: TokenSequences, vocabulary: Vocabulary) -> JoinedTexts:
    """Return the texts of phrases of known words, with few Python objects alive at a time."""
    parts, lengths = [], list[NDArray[np.int64]]()
    for begin in range(0, len(ids), _TEXTS_AT_ONCE):
        rows = np.arange(begin, min(begin + _TEXTS_AT_ONCE, len(ids)))
        texts = phrase_texts(ids.select(rows), vocabulary)
        parts.append(b"".join(texts))
        lengths.append(np.array([len(text) for text in texts], np.int64))
    return b"".join(parts), _offsets(np.concatenate(lengths))


def joined(parts: Sequence[TokenSequences]) -> TokenSequences:
    """Concatenate sequences of phrases."""
    if not parts:
        return from_lists([])
    tokens = np.concatenate([part.tokens for part in parts])
    return TokenSequences(tokens, _offsets(np.concatenate([part.lengths for part in parts])))


def distinct(ids: TokenSequences) -> TokenSequences:
    """Return the distinct phrases in the order of their first occurrence."""
    return ids.select(np.flatnonzero(is_first(first_rows(phrase_digests(ids.tokens, ids.offsets)))))


def _offsets(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.fromiter(itertools.accumulate(lengths, initial=0), np.int64, len(lengths) + 1)


# -- summaries ---------------------------------------------------------------------------------


class PhraseSummaries:
    """Computes the summaries c of phrases.

    Phrases are sorted and cut into groups, as in scoring. Equal phrases are encoded once; the gated
    unit also encodes equal prefixes once. Each core works on its own groups.

    Args:
        loaded: The model, on any device.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Attributes:
        size: H, the length of a summary.

    Raises:
        ModelError: Models of this kind have no summaries.
    """

    def __init__(self, loaded: LoadedModel, device: str = "auto") -> None:
        must_summarise(loaded.model.settings, loaded.path)
        model = loaded.model
        place = choose_device(device)
        self._folder = loaded.path
        self.size = model.settings.hidden
        self._group = _GROUP[place.type]
        threads = torch.get_num_threads() if place.type == "cpu" else 1
        self._pool = ThreadPoolExecutor(threads)
        self._free: queue.SimpleQueue[Encode] = queue.SimpleQueue()
        make = _encoder_maker(model, place)
        with torch.inference_mode():
            for _ in range(threads):
                self._free.put(make())

    def blocks(self, phrases: TokenSequences) -> Iterator[Vectors]:
        """Yield the summaries of all phrases in order, some thousands at a time.

        Raises:
            ModelError: A summary is not finite.
        """
        with Progress("reading phrases", len(phrases), "phrases") as progress:
            for begin in range(0, len(phrases), _PHRASES_AT_ONCE):
                rows = np.arange(begin, min(begin + _PHRASES_AT_ONCE, len(phrases)))
                yield self.encode(phrases.select(rows))
                progress.advance(len(rows))

    def encode(self, phrases: TokenSequences) -> Vectors:
        """Return the summaries of N phrases (ids without </s>), ``(N, H)``, in their order.

        Raises:
            ModelError: A summary is not finite.
        """
        found = np.empty((len(phrases), self.size), np.float32)
        nothing = TokenSequences(np.empty(0, np.int32), np.zeros(len(phrases) + 1, np.int64))
        order = pair_order(phrases, nothing)

        def work(rows: Rows) -> None:
            in_fitting_parts(lambda part: self._read(phrases, part, found), rows)

        groups = [order[cut] for cut in cut_in_groups(order, phrases, self._group)]
        list(each_on_one_core(self._pool, work, groups))
        if not np.isfinite(found).all():
            raise ModelError(
                "the summaries of some phrases are no finite numbers",
                path=self._folder,
                remedy="train the model again, perhaps with a lower learning rate",
            )
        return found

    def _read(self, phrases: TokenSequences, rows: Rows, found: Vectors) -> None:
        """Encode the phrases of sorted ``rows`` into the same rows of ``found``."""
        part = phrases.select(rows)
        new = is_new(part)  # sorted, so equal phrases are neighbours
        encode = self._free.get()
        try:
            with torch.inference_mode():
                summaries = encode(part.select(np.flatnonzero(new))).cpu().numpy()
                found[rows] = summaries[np.cumsum(new) - 1]
        finally:
            self._free.put(encode)


def _encoder_maker(model: SequenceModel, device: torch.device) -> Callable[[], Encode]:
    """Return a factory of encoders; each thread needs its own."""
    group, chunk = _GROUP[device.type], _CHUNK[device.type]
    if isinstance(model, EncoderDecoder) and model.settings.unit == "gated":
        weights = pack(model, device, torch.float32, _PANEL)
        return lambda: GatedSteps(weights, group, chunk).summaries
    placed = copy.deepcopy(model).to(device).eval()

    def encode(phrases: TokenSequences) -> Tensor:
        """Encode phrases in batches of similar length."""
        order = np.argsort(phrases.lengths, kind="stable")
        found = torch.empty(len(phrases), placed.settings.hidden, device=device)
        for cut in cut_by_area(phrases.lengths[order], chunk, chunk * _LONG):
            rows = order[cut]
            padded = as_matrix(phrases.select(rows), END)
            ids, lengths = (torch.from_numpy(each).to(device) for each in padded)
            found[torch.from_numpy(rows).to(device)] = placed.summaries(ids, lengths)
        return found

    return lambda: encode
