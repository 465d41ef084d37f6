"""What is wrong with neural language models that the embedded decoder asks, and what they know."""

from __future__ import annotations

from collections.abc import Iterator

from moses_integration.doctor.findings import Finding, Severity, at
from moses_integration.doctor.words import TextWords
from moses_integration.ini.language_model_feature import neural_options, own_features
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import IniError, PhrasescoreError
from phrasescore.model.folder import StoredWeights


def neural_model_findings(ini: MosesIni, references: list[TextWords]) -> Iterator[Finding]:
    """Open the folder of every neural language model of an ini, and look words up in it."""
    for line in own_features(ini):
        place = at(ini.path, line.line)
        yield Finding(
            "note",
            f"{line.name} is for the decoder of phrasescore; real Moses has no {line.kind}",
            place,
            f"for real Moses: phrasescore ini remove-feature {ini.path} {line.name}",
        )
        if "path" not in line.options:
            yield Finding(
                "error", f"{line.name} names no model", place, "write path=FOLDER into its line"
            )
            continue
        yield from _model_findings(ini, line, references)


def _model_findings(
    ini: MosesIni, line: FeatureLine, references: list[TextWords]
) -> Iterator[Finding]:
    # not at the top: it loads what the decoder compiles
    from moses_integration.language_model.fitness import is_self_normalised, table_words
    from moses_integration.language_model.neural.network import read_feed_forward_lm

    place = at(ini.path, line.line)
    try:
        normalised, _ = neural_options(line)
    except IniError as error:
        yield Finding.of(error, place)
        normalised = True
    try:
        stored = read_feed_forward_lm(line.options["path"])
    except PhrasescoreError as error:
        yield Finding.of(error, place)
        return
    if not normalised and not is_self_normalised(stored):
        yield Finding(
            "error",
            f"normalised=false, but the model of {line.name} was not trained with "
            "--self-normalise, so its scores without ln Z are no probabilities",
            place,
            "delete normalised=false, or train the model again with --self-normalise",
        )
    if normalised and is_self_normalised(stored):
        yield Finding(
            "note",
            f"the scores of {line.name} have ln Z in them, which its model was trained to do "
            "without; decoding is several times faster without",
            place,
            "write normalised=false into its line",
        )
    for words in table_words(ini, stored):
        if words.problem:
            severity: Severity = "error" if words.is_of_the_source else "warning"
            yield Finding(severity, words.problem, str(stored.path), words.remedy)
    yield from _reference_findings(line, stored, references)


def _reference_findings(
    line: FeatureLine, stored: StoredWeights, references: list[TextWords]
) -> Iterator[Finding]:
    known = set(stored.target_vocabulary.words[2:])
    for words in references:
        owner = f"the language model {line.name}"
        yield from words.findings(words.known_to(known), owner, "it takes each of them for <unk>")
