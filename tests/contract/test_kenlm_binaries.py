"""Binaries of KenLM's build_binary give the same results as their ARPA files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moses_integration.language_model.back_off import read_language_model
from phrasescore.errors import LanguageModelError
from tests.conftest import Phrasescore
from tests.support.fresh_process import output_of
from tests.support.golden_systems import copy_system
from tests.support.language_models import (
    LETTERS,
    TRIGRAMS,
    AskedModel,
    assert_same_model,
    models,
    sentence_log10,
)
from tests.support.plain_back_off import PlainLanguageModel

pytestmark = pytest.mark.moses
EXACT = {
    "probing": ["probing"],
    "roomy probing": ["-p", "8", "probing"],
    "trie": ["trie"],
    "array": ["-a", "22", "trie"],
}
QUANTISED = {
    "quantised": ["-q", "4", "-b", "5", "trie"],
    "usual in EMS": ["-q", "8", "-b", "8", "-a", "22", "trie"],
}
# order and further options of lmplz
ESTIMATES = {
    "bigrams": ("2", []),
    "trigrams": ("3", []),
    "pruned": ("3", ["--prune", "0", "1", "1"]),
    "fourgrams, pruned at the end": ("4", ["--prune", "0", "0", "0", "2"]),
    "fivegrams": ("5", []),
    "without <unk>": ("3", []),
}

Binary = Callable[[Path, list[str]], Path]


@pytest.fixture
def binary(moses_bin: Path, tmp_path: Path) -> Binary:
    """Run build_binary on an ARPA file; return the binary."""

    def build(arpa: Path, options: list[str]) -> Path:
        output = tmp_path / "model.binary"
        output_of(moses_bin / "build_binary", "-S", "100M", *options, arpa, output)
        return output

    return build


def random_text(rng: np.random.Generator, sentences: int) -> list[list[bytes]]:
    """Draw sentences over some hundred words, of which few are frequent."""
    lengths = rng.integers(1, 12, sentences)
    return [[b"w%d" % word for word in rng.zipf(1.4, length) % 400] for length in lengths]


@pytest.fixture(params=ESTIMATES)
def arpa(
    request: pytest.FixtureRequest, moses_bin: Path, tmp_path: Path, rng: np.random.Generator
) -> Path:
    """Return a model that lmplz estimated from random sentences."""
    order, options = ESTIMATES[request.param]
    text = b"".join(b" ".join(words) + b"\n" for words in random_text(rng, 1000))
    lmplz = moses_bin / "lmplz", "-o", order, "--discount_fallback", "-S", "100M", "-T", tmp_path
    output = output_of(*lmplz, *options, input=text)
    if request.param == "without <unk>":
        lines = output.split(b"\n")
        count = next(line for line in lines if line.startswith(b"ngram 1="))
        fewer = b"ngram 1=%d" % (int(count.split(b"=")[1]) - 1)
        kept = (fewer if line == count else line for line in lines if b"<unk>" not in line)
        output = b"\n".join(kept)
    path = tmp_path / "model.arpa"
    path.write_bytes(output)
    return path


def sizes(asked: AskedModel) -> tuple[int, int, int, int]:
    """Return the order and the numbers of words, nodes and n-grams of a model."""
    model = asked.arrays
    ngrams = int(np.count_nonzero(model.tables.slots["key"]))
    return model.order, len(model.words), model.tables.nodes.size, ngrams


@pytest.mark.parametrize("kind", EXACT)
def test_estimated_models(arpa: Path, binary: Binary, rng: np.random.Generator, kind: str) -> None:
    """Sizes, scores and states equal those of the ARPA file."""
    ours = AskedModel(binary(arpa, EXACT[kind]))
    theirs = AskedModel(arpa)
    assert sizes(ours) == sizes(theirs)
    sentences = random_text(rng, 300)
    sentences += [[*words, b"xyzzy", *words] for words in sentences[:100]]
    assert_same_model(ours, theirs, sentences)


@pytest.mark.parametrize("kind", [*QUANTISED, *EXACT])
def test_totals_of_query(
    arpa: Path, binary: Binary, moses_bin: Path, rng: np.random.Generator, kind: str
) -> None:
    """Sentence scores equal those of KenLM's own program for the same binary."""
    path = binary(arpa, {**QUANTISED, **EXACT}[kind])
    sentences = random_text(rng, 200)
    sentences += [[*words, b"xyzzy", *words] for words in sentences[:50]]
    text = b"".join(b" ".join(words) + b"\n" for words in sentences)
    output = output_of(moses_bin / "query", "-v", "sentence", path, input=text)
    totals = [float(line.split()[1]) for line in output.split(b"\n") if line.startswith(b"Total:")]
    model = AskedModel(path)
    ours = [sum(sentence_log10(model, words)) for words in sentences]
    # query sums in single precision and prints six digits
    assert ours == pytest.approx(totals, abs=1e-5, rel=5e-6)


@pytest.mark.parametrize(
    ("kind", "order", "line", "what"),
    [
        ("probing", 1, "-2\tb\t-0.5\n", "the word 'b'"),
        ("trie", 1, "-2\tb\t-0.5\n", "the word 'b'"),
        ("trie", 2, "-2\ta b\t-0.5\n", "one of its 2-grams"),
    ],
)
def test_repeated_lines(
    tmp_path: Path, binary: Binary, kind: str, order: int, line: str, what: str
) -> None:
    """KenLM reads binaries that list a line twice; the error says that only Moses does."""
    count = {1: 6, 2: 4}[order]
    text = TRIGRAMS.replace(f"ngram {order}={count}", f"ngram {order}={count + 1}")
    path = tmp_path / "twice.arpa"
    path.write_text(text.replace(f"\n\\{order + 1}-grams", f"{line}\n\\{order + 1}-grams"))
    with pytest.raises(LanguageModelError, match=f"lists {what} twice, so only real Moses"):
        read_language_model(binary(path, [kind]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    models(least_order=2),
    st.lists(st.lists(st.sampled_from([*LETTERS, "x", "</s>"]), max_size=7), min_size=1),
    st.sampled_from(["roomy probing", "trie", "array"]),
)
def test_models_without_suffixes(
    tmp_path: Path, binary: Binary, text: str, sentences: list[list[str]], kind: str
) -> None:
    """If KenLM inserts missing suffixes, scores and states still follow the definition."""
    arpa = tmp_path / "model.arpa"
    arpa.write_text(text)
    words = [[word.encode() for word in sentence] for sentence in sentences]
    ours = AskedModel(binary(arpa, EXACT[kind]))
    assert_same_model(ours, PlainLanguageModel(arpa), words)
    assert sizes(ours) == sizes(AskedModel(arpa))


@pytest.mark.parametrize("kind", ["probing", "trie"])
def test_decoding(
    bundled_golden: Path, tmp_path: Path, binary: Binary, phrasescore: Phrasescore, kind: str
) -> None:
    """A system with a binary language model translates as with the ARPA file."""
    folder = copy_system(bundled_golden, tmp_path)
    binary(folder / "lm.arpa", EXACT[kind]).rename(folder / "lm.binary")
    ini = (folder / "moses.ini").read_text()
    assert "lm.arpa" in ini
    (folder / "binary.ini").write_text(ini.replace("lm.arpa", "lm.binary"))
    for name in ("moses", "binary"):
        phrasescore(
            "decode", folder / f"{name}.ini", "-i", bundled_golden / "decode" / "input.en",
            "-o", name,
        ).well()  # fmt: skip
    assert (tmp_path / "binary").read_bytes() == (tmp_path / "moses").read_bytes()
