"""Settings of the decoder, with Moses's names and defaults; they may override an ini."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Annotated, Any, NamedTuple

from moses_integration.ini.moses_ini import MosesIni
from phrasescore.closed_settings import Between, check_bounds
from phrasescore.errors import IniError, SettingsError, visible
from phrasescore.table.input_files import finite_number

STACK_SEARCH, CUBE_PRUNING = 0, 1
DEFAULT_TABLE_LIMIT = 20
# A longer line means that the text lacks line breaks. Published dev sets have lines of over 300
# words (French-Fon of MAFAND-MT: 333).
LONGEST_SENTENCE = 1000
_MANY = 10**6
_UNLIMITED_FACTOR = 1000  # the factor that Moses uses if n-best-factor is 0


@dataclass(frozen=True)
class SearchSettings:
    """Options of the search. The names are those of Moses, with underscores for dashes.

    Args:
        search_algorithm: 0 for stack decoding, 1 for cube pruning.
        stack: The maximum number of hypotheses to expand per stack; 0 for no limit.
        beam_threshold: The minimum ratio of a hypothesis's probability to the highest probability
            in its stack; the search drops hypotheses below this ratio.
        distortion_limit: The maximum number of words between the end of one phrase and the start
            of the next; 0 for monotone translation, negative for no limit (the default, as in
            Moses).
        max_phrase_length: The maximum number of words in a source phrase.
        max_trans_opt_per_coverage: The maximum number of options of a span, over all tables; 0 for
            no limit.
        cube_pruning_pop_limit: The number of hypotheses that cube pruning pops for each stack.
        cube_pruning_diversity: The minimum number of hypotheses per coverage in a stack.
        drop_unknown: Drop unknown words without a digit instead of copying them.
    """

    # values near the upper bounds would make the search far too slow to be useful
    search_algorithm: Annotated[int, Between(STACK_SEARCH, CUBE_PRUNING)] = STACK_SEARCH
    stack: Annotated[int, Between(0, _MANY)] = 200
    beam_threshold: Annotated[float, Between(0, 1, below=True)] = 1e-5
    distortion_limit: Annotated[int, Between(-_MANY, _MANY)] = -1
    max_phrase_length: Annotated[int, Between(1, _MANY)] = 20
    max_trans_opt_per_coverage: Annotated[int, Between(0, _MANY)] = 5000
    cube_pruning_pop_limit: Annotated[int, Between(1, _MANY)] = 1000
    cube_pruning_diversity: Annotated[int, Between(0, _MANY)] = 0
    drop_unknown: bool = False

    def __post_init__(self) -> None:
        check_bounds(self)

    @property
    def beam_ln(self) -> float:
        """The beam threshold as a natural logarithm."""
        return math.log(self.beam_threshold) if self.beam_threshold > 0 else -math.inf

    @classmethod
    def from_ini(cls, ini: MosesIni) -> SearchSettings:
        """Take the settings from an ini.

        Raises:
            IniError: A value is not a number, or out of range.
        """
        values = {}
        try:
            for field in fields(cls):
                section = field.name.replace("_", "-")
                if given := ini.values(section):
                    values[field.name] = _parse(section, given[0], type(field.default))
            return cls(**values)
        except SettingsError as error:
            remedy = "correct the section, or decode with Moses"
            raise IniError(error.problem, path=ini.path, remedy=remedy) from None


_TRUE = ("1", "true", "yes", "y", "on")
_FALSE = ("0", "false", "no", "n", "off")


def _parse(section: str, text: str, kind: type) -> Any:
    if kind is bool and text.lower() in _TRUE + _FALSE:
        return text.lower() in _TRUE
    number = finite_number(text)
    if kind is float and number is not None:
        return number
    if kind is int and number is not None and text.lstrip("+-").isdigit():
        return int(number)
    wanted = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
    raise SettingsError(f"[{section}] is {visible(text.encode(), 30)!r}, expected {wanted}")


class NBestSettings(NamedTuple):
    """Settings of an n-best list.

    Attributes:
        size: The maximum number of derivations.
        distinct: Whether all derivations must have different words.
        factor: The maximum number of derivations to examine for each entry of a distinct list; 0
            for a thousand.
    """

    size: int = 100
    distinct: bool = True
    factor: int = 20

    @property
    def pops(self) -> int:
        """The maximum number of derivations to examine."""
        if not self.distinct:
            return self.size
        return self.size * (self.factor or _UNLIMITED_FACTOR)


@dataclass(frozen=True)
class OutputSettings:
    """Contents of the outputs, with the names of Moses's switches.

    Args:
        report_segmentation: Print the source span after each phrase (``|0-1|``), in n-best lists
            too.
        print_alignment_info: Print word links after the translation.
        output_hypo_score: Print the model score before the translation.
        include_segmentation_in_n_best: Print a segmentation column in n-best lists.
        print_alignment_info_in_n_best: Print a word alignment column in n-best lists.
    """

    report_segmentation: bool = False
    print_alignment_info: bool = False
    output_hypo_score: bool = False
    include_segmentation_in_n_best: bool = False
    print_alignment_info_in_n_best: bool = False
