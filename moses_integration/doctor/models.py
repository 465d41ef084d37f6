"""Faults of language models and phrase models, and their coverage of the development set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from moses_integration.doctor.findings import Finding, Place, Severity
from moses_integration.doctor.words import Knows, TextWords
from moses_integration.ini.edits import neural_options, own_features
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.language_model.back_off import is_kenlm_binary, open_ngrams
from phrasescore.errors import IniError, InputError, PhrasescoreError
from phrasescore.runs.progress import Progress

# the highest order that Moses supports unless it is compiled with --max-kenlm-order
_USUAL_MAX_ORDER = 6


def language_model_findings(ini: MosesIni, references: list[TextWords]) -> Iterator[Finding]:
    """Read every language model of an ini whose format is known."""
    for line in ini.features:
        path = line.options.get("path", "")
        if line.kind == "KENLM" and Path(path).is_file():
            try:
                yield from _model_findings(ini, line, path, references)
            except InputError as error:
                yield Finding.from_error(error, path)


def _model_findings(
    ini: MosesIni, line: FeatureLine, path: str, references: list[TextWords]
) -> Iterator[Finding]:
    what = f"reading {Path(path).name}"
    with open_ngrams(path) as model, Progress(what, unit="n-grams") as progress:
        # opening a binary checks it already, and decoding its n-grams may take minutes
        for block in () if is_kenlm_binary(path) else model.blocks():
            progress.advance(len(block.log10))
    order = len(model.counts)
    stated = line.options.get("order")
    if stated is not None and stated != str(order):
        yield Place(ini.path, line.line).warning(
            f"order={stated}, but the model has order {order}; Moses uses the model's",
            "check that this is the right model",
        )
    if order > _USUAL_MAX_ORDER:
        yield Place(path).warning(
            f"a model of order {order}; a usual build of Moses reads up to order "
            f"{_USUAL_MAX_ORDER}",
            f"build Moses with --max-kenlm-order={order}",
        )
    if not model.has_unknown:
        yield Place(path).warning(
            "the model has no <unk>, so an unknown word costs ln p = -230",
            "estimate it with lmplz, or with open vocabulary (SRILM: ngram-count -unk)",
        )
    for word in (b"<s>", b"</s>"):
        if model.words.id_of(word) is None:
            yield Place(path).error(
                f"the model has no {word.decode()}, so it was not estimated from sentences",
                "estimate it from text with one sentence per line",
            )

    def knows(word: bytes) -> bool:
        return model.words.id_of(word) is not None

    yield from _word_findings(references, knows, f"the language model {line.name}")


def _word_findings(texts: Iterable[TextWords], knows: Knows, owner: str) -> Iterator[Finding]:
    """Check how many words of some texts a model knows."""
    for words in texts:
        yield from words.findings(knows, owner, "it treats each of them as <unk>")


def neural_model_findings(ini: MosesIni, references: list[TextWords]) -> Iterator[Finding]:
    """Open every neural language model of an ini, and look the words up in it."""
    for line in own_features(ini):
        place = Place(ini.path, line.line)
        yield place.note(
            f"{line.name} is for the decoder of phrasescore; real Moses has no {line.kind}",
            f"for real Moses: phrasescore ini remove-feature {ini.path} {line.name}",
        )
        if "path" not in line.options:
            yield place.error(f"{line.name} names no model", "write path=FOLDER into its line")
            continue
        yield from _neural_findings(ini, line, references)


def _neural_findings(
    ini: MosesIni, line: FeatureLine, references: list[TextWords]
) -> Iterator[Finding]:
    # imported here, because it loads the compiled code of the decoder
    from moses_integration.language_model.neural import (
        is_self_normalised,
        read_feed_forward_lm,
        table_words,
    )

    place = Place(ini.path, line.line)
    try:
        normalised, _ = neural_options(line)
    except IniError as error:
        yield Finding.from_error(error, place)
        normalised = True
    try:
        stored = read_feed_forward_lm(line.options["path"])
    except PhrasescoreError as error:
        yield Finding.from_error(error, place)
        return
    if not normalised and not is_self_normalised(stored):
        yield place.error(
            f"normalised=false, but the model of {line.name} was not trained with "
            "--self-normalise, so its scores without ln Z are not probabilities",
            "delete normalised=false, or train the model again with --self-normalise",
        )
    if normalised and is_self_normalised(stored):
        yield place.note(
            f"{line.name} computes ln Z, though its model was trained with --self-normalise and "
            "does not need it; decoding is several times faster without",
            "write normalised=false into its line",
        )
    for words in table_words(ini, stored):
        if words.problem:
            severity: Severity = "error" if words.is_of_the_source else "warning"
            yield Place(stored.path).finding(severity, words.problem, words.remedy)
    known = set(stored.target_vocabulary.words[2:])
    yield from _word_findings(references, known.__contains__, f"the language model {line.name}")


def phrase_model_findings(
    folders: Iterable[str], source: TextWords, references: list[TextWords]
) -> Iterator[Finding]:
    """Open and check every model folder, and look the words up in its shortlists."""
    from phrasescore.model.folder import load_model
    from phrasescore.model.kinds import kind_named

    for folder in folders:
        try:
            model = load_model(folder)
        except PhrasescoreError as error:
            yield Finding.from_error(error, folder)
            continue
        read, predicted = model.source_vocabulary, model.target_vocabulary
        if model.direction == "target-source":
            read, predicted = predicted, read
        owner = f"the model {folder}"
        if kind_named(model.model.settings.kind).reads_source:
            yield from _word_findings([source], set(read.words[2:]).__contains__, owner)
        yield from _word_findings(references, set(predicted.words[2:]).__contains__, owner)
