"""The translations of a sentence, and their output in Moses's formats."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.derivations import Derivations
from moses_integration.decoder.loaded_input import LoadedInput
from moses_integration.decoder.settings import OutputSettings

# -1 printed as size_t: Moses prints it as the end of an empty target phrase at position 0
_NO_POSITION = b"18446744073709551615"


@dataclass(frozen=True)
class DecodedSentence:
    """The translations of one sentence, the highest total first.

    An empty sentence has one translation without phrases; a sentence that cannot be covered has
    none.

    Args:
        sentence: The index of the sentence in the loaded input.
        loaded: The input.
        derivations: The N derivations; at most one without an n-best list or own features.
        features: The unweighted feature values of the derivations, in the order of the layout,
            shape (N, F).
        totals: The model scores of the derivations, shape (N,).
        first: The index, in the file, of the first sentence of the loaded input.
        own_features: The values of the caller's features by name, each of shape (N, components).
    """

    sentence: int
    loaded: LoadedInput
    derivations: Derivations
    features: NDArray[np.float64]
    totals: NDArray[np.float64]
    first: int = 0
    own_features: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The index of the sentence in its file."""
        return self.first + self.sentence

    def __len__(self) -> int:
        return len(self.totals)

    def entries(self, number: int = 0) -> NDArray[np.int32]:
        """Return the table entries of one derivation, in the order in which they are applied."""
        begin, end = self.derivations.offsets[number : number + 2]
        return self.derivations.entries[begin:end]

    def source(self) -> list[bytes]:
        """Return the words of the source sentence."""
        numbers = self.loaded.source.sentences[self.sentence].tolist()
        return [self.loaded.source.words.word(number) for number in numbers]

    @cached_property
    def texts(self) -> dict[int, bytes]:
        """The target words of each table entry that is used, each word followed by a space."""
        return {
            entry: b"".join([word + b" " for word in self.loaded.target_words(entry)])
            for entry in set(self.derivations.entries.tolist())
        }

    def nbest_features(self) -> dict[str, NDArray[np.float64]]:
        """Return the feature values to print in n-best lists, by name, each (N, components)."""
        layout = self.loaded.system.features.layout
        shown = self.features[:, layout.tuneable]
        parts = {name: shown[:, part] for name, part in layout.nbest.slices.items()}
        return parts | dict(self.own_features)

    def ranked(
        self, totals: NDArray[np.float64], own: Mapping[str, NDArray[np.float64]]
    ) -> DecodedSentence:
        """Return the derivations with other totals, best first, and with more features."""
        order = np.argsort(-totals, kind="stable")
        more = {name: values[order] for name, values in {**self.own_features, **own}.items()}
        return replace(
            self,
            derivations=self.derivations.taken(order),
            features=self.features[order],
            totals=totals[order],
            own_features=more,
        )

    def words(self, number: int = 0) -> list[bytes]:
        """Return the target words of one derivation."""
        return [word for entry in self.entries(number) for word in self.loaded.target_words(entry)]


class _Phrase(NamedTuple):
    """An applied phrase: table entry, source span, position and number of its target words."""

    entry: int
    start: int
    end: int
    target: int
    size: int


def _phrases(decoded: DecodedSentence, number: int) -> Iterator[_Phrase]:
    part = slice(*decoded.derivations.offsets[number : number + 2].tolist())
    entries, starts, ends = (each[part] for each in decoded.derivations[1:])
    offsets = decoded.loaded.entries.targets.word_offsets
    sizes = offsets[entries + 1] - offsets[entries]
    columns = entries, starts, ends, np.cumsum(sizes) - sizes, sizes
    return itertools.starmap(_Phrase, zip(*(each.tolist() for each in columns), strict=True))


def phrase_pairs(decoded: DecodedSentence, number: int) -> list[tuple[bytes, bytes]]:
    """Return the source and target phrases of a derivation, in the order of the target."""
    source = decoded.source()
    return [
        (b" ".join(source[each.start : each.end + 1]), decoded.texts[each.entry].rstrip(b" "))
        for each in _phrases(decoded, number)
    ]


