"""The features that a moses.ini declares, typed, with their places in the feature vector.

The vector has the order of n-best lists (`feature_weights.FeatureLayout`). A line that is not
understood is an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from moses_integration.decoder.features.ini_checks import check_feature, check_sections
from moses_integration.decoder.features.reordering_feature import (
    ReorderingFeature,
    reordering_feature,
)
from moses_integration.decoder.settings import DEFAULT_TABLE_LIMIT
from moses_integration.ini.edits import neural_options
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import IniError, counted
from phrasescore.table.input_files import whole_number

_MOST_PATHS = 126  # decoding paths count from 0; one more is for unknown words, in eight bits
_MOST_ENTRIES = 10**9
_SHOWN = 30
# one component, whatever num-features says; PhrasePenalty may have one for each table
_SINGLE = ("Distortion", "WordPenalty", "PhrasePenalty", "UnknownWordPenalty")
_TRUE = ("1", "true", "yes", "y")


@dataclass(frozen=True)
class PhraseTableFeature:
    """A phrase table.

    Args:
        path: Where it is.
        line: The ini's line.
        first: Its first component in the feature vector.
        scores: How many scores each entry has.
        limit: How many entries of a source phrase are used; 0 for all.
    """

    path: str
    line: int
    first: int
    scores: int
    limit: int


@dataclass(frozen=True)
class LanguageModelFeature:
    """A language model.

    Args:
        path: Where it is.
        line: The ini's line.
        first: Its first component in the feature vector.
        counts_unknown: Whether a second component counts words it does not know.
    """

    path: str
    line: int
    first: int
    counts_unknown: bool


@dataclass(frozen=True)
class NeuralModelFeature:
    """A neural language model.

    Args:
        path: Its folder.
        line: The ini's line.
        first: Its component in the feature vector.
        normalised: Whether its scores are ln p, or lack the normaliser.
        shares_unknown: Whether a word outside its shortlist has its share of p(<unk>), or all.
    """

    path: str
    line: int
    first: int
    normalised: bool
    shares_unknown: bool


@dataclass(frozen=True)
class FeatureSet:
    """All features of a system.

    Args:
        layout: The order of the feature vector.
        tables: The phrase tables that are used, in the order their options are looked up.
        reorderings: The lexicalised reordering models.
        language_models: The n-gram models.
        neural_models: The neural language models.
        distortions: Component of each distortion feature.
        word_penalties: Component of each word penalty.
        phrase_penalties: Component that counts every phrase.
        table_penalties: First component of a penalty with one component per table.
        unknown_penalties: Component of each unknown-word penalty.
        table_numbers: Which of the ini's phrase tables each decoding path uses.
    """

    layout: FeatureLayout
    tables: tuple[PhraseTableFeature, ...]
    reorderings: tuple[ReorderingFeature, ...]
    language_models: tuple[LanguageModelFeature, ...]
    neural_models: tuple[NeuralModelFeature, ...]
    distortions: tuple[int, ...]
    word_penalties: tuple[int, ...]
    phrase_penalties: tuple[int, ...]
    table_penalties: tuple[int, ...]
    unknown_penalties: tuple[int, ...]
    table_numbers: tuple[int, ...]

    def table_penalty_components(self) -> Iterator[tuple[int, int]]:
        """Yield the component that counts phrases of a decoding path's table, and the path."""
        for first in self.table_penalties:
            for path, number in enumerate(self.table_numbers):
                yield first + number, path

    @classmethod
    def of(cls, ini: MosesIni) -> FeatureSet:
        """Read the features of an ini.

        Raises:
            IniError: A section, class, option or value is unknown or makes no sense.
        """
        ini.refuse_old_style()
        check_sections(ini)
        for line in ini.features:
            check_feature(ini, line)
        layout = FeatureLayout.of(ini)
        layout.read_weights(ini)
        for name in layout.sparse_weights(ini):
            raise IniError(
                f"a weight for the sparse feature {name}, which the embedded decoder lacks",
                path=ini.path,
                line=ini.weight_line(name),
                remedy="delete the line, or decode with Moses",
            )

        def components(kind: str, *, per_table: bool = False) -> tuple[int, ...]:
            lines = (line for line in _of_kind(ini, kind) if _is_per_table(line) == per_table)
            return tuple(layout.slices[line.name].start for line in lines)

        declared = _of_kind(ini, "PhraseDictionaryMemory")
        for line in ini.features:
            _check_components(ini, line, layout, len(declared))
        numbers = _mapped_tables(ini, declared)
        return cls(
            layout=layout,
            tables=tuple(_table(ini, declared[number], layout) for number in numbers),
            reorderings=tuple(
                reordering_feature(ini, line, layout) for line in _of_kind(ini, "LexicalReordering")
            ),
            language_models=tuple(_language_model(line, layout) for line in _of_kind(ini, "KENLM")),
            neural_models=tuple(
                _neural_model(ini, line, layout) for line in _of_kind(ini, "FeedForwardLM")
            ),
            distortions=components("Distortion"),
            word_penalties=components("WordPenalty"),
            phrase_penalties=components("PhrasePenalty"),
            table_penalties=components("PhrasePenalty", per_table=True),
            unknown_penalties=components("UnknownWordPenalty"),
            table_numbers=tuple(numbers),
        )


