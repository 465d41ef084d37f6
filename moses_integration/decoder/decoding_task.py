"""What ``phrasescore decode`` is asked for: from command-line options to a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.loading.parsed_tables import cache_folder
from moses_integration.decoder.settings import (
    NBestSettings,
    OutputSettings,
    RiskSettings,
    SearchSettings,
)
from moses_integration.ini.moses_ini import MosesIni, parse_weights
from phrasescore.errors import IniError, SettingsError
from phrasescore.runs.file_kinds import STANDARD_STREAM


@dataclass(frozen=True)
class DecodingTask:
    """What to decode, and where everything goes.

    Args:
        ini: What decides models and weights.
        decoder: The decoder.
        weights: Replaces weights of the ini, by feature.
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

    ini: MosesIni
    decoder: Decoder
    weights: Mapping[str, Sequence[float]]
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
            ini=ini,
            decoder=decoder,
            weights=parse_weight_options(options["weights"]),
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
    cache = None if options["no_cache"] else cache_folder(options["cache_folder"])
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
