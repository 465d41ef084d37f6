"""Runs whole systems in which one file is replaced: decoding, pruning, building."""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Callable
from pathlib import Path

from moses_integration.bleu import References
from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.settings import (
    CUBE_PRUNING,
    STACK_SEARCH,
    NBestSettings,
    SearchSettings,
)
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.nbest import arrays
from moses_integration.nbest.arrays import NBestReader
from moses_integration.system_building.build import build_system
from moses_integration.system_building.build_settings import (
    BuildInputs,
    BuildSettings,
    SystemFolder,
)
from moses_integration.tables.pair_significance import SignificanceLevel
from moses_integration.tables.pruning import PruningConditions, judge
from phrasescore.table.block import read_blocks, read_source_runs
from phrasescore.training.encoding import encode
from phrasescore.training.settings import TrainingSettings
from tests.fuzz.originals import head
from tests.fuzz.readings import Reading, Result, block_size
from tests.support.random_system import SYSTEM

_SENTENCES = 4


def _decoded(form: str) -> Callable[[Path, bool], Result]:
    """Decode with a system in which one file is the file under test, and the others are valid."""

    def read(path: Path, large: bool) -> Result:
        folder = path.parent / "system"
        folder.mkdir(exist_ok=True)
        files = {"table": "phrase-table", "reordering": "reordering-table", "arpa": "lm.arpa"}
        places = {name: folder / file for name, file in files.items()}
        for name, file in files.items():
            if not places[name].exists():
                places[name].write_bytes(head(f"system/{file}.gz", 10**9 if name == "arpa" else 25))
        places["arpa" if form == "kenlm" else form] = path
        table = places["table"]
        scores = next(iter(read_blocks(table))).format.scores
        sources = [line.split(b"|||")[0].split() for line in table.read_bytes().split(b"\n")]
        sentences = [tuple(itertools.chain(*sources[n::_SENTENCES]))[:12] for n in range(4)]
        found = []
        text = SYSTEM.format(
            limit=3, top=20, scores=scores, table=table, reordering=places["reordering"],
            lm=places["arpa"],
        )  # fmt: skip
        for algorithm in (STACK_SEARCH, CUBE_PRUNING):
            settings = SearchSettings(
                search_algorithm=algorithm, stack=20, cube_pruning_pop_limit=20, distortion_limit=3
            )
            decoder = Decoder(MosesIni.parse(text.encode()), settings=settings)
            loaded = decoder.load(sentences)
            for decoded in decoder.decode(loaded, nbest=NBestSettings(5)):
                assert not any(map(math.isnan, decoded.totals.tolist()))
                found.append([decoded.words(number) for number in range(len(decoded))])
        return tuple(found)

    return read


def _decoded_with_ini(path: Path, large: bool) -> Result:
    """Decode with a system whose ini is the file under test."""
    decoder = Decoder(MosesIni.read(path))
    loaded = decoder.load([(b"s0", b"s1", b"s2", b"s9"), (b"s3",) * 6, ()])
    found = []
    for decoded in decoder.decode(loaded, nbest=NBestSettings(5)):
        assert not any(map(math.isnan, decoded.totals.tolist()))
        assert decoded.features.shape == (len(decoded), decoder.layout.size)
        found.append([decoded.words(number) for number in range(len(decoded))])
    return tuple(found)


def _pruned(path: Path, large: bool) -> Result:
    conditions = PruningConditions(
        top=2, column=1, significance=SignificanceLevel.parse("a+e", 100)
    )
    blocks = read_source_runs(path, 65_536 if large else 2)
    return tuple(row for block in blocks for row in judge(block, conditions)[0].tolist())


def _built(texts: tuple[str, str], alignment: str, foreign: int) -> Callable[[Path, bool], Result]:
    """Build a system in which source, target or alignment is the file under test."""

    def read(path: Path, large: bool) -> Result:
        folder = path.parent / "built"
        shutil.rmtree(folder, ignore_errors=True)
        paths = [path.parent / f"given{number}" for number in range(3)]
        for given, name in zip(paths, (*texts, alignment), strict=True):
            given.write_bytes(head(name))
        paths[foreign] = path
        inputs = BuildInputs(paths[0], paths[1], (paths[2],))
        settings = BuildSettings(max_phrase_length=4, memory=1 << 24)
        for _ in build_system(inputs, SystemFolder(folder), settings):
            pass
        table = [block.text for block in read_blocks(folder / "phrase-table.gz")]
        return (b"".join(table),)

    return read


def _encoded(path: Path, large: bool) -> Result:
    folder = path.parent / "pairs"
    shutil.rmtree(folder, ignore_errors=True)
    pairs = encode(TrainingSettings(inputs=(path,), source_words=5), folder)
    sides = (pairs.source, pairs.target)
    for side in sides:
        words = len(side.vocabulary) + 2
        assert side.tokens.size == side.offsets[-1]
        assert side.tokens.max(initial=0) < words
    return tuple(side.digests.tolist() for side in sides)


def _scored(path: Path, large: bool) -> Result:
    """Score the candidates of an n-best list against two references."""
    references = References([[b"a a b", b"x"] * 20, [b"b", b""] * 20])
    with block_size(arrays, large):
        found = NBestReader(path, references.vocabulary).read()
    scores = references.score_tokens(found.sentences, found.tokens, found.offsets)
    return (scores.tolist(),)


_CORPUS = ("extraction/corpus.en", "extraction/corpus.fr")
_ALIGNMENT = "extraction/aligned.grow-diag-final-and"

SYSTEMS = {
    "encoded table": Reading("table", _encoded, compares=False),
    "scored n-best list": Reading("nbest", _scored, in_turn=True),
    "pruned table": Reading("table", _pruned, in_turn=True),
    "decoding with an ini": Reading("ini", _decoded_with_ini, compares=False),
    "decoding with a table": Reading("table", _decoded("table"), compares=False),
    "decoding with a reordering table": Reading(
        "reordering", _decoded("reordering"), compares=False
    ),
    "decoding with an ARPA model": Reading("arpa", _decoded("arpa"), compares=False),
    "decoding with a KenLM binary": Reading("kenlm", _decoded("kenlm"), compares=False),
    "building from a source": Reading("text", _built(_CORPUS, _ALIGNMENT, 0), compares=False),
    "building from an alignment": Reading("links", _built(_CORPUS, _ALIGNMENT, 2), compares=False),
}
