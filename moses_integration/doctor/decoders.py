"""Checks that each decoder, real Moses and the embedded one, can use a system."""

from __future__ import annotations

from pathlib import Path

from moses_integration.doctor.findings import Decoder, Diagnosis
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.problems import decoder_problems
from moses_integration.language_model.arpa import ArpaFile
from moses_integration.language_model.back_off import KenlmBinary, open_ngrams
from phrasescore.errors import IniError

_KENLM_ORDER = 6  # unless Moses is compiled with --max-kenlm-order


def check_embedded(found: Diagnosis, ini: MosesIni) -> None:
    """Report the first reason for which the embedded decoder cannot use what an ini says."""
    # imported here, because they load the compiled code of the decoder
    from moses_integration.decoder.features.features import FeatureSet
    from moses_integration.decoder.settings import SearchSettings

    with found.collecting(ini.path, "embedded error"):
        SearchSettings.from_ini(ini)
        for reordering in FeatureSet.from_ini(ini).reorderings:
            if find_binary_file(reordering.path, "LexicalReordering") is not None:
                find_model_file(reordering.path)  # the text table, which this decoder reads


def check_layout(found: Diagnosis, path: str, model: ArpaFile | KenlmBinary) -> None:
    """Report why KenLM, which is a part of real Moses, refuses a model that is read here."""
    if isinstance(model, ArpaFile) and model.loose_line is not None:
        what = "a blank where KenLM, and so real Moses, needs a tab or the end of the line"
        remedy = "write tabs around the n-gram, and no blanks or carriage returns at ends of lines"
        found.add("moses error", f"{path}:{model.loose_line}", what, remedy)
    if not 1 < (order := len(model.counts)) <= _KENLM_ORDER:
        what = f"a model of order {order}; KenLM, and so real Moses, reads orders 2 to 6"
        found.add("moses error", path, what, "estimate another model")


def refuse_unusable(ini: MosesIni, decoder: Decoder) -> None:
    """Refuse a system that a decoder cannot use, as far as the ini and its language models tell.

    Raises:
        IniError: The first reason.
    """
    found = Diagnosis()
    for severity, problem in decoder_problems(ini):
        found.add_error(problem, ini.path, severity)
    if decoder == "embedded":
        check_embedded(found, ini)
    for line in ini.features:
        path = line.options.get("path", "")
        if line.kind == "KENLM" and Path(path).is_file():
            # real Moses itself judges models that are not read here
            with found.collecting(path, "embedded error"), open_ngrams(path) as model:
                next(iter(model.blocks()))  # a wrong layout shows in the 1-grams
                check_layout(found, path, model)
    for error in found.errors(decoder):
        raise IniError(error.what, path=error.where, remedy=error.remedy)
