"""Decode a file: from command-line options to its translations, n-best lists and statistics."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from moses_integration.decoder.decoded_sentence import DecodedSentence
from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.loading.input_text import read_sentences
from moses_integration.decoder.loading.parsed_tables import default_folder
from moses_integration.decoder.output import (
    STATISTICS_HEADER,
    best_line,
    nbest_entries,
    statistics_line,
    unknown_line,
)
from moses_integration.decoder.settings import (
    NBestSettings,
    OutputSettings,
    RiskSettings,
    SearchSettings,
)
from moses_integration.ini.lines import parse_weights
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.nbest.format import format_entry
from moses_integration.nbest.minimum_bayes_risk import least_risk
from phrasescore.errors import IniError, SettingsError
from phrasescore.files import STANDARD_STREAM, open_output
from phrasescore.progress import Progress

# words that are loaded at once: the entries they need must fit into memory
_BATCH_WORDS = 500_000


@dataclass(frozen=True)
class DecodingTask:
    """What to decode, and where everything goes.

    Args:
        decoder: The decoder.
        input: The sentences.
        output: Where translations go; ``None`` for nowhere.
        output_settings: How they are printed.
        nbest: The n-best list that is wanted, if any.
        nbest_path: Where it goes.
        unknowns: Where unknown words go, if anywhere.
        statistics: Where statistics go, if anywhere.
        risk: How to choose translations by risk, if so.
        threads: How many sentences are searched at once.
        longest: Words of the longest sentence that is accepted.
    """

    decoder: Decoder
    input: str
    output: str | None
    output_settings: OutputSettings
    nbest: NBestSettings | None
    nbest_path: str | None
    unknowns: str | None
    statistics: str | None
    risk: RiskSettings | None
    threads: int
    longest: int

    @property
    def wanted(self) -> NBestSettings | None:
        """The list that the search has to make: for the n-best file, for the risk, or none."""
        if self.risk is None:
            return self.nbest
        if self.nbest is None:
            return NBestSettings(self.risk.size)
        return self.nbest._replace(size=max(self.nbest.size, self.risk.size))

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> DecodingTask:
        """Understand the options of the command line.

        Raises:
            IniError: The ini, or a weight, makes no sense.
            SettingsError: An option makes no sense, alone or together with another.
        """
        ini = MosesIni.read(options["ini"])
        decoder = make_decoder(ini, options)
        nbest = None
        if options["nbest"] is not None:
            nbest = NBestSettings(
                options["nbest_size"], options["distinct"], options["n_best_factor"]
            )
        # as in Moses: a list on standard output takes the place of the translations
        both = options["nbest"] == options["output"] == STANDARD_STREAM
        return cls(
            decoder=decoder,
            input=options["input_path"],
            output=None if both else options["output"],
            output_settings=OutputSettings(
                **{field.name: options[field.name] for field in fields(OutputSettings)}
            ),
            nbest=nbest,
            nbest_path=options["nbest"],
            unknowns=options["output_unknowns"],
            statistics=options["statistics"],
            risk=RiskSettings(options["mbr_size"], options["mbr_scale"])
            if options["minimum_bayes_risk"]
            else None,
            threads=options["threads"] or _threads_of(ini),
            longest=options["max_sentence_length"],
        )


def _threads_of(ini: MosesIni) -> int:
    values = ini.values("threads")
    if not values:
        return 1
    if not values[0].isdigit() or int(values[0]) < 1:
        raise IniError(
            f"[threads] is {values[0]!r}, expected a number of threads",
            path=ini.path,
            remedy="or give --threads",
        )
    return int(values[0])


def make_decoder(ini: MosesIni, options: Mapping[str, Any]) -> Decoder:
    """Make the decoder that command-line options describe.

    Args:
        ini: The ini.
        options: The options by name; those of the search that are ``None`` are left to the ini.
    """
    given = {
        field.name: options[field.name]
        for field in fields(SearchSettings)
        # not "in (None, False)": 0 is a value, and equals False
        if options.get(field.name) is not None and options[field.name] is not False
    }
    folder = options["cache_folder"]
    cache = None if options["no_cache"] else Path(folder) if folder else default_folder()
    return Decoder(
        ini,
        settings=SearchSettings.of(ini, given),
        weights=parse_weight_options(options["weights"]),
        table_limit=options.get("table_limit"),
        cache=cache,
    )


def parse_weight_options(texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Parse weights as they are given on the command line.

    Raises:
        SettingsError: One is not of the form ``Name= 0.3 0.2``.
    """
    weights = {}
    for text in texts:
        try:
            name, values = parse_weights(text)
        except IniError as error:
            raise SettingsError(f"--weight: {error.problem}", remedy=error.remedy) from None
        weights[name] = values
    return weights


