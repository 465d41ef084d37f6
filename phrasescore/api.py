"""Models from Python: ``phrasescore.load``, and the model that it returns.

The results equal the results of the commands ``score-text`` and ``generate``: the same code
computes both in float32. Nothing is printed, and no thread stays behind after a call.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.closed_settings import check_path, check_type, check_whole_number
from phrasescore.errors import InputError, ModelError
from phrasescore.generation.beam_search import BeamSearch
from phrasescore.generation.phrase_output import phrase_texts
from phrasescore.generation.targets import BeamSettings, TargetGenerator, TargetSettings
from phrasescore.model.device import choose_device
from phrasescore.model.folder import load_model
from phrasescore.model.kinds import kind_named
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.scoring.text_scoring import perplexity
from phrasescore.table.block import TokenSpans
from phrasescore.table.phrase_table import BLANKS
from phrasescore.words.token_sequences import TokenSequences

# (source, target), or the text alone for a language model
Text: TypeAlias = "str | tuple[str, str]"


@dataclass(frozen=True)
class Generated:
    """A target that a model wrote.

    Attributes:
        text: The target, words separated by spaces.
        ln_p: The natural logarithm of p(target | source), the end of the target included.
    """

    text: str
    ln_p: float


def load(folder: str | Path, *, device: str = "auto") -> Model:
    """Load a model that ``phrasescore train`` wrote, of any kind.

    Args:
        folder: The model's folder. Every file in it is checked against its digest.
        device: ``auto`` (the first GPU, or else the CPU), ``cpu``, ``cuda`` or ``cuda:N``. On a CPU
            the model computes with as many threads as ``torch.get_num_threads()`` gives when the
            model is first used.

    Returns:
        The model, ready to use.

    Raises:
        ModelError: The model is incomplete, damaged, or from a newer version.
        InputError: No folder can have this name.
        SettingsError: This machine does not have the device.
        TypeError: ``folder`` is not a path, or ``device`` is not a string.
    """
    check_path("folder", folder)
    check_type("device", device, str, "a name")
    try:
        return Model(folder, device)
    except OSError as error:
        raise ModelError(f"cannot be read ({error.strerror})", path=folder) from None


class Model:
    """A trained model; ``load`` returns one. Several threads may share a model.

    Texts must be prepared like the training text (tokenised, lower-cased), words separated by
    spaces. A pair is ``(source, target)`` as in the phrase table, also for a model trained with
    ``--direction target-source``, which reads the targets and predicts the sources.

    Attributes:
        folder: The folder that the model was loaded from.
        kind: The kind of model as ``train --kind`` names it, e.g. ``phrase`` or
            ``feed-forward-lm``.
        reads_source: True for a model that scores pairs, false for a language model, which scores
            texts.
        direction: ``source-target`` or ``target-source``.
    """

    def __init__(self, folder: str | Path, device: str = "auto") -> None:
        choose_device(device)
        self._loaded = load_model(folder)
        self._device, self._lock = device, threading.Lock()
        kind = kind_named(self._loaded.settings.kind)
        self.folder = Path(folder)
        self.kind, self.reads_source = kind.option, kind.reads_source
        self.direction = self._loaded.direction

    def __repr__(self) -> str:
        return f"<phrasescore.Model {str(self.folder)!r}, kind {self.kind}>"

    def score(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """Return ln p(target | source) of each pair; for a language model, ln p of each text.

        The end of the text is predicted too. Pairs with the same beginning share work, so one
        call with many pairs is faster than many calls.

        Args:
            texts: N pairs of strings ``(source, target)``, or N strings for a language model.

        Returns:
            Natural logarithms, shape (N,).

        Raises:
            TypeError: The argument is not iterable, or an element is not a pair or not a string.
            InputError: A source is empty, a word lacks the model's factor, or a text contains a
                line feed, a zero byte or a code point that is not a character.
            ModelError: A parameter of the model is not finite.
        """
        read, predicted = self._ids(texts)
        with self._scorer_at_work() as scorer:
            return scorer.score(read, predicted)

    def score_words(self, texts: Iterable[Text]) -> list[NDArray[np.float64]]:
        """Return ln p of each predicted word and of the text's end; ``score`` returns the sums.

        Args:
            texts: N pairs or strings, as for ``score``.

        Returns:
            N arrays. The array of a text with W predicted words has the shape (W + 1,); its last
            number belongs to the end of the text.

        Raises:
            TypeError, InputError, ModelError: As for ``score``.
        """
        read, predicted = self._ids(texts)
        with self._scorer_at_work() as scorer:
            ln_p = scorer.score_words(read, predicted)
        ln_p, counts = self._loaded.target_vocabulary.sums_of_words(ln_p, predicted)
        return np.split(ln_p, np.cumsum(counts)[:-1]) if len(predicted) else []

    def perplexity(self, texts: Iterable[Text]) -> float:
        """Return the perplexity exp(-ln p / tokens) of all texts together.

        The end of each text counts as a token.

        Args:
            texts: N pairs or strings, as for ``score``.

        Returns:
            The perplexity; not a number (NaN) for an empty list.

        Raises:
            TypeError, InputError, ModelError: As for ``score``.
        """
        words = self.score_words(texts)
        return perplexity(float(sum(ln_p.sum() for ln_p in words)), sum(map(len, words)))

    def generate(
        self,
        sources: Iterable[str],
        *,
        beam: int = 10,
        nbest: int | None = None,
        max_length: int | None = None,
        length_normalisation: bool = False,
        unknown: bool = True,
    ) -> list[list[Generated]]:
        """Return the targets that a beam search finds most probable for each source.

        Args:
            sources: N strings of at least one word, the texts that the model reads.
            beam: The number of hypotheses that the search keeps for each source.
            nbest: The number of targets to return for each source; ``None`` for the size of the
                beam.
            max_length: The maximum number of words in a target; ``None`` for three times the words
                of the source, but at least 10.
            length_normalisation: Rank targets by ln p divided by the number of words plus one.
            unknown: Let targets contain ``<unk>``.

        Returns:
            N lists, the best target first.

        Raises:
            TypeError: ``sources`` does not consist of strings, or a number is not a whole number.
            InputError: A source is empty, or cannot be scored for a reason named in ``score``.
            ModelError: The model is a language model, or a parameter of it is not finite.
            SettingsError: A number is out of bounds, or ``nbest`` is larger than ``beam``.
        """
        self._loaded.must_read_a_source()
        best = beam if nbest is None else nbest
        check_whole_number("beam", beam, 1, 1_000)
        check_whole_number("nbest", best, 1, 1_000)
        if max_length is not None:
            check_whole_number("max_length", max_length, 1, 10_000)
        settings = BeamSettings(beam, best, length_normalisation)
        texts = [_checked(text, f"sources[{at}]") for at, text in enumerate(_listed(sources))]
        spans = self._spans(texts, "sources")
        if not texts:
            return []
        method = partial(BeamSearch, settings, TargetSettings(max_length, unknown))
        generator = TargetGenerator(self._loaded.model, method, self._device)
        try:
            found = generator.targets(self._loaded.source_vocabulary.encode_spans(spans))
        finally:
            generator.cores.rest()
        written = phrase_texts(found.words, self._loaded.target_vocabulary)
        targets = [
            Generated(text.decode("utf-8", "backslashreplace"), ln_p)
            for text, ln_p in zip(written, found.ln_p.tolist(), strict=True)
        ]
        ends = found.offsets.tolist()
        return [targets[begin:end] for begin, end in itertools.pairwise(ends)]

    @cached_property
    def _scorer(self) -> SharedScorer:
        return SharedScorer(self._loaded.model, self._device)

    @contextmanager
    def _scorer_at_work(self) -> Iterator[SharedScorer]:
        """Let one thread at a time use the scorer; at the end, stop the scorer's worker threads."""
        with self._lock:
            try:
                yield self._scorer
            finally:
                self._scorer.cores.rest()

    def _ids(self, texts: Iterable[Text]) -> tuple[TokenSequences, TokenSequences]:
        """Return the token ids of the texts to read and of the texts to predict."""
        if not self.reads_source:
            alone = [_checked(text, f"texts[{at}]") for at, text in enumerate(_listed(texts))]
            return self._loaded.encode([self._spans(alone, "texts")])
        pairs = [_checked_pair(pair, f"pairs[{at}]") for at, pair in enumerate(_listed(texts))]
        sources = self._spans([source for source, _ in pairs], "sources")
        targets = self._spans([target for _, target in pairs], "targets")
        return self._loaded.encode([sources, targets])

    def _spans(self, texts: list[bytes], name: str) -> TokenSpans:
        """Return the tokens of texts; refuse an empty source."""
        factor = self._loaded.model.settings.factor
        spans, lacking = TokenSpans.find_in_texts(texts, factor)
        if lacking.any():
            raise InputError(
                f"{name}[{int(np.argmax(lacking))}]: a word has no factor {factor}, which the "
                "model was trained on",
                remedy="write each word as surface|tag",
            )
        empty = np.diff(spans.offsets) == 0
        if name == "sources" and empty.any():
            raise InputError(f"{name}[{int(np.argmax(empty))}]: an empty source cannot be scored")
        return spans


def _listed(texts: object) -> list[object]:
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"expected a list, got {type(texts).__name__}")
    return list(texts)


def _checked_pair(pair: object, name: str) -> tuple[bytes, bytes]:
    if isinstance(pair, str | bytes) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise TypeError(f"{name}: expected (source, target), two strings, got {pair!r:.80}")
    return _checked(pair[0], f"{name}[0]"), _checked(pair[1], f"{name}[1]")


def _checked(text: Any, name: str) -> bytes:
    """Return the bytes of a text; refuse a text that cannot be one line of a file."""
    check_type(name, text, str, "a string")
    if "\n" in text or "\0" in text:
        raise InputError(f"{name}: the text contains a line feed or a zero byte")
    try:
        return text.encode("utf-8", "surrogateescape").strip(BLANKS)
    except UnicodeEncodeError:
        raise InputError(f"{name}: a surrogate code point, which is not a character") from None
