"""Compares translated lines with the results of search and alignment."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from phrasescore.generation.beam_search import BeamSearch
from phrasescore.generation.sentence_models import SentenceModels, load_sentence_models
from phrasescore.generation.soft_alignments import SoftAlignments
from phrasescore.generation.targets import BeamSettings, TargetGenerator, TargetSettings
from phrasescore.generation.translator import Translated, Translator
from phrasescore.table.block import TokenSpans
from phrasescore.table.text_blocks import Texts
from phrasescore.words.token_sequences import from_lists
from phrasescore.words.vocabulary import UNK_ID
from tests.support.random_models import save_random_model

TEXT = b"a b c\n\nzebra a\nb\n \t \nc c yak b a\n"
BEAM, ALLOWED = BeamSettings(8, 8), TargetSettings(5)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> SentenceModels:
    """Return an ensemble with one member that cannot align."""
    folder = tmp_path_factory.mktemp("translator")
    for name, kind, seed in (("one", "search", 1), ("two", "search", 2), ("none", "encdec", 3)):
        save_random_model(folder / name, [b"a", b"b", b"c"], [b"A", b"B"], seed=seed, kind=kind)
    return load_sentence_models([str(folder / name) for name in ("one", "two", "none")])


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> TokenSpans:
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_bytes(TEXT)
    (block,) = Texts((path,), columns=1, whole_lines=True, bytes_per_block=1 << 24).blocks()
    return block.tokens[0]


def by_definition(models: SentenceModels, line: Translated) -> None:
    """Check the replaced words of a line against the search and the members' alignments."""
    ids = from_lists([models.first.source_vocabulary.encode(line.source)])
    found = TargetGenerator(models.asked, partial(BeamSearch, BEAM, ALLOWED), "cpu").targets(ids)
    known, expected = models.first.target_vocabulary.words, []
    for row in range(len(found)):
        target = found.words.select(np.array([row]))
        alphas = [SoftAlignments([each], "cpu").align(ids, target)[0] for each in models.aligning]
        words = [known[word] for word in target.tokens]
        for at in np.flatnonzero(target.tokens == UNK_ID):
            words[at] = line.source[int(np.argmax(sum(alphas)[at, :-1]))]
        if words not in expected:
            expected.append(words)
    assert [each.words for each in line.translations] == expected


def test_unknown_words_are_replaced(models: SentenceModels, lines: TokenSpans) -> None:
    """They are replaced by the source word with the most mean attention; no duplicates result."""
    translator = Translator(models, BEAM, ALLOWED, copies=True, device="cpu")
    translated = translator.translate(lines, 1)
    for line in translated:
        assert line.alignment is None
        if line.source:
            by_definition(models, line)
    assert any(best.unknown for line in translated for best in line.translations)


def test_alignments_of_the_first_translations(models: SentenceModels, lines: TokenSpans) -> None:
    """Alignments equal those of forced decoding, with a row for each word and </s>."""
    translator = Translator(models, BEAM, ALLOWED, aligns=True, device="cpu")
    for line in translator.translate(lines, 1):
        if not line.source:
            assert line.alignment is None
            continue
        words = line.translations[0].words
        read = from_lists([models.first.source_vocabulary.encode(line.source)])
        written = from_lists([models.first.target_vocabulary.encode(words)])
        (expected,) = SoftAlignments(models.aligning, "cpu").align(read, written)
        assert line.alignment is not None
        np.testing.assert_allclose(line.alignment, expected, rtol=0, atol=1e-6)