def _of_kind(ini: MosesIni, kind: str) -> list[FeatureLine]:
    return [line for line in ini.features if line.kind == kind]


def _check_components(ini: MosesIni, line: FeatureLine, layout: FeatureLayout, tables: int) -> None:
    """See that a feature has the components that the search fills in, where it has a fixed number.

    Raises:
        IniError: ``num-features`` says otherwise.
    """
    if line.kind not in _SINGLE:
        return
    expected = tables if line.kind == "PhrasePenalty" and _is_per_table(line) else 1
    part = layout.slices[line.name]
    if part.stop - part.start != expected:
        raise IniError(
            f"num-features of {line.name} is {part.stop - part.start}, but it has "
            f"{counted(expected, 'component')}",
            path=ini.path,
            line=line.line,
            remedy=f"write num-features={expected}, or leave it out where it is 1",
        )


def _is_per_table(line: FeatureLine) -> bool:
    return line.options.get("per-phrase-table", "0").lower() in _TRUE


def _mapped_tables(ini: MosesIni, declared: list[FeatureLine]) -> list[int]:
    """Return the numbers of the tables that decoding paths use, one table for each path.

    A mapping line is ``path T table``, ``T table`` or ``path name``.
    """
    if not declared:
        raise IniError(
            "no phrase table (PhraseDictionaryMemory)",
            path=ini.path,
            remedy="check that this is a whole moses.ini",
        )
    names = [line.name for line in declared]
    numbers, paths = [], []
    for text in ini.values("mapping") or ("0 T 0",):
        tokens = text.split()
        if len(tokens) == 2:
            tokens = ["0", *tokens] if tokens[0] == "T" else [tokens[0], "T", tokens[1]]
            if tokens[2] in names:
                tokens[2] = str(names.index(tokens[2]))
        valid = len(tokens) == 3 and tokens[1] == "T"
        path = whole_number(tokens[0], _MOST_PATHS) if valid else None
        number = whole_number(tokens[2], len(declared) - 1) if valid else None
        if path is None or number is None:
            raise IniError(
                f"[mapping] has {text!r}, expected 'path T table' with one of the "
                f"{len(declared)} phrase tables, counted from 0",
                path=ini.path,
                remedy="decode models with generation steps with Moses",
            )
        paths.append(path)
        numbers.append(number)
    if len(set(paths)) < len(paths):
        raise IniError(
            "[mapping] has two tables on one decoding path, whose options would be intersected",
            path=ini.path,
            remedy="give each table a path of its own (0 T 0, 1 T 1), or decode with Moses",
        )
    return numbers


def _table(ini: MosesIni, line: FeatureLine, layout: FeatureLayout) -> PhraseTableFeature:
    text = line.options.get("table-limit", str(DEFAULT_TABLE_LIMIT))
    limit = whole_number(text, _MOST_ENTRIES)
    if limit is None:
        raise IniError(
            f"table-limit of {line.name} is {text[:_SHOWN]!r}, expected a whole number up to "
            f"{_MOST_ENTRIES:,}",
            path=ini.path,
            line=line.line,
        )
    part = layout.slices[line.name]
    return PhraseTableFeature(
        line.options["path"], line.line, part.start, part.stop - part.start, limit
    )


def _language_model(line: FeatureLine, layout: FeatureLayout) -> LanguageModelFeature:
    part = layout.slices[line.name]
    return LanguageModelFeature(
        line.options["path"], line.line, part.start, part.stop - part.start == 2
    )


def _neural_model(ini: MosesIni, line: FeatureLine, layout: FeatureLayout) -> NeuralModelFeature:
    try:
        normalised, shares_unknown = neural_options(line)
    except IniError as error:
        raise error.at(ini.path, line.line) from None
    first = layout.slices[line.name].start
    return NeuralModelFeature(line.options["path"], line.line, first, normalised, shares_unknown)