def surface(decoded: DecodedSentence, number: int, *, trace: bool) -> bytes:
    """Return the words of a derivation, each followed by a space.

    Args:
        decoded: A sentence's translations.
        number: The index of the derivation.
        trace: Whether to print the source span behind every phrase that is not empty.
    """
    if not trace:
        return b"".join(map(decoded.texts.__getitem__, decoded.entries(number).tolist()))
    parts = []
    for phrase in _phrases(decoded, number):
        parts.append(decoded.texts[phrase.entry])
        if phrase.size > 0:
            parts.append(b"|%d-%d| " % (phrase.start, phrase.end))
    return b"".join(parts)


def alignment(decoded: DecodedSentence, number: int) -> bytes:
    """Return the word links of a derivation, each followed by a space."""
    targets = decoded.loaded.entries.targets
    return b"".join(
        b"%d-%d " % (source + phrase.start, target + phrase.target)
        for phrase in _phrases(decoded, number)
        for source, target in targets.links[
            targets.link_offsets[phrase.entry] : targets.link_offsets[phrase.entry + 1]
        ].tolist()
    )


def segmentation(decoded: DecodedSentence, number: int) -> bytes:
    """Return the pairs of spans of a derivation, ``source=target``, separated by spaces.

    For an empty target phrase only the start is printed. If such a phrase is at target position 0,
    this function also prints an overflowed number as the end, because Moses does.
    """
    spans = []
    for phrase in _phrases(decoded, number):
        span = b"%d" % phrase.start
        if phrase.start < phrase.end:
            span += b"-%d" % phrase.end
        span += b"=%d" % phrase.target
        if phrase.size > 1:
            span += b"-%d" % (phrase.target + phrase.size - 1)
        elif phrase.size == 0 and phrase.target == 0:
            span += b"-" + _NO_POSITION
        spans.append(span)
    return b" ".join(spans)


def best_line(decoded: DecodedSentence, settings: OutputSettings) -> bytes:
    """Return the line of the best translation, which is empty if there is none.

    Args:
        decoded: The translations of a sentence.
        settings: The contents of the line.
    """
    if not len(decoded):
        return b"\n"
    line = b"%.6g " % decoded.totals[0] if settings.output_hypo_score else b""
    line += surface(decoded, 0, trace=settings.report_segmentation)
    if settings.print_alignment_info:
        line += b"||| " + alignment(decoded, 0)
    return line + b"\n"


def nbest_lines(decoded: DecodedSentence, settings: OutputSettings, max_lines: int) -> bytes:
    """Return the lines of a sentence in an n-best list, with tuneable components only.

    This function writes the same bytes as ``moses_integration.nbest.format.NBestEntry.to_bytes`` in
    a tenth of the time.

    Args:
        decoded: The translations of a sentence.
        settings: The contents of the lines.
        max_lines: The maximum number of lines.
    """
    count = min(max_lines, len(decoded))
    parts = decoded.nbest_features()
    labels = [
        b" %s=" % name.encode("utf-8", "surrogateescape").replace(b"%", b"%%")
        + b" %.6g" * values.shape[1]
        for name, values in parts.items()
    ]
    line = b"%d ||| %%s |||%s ||| %%.6g%%s\n" % (decoded.number, b"".join(labels))
    rows = np.column_stack([*parts.values(), decoded.totals])[:count].tolist()
    lines = []
    for number, row in enumerate(rows):
        text = surface(decoded, number, trace=settings.report_segmentation)
        lines.append(line % (text, *row, _extra_columns(decoded, settings, number)))
    return b"".join(lines)


def _extra_columns(decoded: DecodedSentence, settings: OutputSettings, number: int) -> bytes:
    columns = b""
    if settings.include_segmentation_in_n_best:
        # without spans, Moses prints no space behind the bars
        columns += (b" ||| " + segmentation(decoded, number)).removesuffix(b" ")
    if settings.print_alignment_info_in_n_best:
        columns += b" ||| " + alignment(decoded, number)
    return columns


def unknown_line(decoded: DecodedSentence) -> bytes:
    """Return the unknown words of the source sentence, each followed by a space."""
    loaded = decoded.loaded
    words = loaded.source.sentences[decoded.sentence]
    unknown = loaded.unknown_words[words]
    return b"".join(loaded.source.words.word(word) + b" " for word in words[unknown]) + b"\n"
