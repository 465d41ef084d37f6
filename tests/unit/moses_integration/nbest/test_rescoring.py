"""Finding phrase pairs in n-best lists, and adding their scores."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moses_integration.nbest.format import PhrasePair, phrase_pairs, read_nbest
from moses_integration.nbest.rescoring import NBestModel, NBestRescoring, read_table_words
from phrasescore.errors import NBestError, SettingsError
from phrasescore.model.folder import load_model
from phrasescore.model.kinds import Direction
from phrasescore.scoring.block_scoring import ScoringModel
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.words.token_sequences import TokenSequences, from_lists
from phrasescore.words.vocabulary import Vocabulary
from tests.support.random_models import save_random_model, words_alone
from tests.support.table_lines import read_entries
from tests.support.unshared_scorer import UnsharedScorer

LINE = b"0 ||| la maison .  ||| LM0= -4.5 T0= -1 -2 ||| -1.25 ||| 0-1=0-1 2=2 ||| 0-0 1-1 2-2 \n"
SOURCE = b"the house .\n"


class LookedUp:
    """A scorer that looks pairs up in a dictionary; other pairs are errors."""

    def __init__(self, values: dict[tuple[bytes, bytes], float]) -> None:
        pairs = [[text.split(b" ") if text else [] for text in pair] for pair in values]
        words = [sorted({word for pair in pairs for word in pair[side]}) for side in (0, 1)]
        self.source, self.target = map(Vocabulary.from_words, words)
        self.values = {
            (tuple(self.source.encode(one)), tuple(self.target.encode(other))): value
            for (one, other), value in zip(pairs, values.values(), strict=True)
        }
        self.asked = 0

    def score(self, sources: TokenSequences, targets: TokenSequences) -> NDArray[np.float64]:
        self.asked += len(sources)
        pairs = (
            (tuple(sources[row].tolist()), tuple(targets[row].tolist()))
            for row in range(len(sources))
        )
        return np.array([self.values[pair] for pair in pairs])


def model_of(
    values: dict[tuple[bytes, bytes], float],
    name: str = "PhraseModel0",
    direction: Direction = "source-target",
    kind: str = "rnn-encoder-decoder",
) -> NBestModel:
    if direction == "target-source":
        values = {(target, source): value for (source, target), value in values.items()}
    scorer = LookedUp(values)
    loaded = words_alone(scorer.source, scorer.target, direction, kind=kind)
    return NBestModel(name, ScoringModel("looked up", loaded, scorer))


VALUES = {(b"the house", b"la maison"): -1.5, (b".", b"."): -0.25}


def rescored(folder: Path, text: bytes, *models: NBestModel, source: bytes = SOURCE) -> bytes:
    (folder / "list").write_bytes(text)
    (folder / "source").write_bytes(source)
    rescoring = NBestRescoring(folder / "list", folder / "source", models or [model_of(VALUES)])
    rescoring.write(folder / "out")
    return (folder / "out").read_bytes()


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        LINE.replace(b" ||| 0-0 1-1 2-2 \n", b"\n"),
        b"0 ||| la maison |0-1| . |2-2|  ||| LM0= -4.5 T0= -1 -2 ||| -1.25\n",
        b"0 ||| la maison |0-1| . |2-2|  ||| LM0= -4.5 T0= -1 -2 ||| -1.25 ||| 0-0 1-1 2-2 \n",
        b"0 |||  la  maison .||| LM0= -4.5 |||-1.25||| 0-1=0-1 2=2|||0-0\r\n",
    ],
)
def test_every_other_byte_stays(tmp_path: Path, line: bytes) -> None:
    """The feature follows the others and all other bytes are kept, for all forms of lists."""
    features = line.split(b"|||")[2]
    added = features.rstrip(b" ") + b" PhraseModel0= -1.75 "
    assert rescored(tmp_path, line) == line.replace(features, added)


def test_several_models(tmp_path: Path) -> None:
    """Each model adds a feature, in order; a reverse model reads the target."""
    doubled = {pair: 2 * value for pair, value in VALUES.items()}
    text = rescored(
        tmp_path, LINE, model_of(VALUES, "There"), model_of(doubled, "Back", "target-source")
    )
    assert text == LINE.replace(b" -2 |||", b" -2 There= -1.75 Back= -3.5 |||")
    [entry] = read_nbest(tmp_path / "out")
    assert entry.features["Back"] == (-3.5,)


@given(st.data())
def test_segmentations(data: st.DataObject) -> None:
    """All segmentations are read in both notations, including empty translations of phrases."""
    lengths = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
    bounds = [0, *itertools.accumulate(lengths)]
    source = [f"s{i}".encode() for i in range(bounds[-1])]
    order = data.draw(st.permutations(range(len(lengths))))
    pairs: list[PhrasePair] = []
    words: list[bytes] = []
    spans, marked, lost = [], [], list[bytes]()
    for phrase in order:
        begin, end = bounds[phrase], bounds[phrase + 1]
        target = [b"t%d" % i for i in range(data.draw(st.integers(0, 2)))]
        pairs.append((b" ".join(source[begin:end]), b" ".join(target)))
        first, last = len(words), len(words) + len(target) - 1
        spans.append(span(begin, end - 1) + b"=" + span(first, last))
        # dropped words leave no trace in the list
        marked += [*target, b"|%d-%d|" % (begin, end - 1)] if target else []
        lost += [] if target else source[begin:end]
        words += target
    assert phrase_pairs(words, b" ".join(spans), source) == pairs
    if words:
        kept = [pair for pair in pairs if pair[1]] + [(word, b"") for word in sorted(lost, key=at)]
        assert phrase_pairs(marked, None, source) == kept


def at(word: bytes) -> int:
    """Draw the position of a source word."""
    return int(word[1:])


def span(first: int, last: int) -> bytes:
    """Print a span like Moses, with unsigned numbers."""
    if first == last:
        return b"%d" % first
    if first < last:
        return b"%d-%d" % (first, last)
    return b"%d" % first if first else b"0-18446744073709551615"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"0 ||| la  ||| LM0= 1 ||| 1\n", "-include-segmentation-in-n-best"),
        (b"0 ||| la  ||| LM0= 1 ||| 1 ||| 0-0\n", "-include-segmentation-in-n-best"),
        (LINE.replace(b"2=2", b"2=x"), "the segmentation has '2=x'"),
        (LINE.replace(b"2=2", b"3=2"), "the phrase 3-3 does not fit into the 3 words"),
        (LINE.replace(b"2=2", b"1=2"), "the phrase 1-1 does not fit into the 3 words"),
        (LINE.replace(b" 2=2", b""), "the phrases cover 2 of the 3 words of the source"),
        (LINE.replace(b"0-1=0-1 2=2", b"2=2 0-1=0-1"), "not in the order of the target"),
        (LINE.replace(b"0 ||| la", b"1 ||| la"), "sentence '1', but the source has 1"),
        (LINE.replace(b"0 ||| la", b"x ||| la"), "sentence 'x', but the source has 1"),
        (LINE.replace(b"0 ||| la", b"9" * 5000 + b" ||| la"), "999', but the source has 1"),
        (LINE.replace(b"0 ||| la", b"1000000000000 ||| la"), "sentence '1000000000000', but the"),
        (LINE.replace(b"LM0", b"PhraseModel0"), "the list has a feature PhraseModel0 already"),
        (LINE.rstrip(b"\n"), "the list ends in the middle of a line"),
        (b"0 ||| la\n", "2 columns, expected at least 4"),
        (b"\n", "1 column, expected at least 4"),
        (b"la maison\n", "this looks like a text: write lines such as 0 ||| words"),
        (b"H-0\t-0.5\tla\n", "this looks like columns separated by tabs, as from fairseq"),
        (b"0 ||| la ||| -1.5\n", "this looks like three columns with one score, as from Nematus"),
        (b"0 ||| la ||| -1.5 -2\n", "this looks like three columns with the scores of words"),
        (b"0 ||| la ||| LM0= -2\n", "the decoder was stopped, or the disk was full"),
    ],
)
def test_what_is_refused(tmp_path: Path, line: bytes, problem: str) -> None:
    """Errors name the line and a remedy, and nothing is written."""
    with pytest.raises(NBestError, match="list:2: ") as caught:
        rescored(tmp_path, LINE + line)
    assert problem.lower() in str(caught.value).lower()
    assert not (tmp_path / "out").exists()


def test_empty_sentences(tmp_path: Path) -> None:
    """A sentence without words has the value 0."""
    empty = b"0 |||  ||| LM0= 0 ||| 0 ||| \n"
    text = rescored(tmp_path, empty + empty.replace(b" ||| \n", b"\n"), source=b"\n")
    assert text.count(b"LM0= 0 PhraseModel0= 0 |||") == 2


@pytest.mark.parametrize(
    ("search", "name", "column"),
    [
        *((search, "phrase-table.gz", 0) for search in ("default", "dropunk")),
        ("fivecolumns", "phrase-table.5col.gz", 4),
    ],
)
def test_the_value_is_that_of_the_decoder(
    golden: Path, tmp_path: Path, search: str, name: str, column: int
) -> None:
    """With a column of the table as scorer, candidates get the scores that Moses computed.

    The fifth column has scores of 0 and near 0, which are floored.
    """
    table, nbest = golden / "system" / name, golden / "decode" / f"{search}.nbest.gz"
    with np.errstate(divide="ignore"):
        values = {
            (entry.source, entry.target): float(
                np.log(np.float32(entry.scores.split(b" ")[column]))
            )
            for entry in read_entries(table)
        }
    source, words = golden / "decode" / "input.en", read_table_words(table)
    NBestRescoring(nbest, source, [model_of(values)], words).write(tmp_path / "out")
    pairs = [
        (entry.features["PhraseModel0"][0], entry.features["TranslationModel0"][column])
        for entry in read_nbest(tmp_path / "out")
    ]
    own, moses = np.array(pairs).T
    assert own == pytest.approx(moses, rel=1e-5, abs=2e-5)
    assert len(pairs) == len(list(read_nbest(nbest))) > 1000
    assert ((moses < -100).mean() > 0.22) == (column == 4)


DIRECTIONS: list[tuple[str, Direction]] = [("There", "source-target"), ("Back", "target-source")]
SENTENCES = {
    (b"the house .", b"la maison ."): -2.5,
    (b"the house .", b"le maison"): -700.25,
    (b"a dog", b""): -9.0,
}
LIST = (
    b"0 ||| la maison .  ||| LM0= -4.5 ||| -1\n"
    b"0 ||| le maison  ||| LM0= -4 ||| -2\n"
    b"0 ||| la maison |0-1| . |2-2|  ||| LM0= -4 ||| -3\n"
    b"1 |||  ||| LM0= 0 ||| 0\n"
)


def test_whole_translations(tmp_path: Path) -> None:
    """Lists without segmentation can be scored; nothing is floored; marks are not words."""
    there = model_of(SENTENCES, "There", kind="rnn-search")
    back = model_of(SENTENCES, "Back", "target-source", kind="rnn-search")
    text = rescored(tmp_path, LIST, there, back, source=SOURCE + b"a dog\n")
    values = [line.split(b"|||")[2].split() for line in text.splitlines()]
    assert [line[3] for line in values] == [b"-2.5", b"-700.25", b"-2.5", b"-9"]
    assert [line[5] for line in values] == [b"-2.5", b"-700.25", b"-2.5", b"-9"]
    assert isinstance(there.model.scorer, LookedUp)
    assert there.model.scorer.asked == 3  # two candidates have equal words


def test_models_of_both_sorts_in_one_pass(tmp_path: Path) -> None:
    """If any model needs phrases, a list without segmentation is an error for this model."""
    whole = model_of(SENTENCES, "Whole", kind="rnn-search")
    text = rescored(tmp_path, LINE, whole, model_of(VALUES))
    assert b" T0= -1 -2 Whole= -2.5 PhraseModel0= -1.75 |||" in text
    with pytest.raises(NBestError, match=r"list:1: the list does not say which phrases"):
        rescored(tmp_path, LIST, whole, model_of(VALUES), source=SOURCE + b"a dog\n")


def test_a_source_is_needed_only_by_models_that_read_it(tmp_path: Path) -> None:
    """A language model scores words alone, and does not look up sentence numbers."""
    (tmp_path / "list").write_bytes(LIST)
    words = {(b"", target): value for (_, target), value in SENTENCES.items()}
    model = model_of(words, kind="rnn-lm")
    counts = NBestRescoring(tmp_path / "list", None, [model]).write(tmp_path / "out")
    assert (counts.lines, counts.translations, counts.pairs) == (4, 3, 0)
    reading = model_of(SENTENCES, kind="rnn-search")
    with pytest.raises(SettingsError, match=r"reads a source, but none is given.*--source"):
        NBestRescoring(tmp_path / "list", None, [reading]).write(tmp_path / "out")


def test_an_attention_model_gives_what_it_gives_each_pair_alone(tmp_path: Path) -> None:
    """With shared prefixes, both directions and 600 words, ln p equals that of each pair alone."""
    source = [b"a b c", b"", b"c a"]
    texts = [b"x", b"x y", b"x y z", b"", b"z z", b"y " * 600]
    lines = [(n, words) for n in range(3) for words in (texts if n != 1 else texts[:4])]
    rows = (b"%d ||| %s  ||| LM0= 1 ||| 1\n" % row for row in lines)
    (tmp_path / "list").write_bytes(b"".join(rows))
    (tmp_path / "source").write_bytes(b"\n".join(source) + b"\n")
    words = [b"a", b"b", b"c"], [b"x", b"y"]
    models = []
    for name, direction in DIRECTIONS:
        folder = save_random_model(tmp_path / name, *words, direction, kind="search")
        loaded = load_model(folder)
        scoring = ScoringModel(name, loaded, SharedScorer(loaded.model, "cpu"))
        models.append(NBestModel(name, scoring))
    NBestRescoring(tmp_path / "list", tmp_path / "source", models).write(tmp_path / "out")
    found = [entry.features for entry in read_nbest(tmp_path / "out")]
    for model in models:
        alone = UnsharedScorer(load_model(tmp_path / model.name).model, "cpu")
        expected = [alone.score(*ids_of(model, source[n], words))[0] for n, words in lines]
        np.testing.assert_allclose([f[model.name][0] for f in found], expected, rtol=2e-5)


def ids_of(
    model: NBestModel, source: bytes, target: bytes
) -> tuple[TokenSequences, TokenSequences]:
    """Return the word ids of one pair."""
    texts = {"source": source, "target": target}
    read, predicted = (
        from_lists([vocabulary.encode([word for word in texts[side].split(b" ") if word])])
        for side, vocabulary in model.model.loaded.sides.items()
    )
    return read, predicted
