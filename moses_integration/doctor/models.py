"""What is wrong with language models and phrase models, and which words they know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from moses_integration.doctor.findings import Finding, at
from moses_integration.doctor.words import TextWords
from moses_integration.ini.feature_kinds import LANGUAGE_MODEL_KINDS
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.language_model.back_off import open_ngrams
from moses_integration.language_model.kenlm.binary import is_kenlm_binary
from phrasescore.errors import InputError, PhrasescoreError
from phrasescore.runs.progress import Progress

# what Moses builds KenLM for, unless it is compiled with --max-kenlm-order
_USUAL_MAX_ORDER = 6


def language_model_findings(ini: MosesIni, references: list[TextWords]) -> Iterator[Finding]:
    """Read every language model of an ini whose format is known."""
    for line in ini.features:
        path = line.options.get("path", "")
        if line.kind not in LANGUAGE_MODEL_KINDS or not Path(path).is_file():
            continue
        try:
            if line.kind == "KENLM":
                yield from _model_findings(ini, line, path, references)
        except InputError as error:
            yield Finding.of(error, path)


def _model_findings(
    ini: MosesIni, line: FeatureLine, path: str, references: list[TextWords]
) -> Iterator[Finding]:
    what = f"reading {Path(path).name}"
    with open_ngrams(path) as model, Progress(what, unit="n-grams") as progress:
        # a binary was checked when it was opened; finding its n-grams may take minutes
        for block in () if is_kenlm_binary(path) else model.blocks():
            progress.advance(len(block.log10))
    order = len(model.counts)
    stated = line.options.get("order")
    if stated is not None and stated != str(order):
        yield Finding(
            "warning",
            f"order={stated}, but the model has order {order}, which is what counts",
            at(ini.path, line.line),
            "see whether this is the model that was meant",
        )
    if order > _USUAL_MAX_ORDER:
        yield Finding(
            "warning",
            f"a model of order {order}; Moses as it is usually built reads up to "
            f"{_USUAL_MAX_ORDER}",
            path,
            f"build Moses with --max-kenlm-order={order}",
        )
    if not model.has_unknown:
        yield Finding(
            "warning",
            "the model has no <unk>, so an unknown word costs ln p = -230",
            path,
            "estimate it with lmplz, or with open vocabulary (SRILM: ngram-count -unk)",
        )
    for word in (b"<s>", b"</s>"):
        if model.words.id_of(word) is None:
            yield Finding(
                "error",
                f"the model has no {word.decode()}, so it is not one of sentences",
                path,
                "estimate it from text with one sentence in a line",
            )
    for words in references:
        known = words.known_to(lambda word: model.words.id_of(word) is not None)
        owner = f"the language model {line.name}"
        yield from words.findings(known, owner, "it takes each of them for <unk>")


def phrase_model_findings(
    folders: Iterable[str], source: TextWords, references: list[TextWords]
) -> Iterator[Finding]:
    """Open every model folder, check it, and look the words up in its shortlists."""
    from phrasescore.model.folder import load_model
    from phrasescore.model.kinds import kind_named

    for folder in folders:
        try:
            model = load_model(folder)
        except PhrasescoreError as error:
            yield Finding.of(error, folder)
            continue
        read, predicted = model.source_vocabulary, model.target_vocabulary
        if model.direction == "target-source":
            read, predicted = predicted, read
        unknown = "it takes each of them for <unk>"
        if kind_named(model.model.settings.kind).reads_source:
            known = set(read.words[2:])
            yield from source.findings(source.known_to(known), f"the model {folder}", unknown)
        known = set(predicted.words[2:])
        for words in references:
            yield from words.findings(words.known_to(known), f"the model {folder}", unknown)
