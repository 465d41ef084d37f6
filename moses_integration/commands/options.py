"""Options that several commands for Moses systems share."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from moses_integration.decoder.settings import LONGEST_SENTENCE, SearchSettings
from moses_integration.ini import edits, model_files
from moses_integration.ini.moses_ini import MosesIni, ini_of, parse_weights
from phrasescore.commands.declarations import Field, Options, argument, flag, option
from phrasescore.commands.options import WORDS
from phrasescore.commands.paths import INPUT, OUTPUT_FOLDER, PathName, Use, refuse_replaced_inputs
from phrasescore.errors import IniError, SettingsError

if TYPE_CHECKING:
    from moses_integration.decoder.decoder import Decoder


class _SystemName(PathName):
    """The name of a moses.ini, or of the folder of a system."""

    def convert(self, value: object, *context: Any) -> str:
        """Check the moses.ini of a folder as an input."""
        super().convert(ini_of(str(value)), *context)
        return str(value)


class _WeightsName(PathName):
    """The name of a file of weights, or of the folder of a system, for its moses.ini."""

    def convert(self, value: object, *context: Any) -> Any:
        """Return the moses.ini of a folder."""
        return super().convert(ini_of(str(value)), *context)


SYSTEM, WEIGHTS = _SystemName(Use.READ), _WeightsName(Use.READ)
INI: Field = argument(SYSTEM, "SYSTEM")


def read_ini(path: str) -> MosesIni:
    """Read the ini of a call, and refuse outputs that would replace a file that the ini names.

    Raises:
        IniError: The ini cannot be read.
        SettingsError: An output would replace a file of the system.
    """
    ini = MosesIni.read(path)
    refuse_replaced_inputs(model_files.files_read(ini))
    return ini


def section_value(text: str) -> tuple[str, str]:
    """Return a section of a moses.ini and its value from ``SECTION=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingsError(
            f"the setting {text!r} is not SECTION=VALUE", remedy="write e.g. search-algorithm=1"
        )
    return name, value


def named_command(text: str) -> tuple[str, str]:
    """Return the name of a feature and the command of its program from ``NAME=COMMAND``."""
    name, _, command = text.partition("=")
    if not (name and command.strip()):
        raise SettingsError(
            f"{text!r} is not NAME='COMMAND', which --scorer and --rescore-scorer take",
            remedy="write e.g. CT2='python3 ct2.py'",
        )
    return name, command


def sections(text: str) -> Field:
    """Declare ``--set SECTION=VALUE``."""
    return option(section_value, text, "--set", many=True, metavar="SECTION=VALUE")


class LoadingOptions(Options):
    """The input of a decoder, its settings and weights, and its cache of parsed tables."""

    input_path: str = option(
        INPUT, "The source text.  [default: standard input]", "-i", "--input", default="-"
    )
    weights: tuple[str, ...] = option(
        "'NAME= W W'", "Replace the weights of a feature; may be repeated.", "--weight", many=True
    )
    sections: tuple[tuple[str, str], ...] = sections(
        "Replace a section of the moses.ini for this call, e.g. stack=100; may be repeated."
    )
    cache_folder: str | None = option(
        OUTPUT_FOLDER, "The folder that caches parsed tables.  [default: in ~/.cache/phrasescore]"
    )
    no_cache: bool = flag("Keep no parsed tables on disk.")
    max_sentence_length: int = option(
        WORDS, "Refuse lines with more words.", default=LONGEST_SENTENCE
    )

    def system(self, path: str) -> MosesIni:
        """Read the ini, with the values of the options that have the names of its sections.

        Raises:
            IniError: The ini cannot be read.
            SettingsError: An output would replace a file of the system, or Moses has no such
                section.
        """
        options = vars(self)
        given = [
            (field.name.replace("_", "-"), str(options[field.name]))
            for field in fields(SearchSettings)
            # not "in (None, False)": 0 is a value, and equals False
            if options.get(field.name) is not None and options[field.name] is not False
        ]
        return edits.with_sections(read_ini(path), [*self.sections, *given])

    def decoder(self, ini: MosesIni, **more: Any) -> Decoder:
        """Make the decoder that the options and the ini describe; ``more`` are its arguments.

        Raises:
            IniError: The ini or a weight is invalid.
            SettingsError: An option is invalid, alone or together with another.
        """
        from moses_integration.decoder.decoder import Decoder
        from moses_integration.decoder.loading.table_loading import cache_folder

        return Decoder(
            ini,
            weights=dict(map(_weight, self.weights)),
            table_limit=vars(self).get("table_limit"),
            cache=None if self.no_cache else cache_folder(self.cache_folder),
            **more,
        )


def _weight(text: str) -> tuple[str, tuple[float, ...]]:
    try:
        return parse_weights(text)
    except IniError as error:
        raise SettingsError(f"--weight: {error.problem}", remedy=error.remedy) from None
