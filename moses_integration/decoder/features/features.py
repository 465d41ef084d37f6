"""The features of a moses.ini as typed objects, with their indexes in the feature vector.

The components of the vector are in the order of n-best lists (`feature_weights.FeatureLayout`).
Nothing in an ini is ignored: anything that the decoder does not support is an error that names the
line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

from moses_integration.decoder.features.reordering import ReorderingFeature, reordering_feature
from moses_integration.decoder.settings import DEFAULT_TABLE_LIMIT, SearchSettings
from moses_integration.ini.edits import factor_problems, neural_options
from moses_integration.ini.feature_kinds import COMMON_OPTIONS, FACTOR_OPTIONS, OPTIONS
from moses_integration.ini.feature_weights import FeatureLayout, boolean_option
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.ini.parameters import OUTPUT_SECTIONS, SHORT_NAMES
from moses_integration.ini.problems import decoding_steps, section_problems
from phrasescore.errors import IniError, counted, did_you_mean
from phrasescore.table.input_files import whole_number

Understood = TypeVar("Understood")

# the highest index of a decoding path; unknown words get the next index, which fits into int8
_MAX_PATHS = 126
_MAX_ENTRIES = 10**9
_SHOWN = 30
# classes with one component; a PhrasePenalty may instead have one component for each table
_SINGLE = ("Distortion", "WordPenalty", "PhrasePenalty", "UnknownWordPenalty")
# sections that this package reads, or that affect only messages
_READ = frozenset(
    [
        "feature",
        "weight",
        "weight-add",
        "mapping",
        *(field.name.replace("_", "-") for field in fields(SearchSettings)),
        "threads",
        "verbose",
        "description",
        "no-cache",
    ]
)
# sections that are harmless if they have the default value
_DEFAULT_ONLY = {
    "input-factors": "0",
    "output-factors": "0",
    "inputtype": "0",
    "xml-input": "pass-through",
    "stack-diversity": "0",
    "early-discarding-threshold": "0",
    "translation-option-threshold": "0",
    "monotone-at-punctuation": "false",
    "early-distortion-cost": "false",
    "phrase-drop-allowed": "false",
    "disable-discarding": "false",
}


@dataclass(frozen=True)
class ModelFeature:
    """A feature whose values come from a file.

    Args:
        path: The path of the file.
        line: The line of the ini.
        first: The index of the feature's first component in the feature vector.
    """

    path: str
    line: int
    first: int


@dataclass(frozen=True)
class PhraseTableFeature(ModelFeature):
    """A phrase table.

    Args:
        scores: The number of scores of an entry.
        limit: The maximum number of entries of a source phrase; 0 for no limit.
    """

    scores: int
    limit: int


@dataclass(frozen=True)
class LanguageModelFeature(ModelFeature):
    """A language model.

    Args:
        counts_unknown: Whether a second component counts the words that the model does not know.
    """

    counts_unknown: bool


@dataclass(frozen=True)
class NeuralModelFeature(ModelFeature):
    """A neural language model, in a folder.

    Args:
        normalised: Whether scores are ln p; otherwise the normaliser ln Z is not subtracted.
        shares_unknown: Whether the words outside the shortlist share p(<unk>); otherwise each
            such word gets all of p(<unk>).
    """

    normalised: bool
    shares_unknown: bool


@dataclass(frozen=True)
class FeatureSet:
    """All features of a system.

    Args:
        layout: The order of the feature vector.
        tables: The phrase tables in use, in the order in which their options are looked up.
        reorderings: The lexicalised reordering models.
        language_models: The n-gram models.
        neural_models: The neural language models.
        distortions: The component of each distortion feature.
        word_penalties: The component of each word penalty.
        phrase_penalties: The component of each phrase penalty that counts all phrases.
        table_penalties: The first component of each phrase penalty with one component per table.
        unknown_penalties: The component of each unknown-word penalty.
        table_numbers: For each decoding path, the index of its phrase table in the ini.
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
        """Yield pairs: a component that counts a table's phrases, and the table's decoding path."""
        for first in self.table_penalties:
            for path, number in enumerate(self.table_numbers):
                yield first + number, path

    @classmethod
    def from_ini(cls, ini: MosesIni) -> FeatureSet:
        """Read the features of an ini.

        Raises:
            IniError: A section, class, option or value is unknown or invalid.
        """
        ini.refuse_old_style()
        _check_sections(ini)
        _each(ini, ini.features, _check_feature)
        layout = FeatureLayout.from_ini(ini)
        layout.read_weights(ini)
        for name in layout.sparse_weights(ini):
            raise IniError(
                f"the embedded decoder does not support sparse features, and {name} has a weight",
                path=ini.path,
                line=ini.weight_line(name),
                remedy="delete the line, or decode with Moses",
            )

        def of_kind(kind: str) -> list[FeatureLine]:
            return [line for line in ini.features if line.kind == kind]

        def components(kind: str, *, per_table: bool = False) -> tuple[int, ...]:
            lines = (line for line in of_kind(kind) if _is_per_table(line) == per_table)
            return tuple(slices[line.name].start for line in lines)

        slices, declared = layout.slices, of_kind("PhraseDictionaryMemory")
        _each(ini, ini.features, lambda line: _check_size(line, slices[line.name], len(declared)))
        numbers = _mapped_tables(ini, declared)
        mapped = [declared[number] for number in numbers]
        return cls(
            layout=layout,
            tables=_each(ini, mapped, lambda line: _table(line, slices[line.name])),
            reorderings=_each(
                ini,
                of_kind("LexicalReordering"),
                lambda line: reordering_feature(line, slices[line.name]),
            ),
            language_models=tuple(
                LanguageModelFeature(
                    line.options["path"], line.line, part.start, part.stop - part.start == 2
                )
                for line in of_kind("KENLM")
                for part in [slices[line.name]]
            ),
            neural_models=_each(
                ini,
                of_kind("FeedForwardLM"),
                lambda line: NeuralModelFeature(
                    line.options["path"], line.line, slices[line.name].start, *neural_options(line)
                ),
            ),
            distortions=components("Distortion"),
            word_penalties=components("WordPenalty"),
            phrase_penalties=components("PhrasePenalty"),
            table_penalties=components("PhrasePenalty", per_table=True),
            unknown_penalties=components("UnknownWordPenalty"),
            table_numbers=tuple(numbers),
        )


