"""The decoders that tuning can use, real Moses or the embedded one, and the check of the dev set.

The tables are filtered once for the dev set, into the work folder, with all their columns. The
search settings may differ from the settings in the system's moses.ini. Both decoders write n-best
lists in the same format. Before the first round the words of the dev set are compared with the
tables, because a dev set in another language, or tokenised differently, would waste the whole run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from moses_integration import real_moses
from moses_integration.doctor.examination import refuse_unusable
from moses_integration.doctor.findings import Diagnosis
from moses_integration.doctor.texts import MOST_UNKNOWN, OF_REFERENCE, Text, TextWords
from moses_integration.ini import model_files
from moses_integration.ini.edits import MARKS_OFF, refuse_in_moses, with_sections
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.tables.copying import INI_NAME, FilteredTable, filter_system, is_filterable
from phrasescore.errors import CorpusError
from phrasescore.runs.final_names import open_output
from phrasescore.runs.processes import usable_cores
from phrasescore.runs.progress import Progress, Say
from phrasescore.table.input_files import misaligned_files, open_input, read_lines
from phrasescore.table.phrase_table import BLANKS, PIPES, Side, phrase_tokens
from phrasescore.words.known_words import first_words
from tuning.loop.tuning_settings import TuningSettings

if TYPE_CHECKING:
    from moses_integration.decoder.decoder import Decoder
    from moses_integration.decoder.loaded_input import LoadedInput

FILTERED, SOURCE = "filtered", "source.txt"  # what `prepare` makes in the work folder
# side of the dev set -> what knows its words, and what happens to unknown words
_OWNERS: dict[Side, tuple[str, str]] = {
    "source": ("the phrase table", "they are copied as they are"),
    "target": OF_REFERENCE,
}


def read_source(settings: TuningSettings, count: int, say: Say) -> list[bytes]:
    """Read the text to translate, without blanks at the start and end of lines.

    Args:
        settings: The files of the texts.
        count: The number of lines of each translation.
        say: Prints what the user should know about the lines.

    Raises:
        CorpusError: All lines are empty, or source and references differ in length.
    """
    lines = [line.strip(BLANKS) for line in read_lines(settings.source)]
    if not any(lines):
        raise CorpusError("there is no text to translate", path=settings.source)
    if len(lines) != count:
        raise CorpusError(
            f"{len(lines):,} lines, but {count:,} in {settings.references[0]}",
            path=settings.source,
            remedy="each line of the source must be translated by the same line of the references",
        )
    if empty := sum(not line for line in lines):
        say(
            f"note: {empty} of {len(lines):,} lines of {settings.source} are empty; their "
            "translations are empty, too"
        )
    for reference in settings.references:
        if (warning := misaligned_files(settings.source, reference)) is not None:
            say(f"warning: {warning}")
    return lines


def prepare(
    settings: TuningSettings, ini: MosesIni, lines: Sequence[bytes], folder: Path
) -> tuple[NBestDecoder, list[FilteredTable]]:
    """Make a decoder for one system and one text.

    Args:
        settings: The decoder and the text to translate.
        ini: The system with the search settings; relative paths in it start at the current
            directory.
        lines: The text to translate.
        folder: Receives the text and the filtered system, unless it already has them.

    Returns:
        The decoder, and the tables that this call filtered; none if an earlier call filtered them.

    Raises:
        PhrasescoreError: Moses was not found, or the system or the text cannot be used.
    """
    binary = None
    if settings.decoder == "moses":
        refuse_in_moses(ini)
        ini = with_sections(ini, MARKS_OFF)
        binary = real_moses.find_moses(settings.moses)
    real_moses.check_input(lines, settings.source)
    sentences: list[tuple[bytes, ...]] = []
    if binary is None:
        # imported here because runs with real Moses do not need the embedded decoder
        from moses_integration.decoder.loading.source_phrases import parse_sentences

        sentences = parse_sentences(lines, settings.source)
    filtered_folder = folder / FILTERED
    for feature in filter(is_filterable, ini.features):
        # check before paths become absolute, so that an error shows the path as it was written
        model_files.find_model_file(feature.options["path"])
    refuse_unusable(ini, settings.decoder)
    placed = model_files.with_absolute_paths(ini, model_files.absolute_if_possible)
    filtered, tables = filter_system(placed, lines, filtered_folder)
    threads = settings.threads or usable_cores()
    if binary is None:
        return EmbeddedDecoder(filtered, sentences, threads), tables
    text = folder / SOURCE
    if not text.exists():
        real_moses.check_features(binary, filtered, filtered_folder / INI_NAME)
        real_moses.copy_text(lines, text)
    return real_moses.ExternalMoses(binary, filtered_folder / INI_NAME, text, threads), tables


@dataclass(frozen=True)
class EmbeddedDecoder:
    """The embedded decoder for one system and one text; loads both at the first decoding.

    Args:
        ini: The system.
        sentences: The words of each sentence.
        threads: The number of sentences decoded at a time.
        shows_phrases: Whether each line of a list shows the phrases of its candidate.
    """

    ini: MosesIni
    sentences: Sequence[Sequence[bytes]]
    threads: int = 1
    shows_phrases: bool = False

    @cached_property
    def _loaded(self) -> tuple[Decoder, LoadedInput]:
        from moses_integration.decoder.decoder import Decoder

        decoder = Decoder(self.ini)
        return decoder, decoder.load(self.sentences)

    def write_nbest(
        self, weights: Mapping[str, Sequence[float]], size: int, output: Path, log: Path
    ) -> None:
        """Translate the text and write the n-best list under its final name once it is complete.

        Only real Moses writes messages to ``log``.

        Raises:
            DecoderError: No sentence has a translation.
        """
        from moses_integration.decoder.output import nbest_lines
        from moses_integration.decoder.settings import NBestSettings, OutputSettings

        decoder, loaded = self._loaded
        complete = {**decoder.layout.read_weights(self.ini), **weights}
        decoded = decoder.decode(
            loaded, weights=complete, nbest=NBestSettings(size), threads=self.threads
        )
        lines, printed = 0, OutputSettings(include_segmentation_in_n_best=self.shows_phrases)
        with (
            open_output(output) as stream,
            Progress("decoding", len(self.sentences), "sentences") as progress,
        ):
            for sentence in decoded:
                stream.write(nbest_lines(sentence, printed, size))
                lines += len(sentence)
                progress.advance(1)
            if lines == 0:
                raise real_moses.DecoderError(
                    "no sentence has a translation", remedy="check the limits of the search"
                )


NBestDecoder: TypeAlias = EmbeddedDecoder | real_moses.ExternalMoses


def check_dev_set(
    ini: MosesIni, filtered: MosesIni, lines: Sequence[bytes], settings: TuningSettings, say: Say
) -> None:
    """Compare a dev set with the phrase tables, and print the doctor's warnings about it.

    Args:
        ini: The system.
        filtered: The same system, its tables filtered to the source text.
        lines: The text to translate.
        settings: The files of the texts.
        say: Prints a warning.

    Raises:
        CorpusError: The tables know less than half of the tokens of a text, which is spelt in
            another way, belongs to the other side, or is in another language.
    """
    if not (whole_tables := model_files.text_tables(ini)):
        return
    words_of: dict[Side, set[bytes]] = {"source": set(), "target": set()}
    for path in model_files.text_tables(filtered):
        with open_input(path) as stream:
            for line in stream:
                phrase, target = map(phrase_tokens, line.split(PIPES, 2)[:2])
                words_of["source"].update(phrase)
                words_of["target"].update(target)
    # filtering removes other spellings of a word; the first lines of the whole table may have them
    spellings = first_words(whole_tables[0])
    source = Text(settings.source, tuple(lines), ends_in_line_feed=True)
    for number, text in enumerate((source, *map(Text.read, settings.references))):
        side: Side = "target" if number else "source"
        known, other = _surfaces(words_of[side]), _surfaces(spellings[side])
        words, found = TextWords(text.tokens(), text.path), Diagnosis()
        opposite = _surfaces(spellings["source" if number else "target"]).__contains__
        words.check(found, known.__contains__, *_OWNERS[side], other.__contains__, opposite)
        few_known = words.unknown_share(known.__contains__) > MOST_UNKNOWN
        for each in found.findings:
            if few_known and each.severity == "error":
                raise CorpusError(each.what, path=each.where, remedy=each.remedy)
            if each.severity != "note":
                say(f"warning: {each.where}: {each.what}; {each.remedy}")


def _surfaces(tokens: Iterable[bytes]) -> set[bytes]:
    """Return the first factor of each token; the other factors are not compared."""
    return {token.split(b"|", 1)[0] or token for token in tokens}
