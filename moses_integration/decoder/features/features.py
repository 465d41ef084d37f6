"""The features of a moses.ini as typed objects, with their indexes in the feature vector.

The components of the vector are in the order of n-best lists (`feature_weights.FeatureLayout`).
Nothing in an ini is ignored: anything that the decoder does not support is an error that names the
line.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.reordering import ReorderingFeature, reordering_feature
from moses_integration.decoder.settings import DEFAULT_TABLE_LIMIT, SearchSettings
from moses_integration.ini.edits import factor_problems, neural_options
from moses_integration.ini.feature_kinds import COMMON_OPTIONS, FACTOR_OPTIONS, OPTIONS
from moses_integration.ini.feature_weights import FeatureLayout, boolean_option
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.ini.parameters import OUTPUT_SECTIONS, SHORT_NAMES
from moses_integration.ini.problems import decoding_steps, section_problems
from phrasescore.errors import IniError, counted, did_you_mean, located
from phrasescore.table.input_files import whole_number

Understood = TypeVar("Understood")

# the highest index of a decoding path; unknown words get the next index, which fits into int8
_MAX_PATHS = 126
_MAX_ENTRIES = 10**9
_SHOWN = 30
_LARGEST_WEIGHT = 1_000_000  # scores are summed up in single precision
# sections that this package reads, or that affect only messages
_READ = {"feature", "weight", "weight-add", "mapping"}
_READ |= {"threads", "verbose", "description", "no-cache"}
_READ |= {field.name.replace("_", "-") for field in fields(SearchSettings)}
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
        unknown: The index of the component that counts the words that the model does not know; -1
            for none.
    """

    unknown: int


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
        phrase_penalties: Each component that counts phrases, with the decoding path whose phrases
            it counts; ``None`` for all phrases.
        unknown_penalties: The component of each unknown-word penalty.
    """

    layout: FeatureLayout
    tables: tuple[PhraseTableFeature, ...]
    reorderings: tuple[ReorderingFeature, ...]
    language_models: tuple[LanguageModelFeature, ...]
    neural_models: tuple[NeuralModelFeature, ...]
    distortions: tuple[int, ...]
    word_penalties: tuple[int, ...]
    phrase_penalties: tuple[tuple[int, int | None], ...]
    unknown_penalties: tuple[int, ...]

    @classmethod
    def from_ini(cls, ini: MosesIni) -> FeatureSet:
        """Read the features of an ini.

        Raises:
            IniError: A section, class, option or value is unknown or invalid.
        """
        ini.refuse_old_style()
        _check_sections(ini)
        for line in ini.features:
            with located(ini.path, line.line):
                _check_feature(line)
        layout = FeatureLayout.from_ini(ini)
        layout.read_weights(ini)
        for name in layout.sparse_weights(ini):
            raise ini.error(
                f"the embedded decoder does not support sparse features, and {name} has a weight",
                line=ini.weight_line(name),
                remedy="delete the line, or decode with Moses",
            )

        def each(
            kind: str, understand: Callable[[FeatureLine, slice], Understood]
        ) -> tuple[Understood, ...]:
            found = []
            for line in ini.features:
                if line.kind == kind:
                    with located(ini.path, line.line):
                        found.append(understand(line, layout.slices[line.name]))
            return tuple(found)

        tables = each("PhraseDictionaryMemory", _table)
        paths = _mapped_tables(ini, len(tables))
        counts = each(
            "PhrasePenalty", lambda line, part: _phrase_counts(line, part, paths, len(tables))
        )
        return cls(
            layout=layout,
            tables=tuple(tables[number] for number in paths),
            reorderings=each("LexicalReordering", reordering_feature),
            language_models=each("KENLM", _language_model),
            neural_models=each("FeedForwardLM", _neural_model),
            distortions=each("Distortion", _component),
            word_penalties=each("WordPenalty", _component),
            phrase_penalties=tuple(itertools.chain.from_iterable(counts)),
            unknown_penalties=each("UnknownWordPenalty", _component),
        )

    def flat_weights(self, weights: Mapping[str, Sequence[float]]) -> NDArray[np.float64]:
        """Return weights in the order of the feature vector.

        Raises:
            IniError: The weights do not fit the features, or a weight is not finite or is too
                large.
        """
        for name, values in weights.items():
            if not all(isinstance(each, Real) and abs(each) <= _LARGEST_WEIGHT for each in values):
                raise IniError(
                    f"a weight of {name} is not a number from {-_LARGEST_WEIGHT:,} to "
                    f"{_LARGEST_WEIGHT:,}"
                )
        return self.layout.flatten(weights)


def _component(line: FeatureLine, part: slice, count: int = 1) -> int:
    """Return the first component; refuse a ``num-features`` other than ``count``."""
    if part.stop - part.start != count:
        raise IniError(
            f"num-features of {line.name} is {part.stop - part.start}, but the feature has "
            f"{counted(count, 'component')}",
            remedy="correct num-features, or delete it",
        )
    return part.start


def _phrase_counts(
    line: FeatureLine, part: slice, paths: list[int], tables: int
) -> list[tuple[int, int | None]]:
    """Return the components of a phrase penalty, as in `FeatureSet`."""
    if not boolean_option("per-phrase-table", line.options.get("per-phrase-table", "0")):
        return [(_component(line, part), None)]
    first = _component(line, part, tables)
    return [(first + number, path) for path, number in enumerate(paths)]


def _table(line: FeatureLine, part: slice) -> PhraseTableFeature:
    text = line.options.get("table-limit", str(DEFAULT_TABLE_LIMIT))
    limit = whole_number(text, _MAX_ENTRIES)
    if limit is None:
        raise IniError(
            f"table-limit of {line.name} is {text[:_SHOWN]!r}, expected a whole number up to "
            f"{_MAX_ENTRIES:,}"
        )
    size = part.stop - part.start
    return PhraseTableFeature(line.options["path"], line.line, part.start, size, limit)


def _language_model(line: FeatureLine, part: slice) -> LanguageModelFeature:
    unknown = part.start + 1 if part.stop - part.start == 2 else -1
    return LanguageModelFeature(line.options["path"], line.line, part.start, unknown)


def _neural_model(line: FeatureLine, part: slice) -> NeuralModelFeature:
    path, options = line.options["path"], neural_options(line)
    return NeuralModelFeature(path, line.line, part.start, *options)


def _mapped_tables(ini: MosesIni, tables: int) -> list[int]:
    """Return the indexes of the tables that decoding paths use, one table for each path."""
    if not tables:
        remedy = "add a line for PhraseDictionaryMemory to [feature]"
        raise ini.error("no phrase table", remedy=remedy)
    steps = decoding_steps(ini)
    paths = {path for path, _ in steps}
    if len(paths) < len(steps) or len(paths) > _MAX_PATHS + 1:
        raise ini.error(
            f"[mapping] has {len(steps)} tables on {len(paths)} decoding paths, and the embedded "
            f"decoder supports one table on each of up to {_MAX_PATHS + 1} paths",
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
