"""What the decoder prints: translations, n-best lists, unknown words, statistics; Moses's bytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from moses_integration.decoder.decoder import DecodedSentence
from moses_integration.decoder.settings import OutputSettings

STATISTICS_HEADER = (
    b"sentence\twords\toptions\thypotheses\tcomplete\tasked\thistories\tseconds\tscore\n"
)
# how a size_t prints -1: Moses's end of an empty target phrase at position 0
_NO_POSITION = b"18446744073709551615"


@dataclass(frozen=True)
class _Phrase:
    """An applied phrase: its entry, its source span and where its target words begin."""

    entry: int
    start: int
    end: int
    target: int
    size: int


def _phrases(decoded: DecodedSentence, number: int) -> Iterator[_Phrase]:
    derivations, offsets = decoded.derivations, decoded.loaded.entries.word_offsets
    target = 0
    for at in range(derivations.offsets[number], derivations.offsets[number + 1]):
        entry = int(derivations.entries[at])
        size = int(offsets[entry + 1] - offsets[entry])
        start, end = int(derivations.starts[at]), int(derivations.ends[at])
        yield _Phrase(entry, start, end, target, size)
        target += size


def surface(decoded: DecodedSentence, number: int, *, trace: bool) -> bytes:
    """Return the words of a derivation, each followed by a space.

    Args:
        decoded: A sentence's translations.
        number: Which of its derivations.
        trace: Whether to print the source span behind every phrase that is not empty.
    """
    if not trace:
        return b"".join([word + b" " for word in decoded.words(number)])
    parts = []
    for phrase in _phrases(decoded, number):
        parts += [word + b" " for word in decoded.loaded.target_words(phrase.entry)]
        if phrase.size > 0:
            parts.append(b"|%d-%d| " % (phrase.start, phrase.end))
    return b"".join(parts)


def alignment(decoded: DecodedSentence, number: int) -> bytes:
    """Return the word links of a derivation, each followed by a space."""
    entries = decoded.loaded.entries
    return b"".join(
        b"%d-%d " % (source + phrase.start, target + phrase.target)
        for phrase in _phrases(decoded, number)
        for source, target in entries.links[
            entries.link_offsets[phrase.entry] : entries.link_offsets[phrase.entry + 1]
        ].tolist()
    )


def segmentation(decoded: DecodedSentence, number: int) -> bytes:
    """Return the spans of a derivation, ``source=target`` with one space between them.

    An empty target phrase prints where it would begin; at the very beginning Moses prints an
    overflown number behind that, and so does this.
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


def best_line(decoded: DecodedSentence, settings: OutputSettings, number: int = 0) -> bytes:
    """Return the line of a translation; without a translation it is empty.

    Args:
        decoded: A sentence's translations.
        settings: What is printed.
        number: Which derivation is printed.
    """
    if not len(decoded):
        return b"\n"
    line = b"%.6g " % decoded.totals[number] if settings.output_hypo_score else b""
    line += surface(decoded, number, trace=settings.report_segmentation)
    if settings.print_alignment_info:
        line += b"||| " + alignment(decoded, number)
    return line + b"\n"


def nbest_lines(decoded: DecodedSentence, settings: OutputSettings, most: int) -> bytes:
    """Return the lines of a sentence in an n-best list; only tuneable components are in them.

    The bytes are those of ``moses_integration.nbest.format.format_entry``, at a tenth of its time.

    Args:
        decoded: A sentence's translations.
        settings: What is printed.
        most: How many lines at most.
    """
    count = min(most, len(decoded))
    if settings.report_segmentation:
        texts = [surface(decoded, number, trace=True) for number in range(count)]
    else:
        texts = _surfaces(decoded, count)
    layout = decoded.loaded.system.features.layout
    shown = decoded.features[:, layout.tuneable]
    parts = {name: shown[:, part] for name, part in layout.nbest.slices.items()}
    parts |= decoded.own_features
    labels = [
        b" %s=" % name.encode("utf-8", "surrogateescape").replace(b"%", b"%%")
        + b" %.6g" * values.shape[1]
        for name, values in parts.items()
    ]
    line = b"%d ||| %%s |||%s ||| %%.6g%%s\n" % (decoded.number, b"".join(labels))
    rows = np.column_stack([*parts.values(), decoded.totals])[:count].tolist()
    return b"".join(
        [
            line % (text, *row, _extra_columns(decoded, settings, number))
            for number, (text, row) in enumerate(zip(texts, rows, strict=True))
        ]
    )


def _surfaces(decoded: DecodedSentence, count: int) -> list[bytes]:
    """Return the first derivations as ``surface`` does, each phrase put together once."""
    offsets = decoded.derivations.offsets[: count + 1].tolist()
    entries = decoded.derivations.entries[: offsets[-1]].tolist()
    phrases = {
        entry: b"".join([word + b" " for word in decoded.loaded.target_words(entry)])
        for entry in set(entries)
    }
    texts = [phrases[entry] for entry in entries]
    return [b"".join(texts[begin:end]) for begin, end in itertools.pairwise(offsets)]


def _extra_columns(decoded: DecodedSentence, settings: OutputSettings, number: int) -> bytes:
    columns = b""
    if settings.include_segmentation_in_n_best:
        # no space follows the bars where there are no spans
        columns += (b" ||| " + segmentation(decoded, number)).removesuffix(b" ")
    if settings.print_alignment_info_in_n_best:
        columns += b" ||| " + alignment(decoded, number)
    return columns


def unknown_line(decoded: DecodedSentence) -> bytes:
    """Return the unknown words of the source sentence, each followed by a space."""
    loaded = decoded.loaded
    words = loaded.source.sentences[decoded.sentence]
    unknown = loaded.unknown_words[words]
    names = [loaded.source.words.word(int(word)) for word in words[unknown]]
    return b"".join(name + b" " for name in names) + b"\n"


def statistics_line(decoded: DecodedSentence) -> bytes:
    """Return the statistics of a sentence, columns as in ``STATISTICS_HEADER``."""
    found = decoded.statistics
    score = b"%.6g" % decoded.totals[0] if len(decoded) else b""
    counts = (decoded.number, found.words, found.options, found.hypotheses, found.complete)
    neural = (found.asked, found.histories)
    return b"%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.6f\t%s\n" % (*counts, *neural, found.seconds, score)