@dataclass
class AskedInAll:
    """What neural language models were asked: words, and the distinct histories of sentences."""

    words: int = 0
    histories: int = 0


def decode_file(task: DecodingTask) -> AskedInAll:
    """Decode the input and write all that is asked for; files appear only when they are whole.

    Raises:
        InputError: The input, a table or a model cannot be used.
        SettingsError: A file cannot be written.
    """
    sentences = read_sentences(task.input, longest=task.longest)
    asked = AskedInAll()
    with contextlib.ExitStack() as stack:
        writers = _Writers(task, stack)
        progress = stack.enter_context(Progress("decoding", len(sentences), "sentences"))
        for decoded in _decoded(task, sentences):
            writers.write(decoded)
            asked.words += decoded.statistics.asked
            asked.histories += decoded.statistics.histories
            progress.advance(1)
    return asked


def _decoded(
    task: DecodingTask, sentences: Sequence[tuple[bytes, ...]]
) -> Iterator[DecodedSentence]:
    for first, batch in _batches(sentences):
        loaded = task.decoder.load(batch)
        for decoded in task.decoder.decode(loaded, nbest=task.wanted, threads=task.threads):
            yield replace(decoded, first=first)


def _batches(
    sentences: Sequence[tuple[bytes, ...]],
) -> Iterator[tuple[int, Sequence[tuple[bytes, ...]]]]:
    """Split an input where ``_BATCH_WORDS`` are reached; yield each part and where it begins."""
    first = words = 0
    for number, sentence in enumerate(sentences):
        if words >= _BATCH_WORDS:
            yield first, sentences[first:number]
            first, words = number, 0
        words += len(sentence)
    if first < len(sentences):
        yield first, sentences[first:]


class _Writers:
    """The files that decoding writes."""

    def __init__(self, task: DecodingTask, stack: contextlib.ExitStack) -> None:
        self._task = task
        self._output, self._nbest, self._unknowns, self._statistics = (
            None if path is None else stack.enter_context(open_output(path))
            for path in (task.output, task.nbest_path, task.unknowns, task.statistics)
        )
        if self._statistics is not None:
            self._statistics.write(STATISTICS_HEADER)

    def write(self, decoded: DecodedSentence) -> None:
        """Write what is wanted of one sentence."""
        task = self._task
        if self._output is not None:
            self._output.write(best_line(decoded, task.output_settings, self._best(decoded)))
            if task.output == STANDARD_STREAM:
                self._output.flush()
        if self._nbest is not None and task.nbest is not None:
            entries = nbest_entries(decoded, task.output_settings)
            for entry in itertools.islice(entries, task.nbest.size):
                self._nbest.write(format_entry(entry))
        if self._unknowns is not None:
            self._unknowns.write(unknown_line(decoded))
        if self._statistics is not None:
            self._statistics.write(statistics_line(decoded))

    def _best(self, decoded: DecodedSentence) -> int:
        risk = self._task.risk
        if risk is None or len(decoded) < 2:
            return 0
        shown = range(min(risk.size, len(decoded)))
        candidates = [b" ".join(decoded.words(number)) for number in shown]
        return least_risk(candidates, decoded.totals[: risk.size], risk.scale)