def _each(
    ini: MosesIni, lines: Sequence[FeatureLine], understand: Callable[[FeatureLine], Understood]
) -> tuple[Understood, ...]:
    """Convert each line; errors name the line."""
    found = []
    for line in lines:
        try:
            found.append(understand(line))
        except IniError as error:
            raise error.at(ini.path, line.line) from None
    return tuple(found)


def _check_size(line: FeatureLine, part: slice, tables: int) -> None:
    """Refuse a ``num-features`` that differs from the number of components of the class."""
    if line.kind not in _SINGLE:
        return
    expected = tables if line.kind == "PhrasePenalty" and _is_per_table(line) else 1
    if part.stop - part.start != expected:
        raise IniError(
            f"num-features of {line.name} is {part.stop - part.start}, but the feature has "
            f"{counted(expected, 'component')}",
            remedy="correct num-features, or delete it",
        )


def _is_per_table(line: FeatureLine) -> bool:
    return boolean_option("per-phrase-table", line.options.get("per-phrase-table", "0"))


def _table(line: FeatureLine, part: slice) -> PhraseTableFeature:
    text = line.options.get("table-limit", str(DEFAULT_TABLE_LIMIT))
    limit = whole_number(text, _MAX_ENTRIES)
    if limit is None:
        raise IniError(
            f"table-limit of {line.name} is {text[:_SHOWN]!r}, expected a whole number up to "
            f"{_MAX_ENTRIES:,}"
        )
    return PhraseTableFeature(
        line.options["path"], line.line, part.start, part.stop - part.start, limit
    )


def _mapped_tables(ini: MosesIni, declared: list[FeatureLine]) -> list[int]:
    """Return the indexes of the tables that decoding paths use, one table for each path."""
    if not declared:
        raise IniError(
            "no phrase table",
            path=ini.path,
            remedy="add a line for PhraseDictionaryMemory to [feature]",
        )
    steps = decoding_steps(ini)
    paths = {path for path, _ in steps}
    if len(paths) < len(steps) or len(paths) > _MAX_PATHS + 1:
        raise IniError(
            f"[mapping] has {len(steps)} tables on {len(paths)} decoding paths, and the embedded "
            f"decoder supports one table on each of up to {_MAX_PATHS + 1} paths",
            path=ini.path,
            remedy="give each table its own path, or decode with Moses",
        )
    return [number for _, number in steps]


def _check_sections(ini: MosesIni) -> None:
    """Refuse sections that Moses or this decoder does not have, and tables without factors.

    Raises:
        IniError: The ini has such a section or table; the error names the first one.
    """
    for severity, problem in section_problems(ini):
        if severity == "error":
            raise problem
    for problem in factor_problems(ini):
        raise problem
    for name in ini.sections:
        default = _DEFAULT_ONLY.get(name)
        if name in _READ or name in SHORT_NAMES or ini.values(name) == (default,):
            continue
        other = "" if default is None else f" other than {default}"
        raise ini.error(
            f"the embedded decoder does not know the section [{name}]{other}",
            line=ini.value_lines(name)[0][0],
            remedy="delete it (outputs have options), or decode with Moses"
            if name in OUTPUT_SECTIONS
            else "decode with Moses; without the section, translations may differ",
        )


def _check_feature(line: FeatureLine) -> None:
    """Refuse a feature class or an option that this decoder does not support."""
    if line.kind not in OPTIONS:
        raise IniError(
            f"the embedded decoder has no feature class {line.kind}"
            f"{did_you_mean(line.kind, OPTIONS)}",
            remedy="name the text table or ARPA file from which the model was made, remove the "
            "feature, or decode with Moses",
        )
    known = COMMON_OPTIONS | OPTIONS[line.kind]
    for key, value in line.options.items():
        if key not in known:
            raise IniError(
                f"the embedded decoder does not support the option {key} of {line.kind}"
                f"{did_you_mean(key, known)}",
                remedy="delete the option, or decode with Moses",
            )
        if key in (*FACTOR_OPTIONS, "factor") and value != "0":
            raise IniError(
                f"{line.name} uses factor {value}, but the embedded decoder supports only factor 0",
                remedy="decode with Moses",
            )
    if "path" in OPTIONS[line.kind] and not line.options.get("path"):
        raise IniError(f"{line.name} has no path", remedy="add path=FILE to the line")
