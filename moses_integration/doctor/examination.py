"""The examination of a complete system: every check runs, even if earlier checks found errors.

`refuse_unusable` runs only the checks that tell whether a decoder can use the system at all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from moses_integration.doctor.findings import Decoder, Diagnosis, place_of
from moses_integration.doctor.tables import check_binary_tables, check_text_tables
from moses_integration.doctor.texts import Knows, Text, TextWords, check_texts, check_writing
from moses_integration.ini.edits import START_WEIGHT, neural_options, own_features
from moses_integration.ini.feature_kinds import (
    LANGUAGE_MODEL_KINDS,
    OWN_KINDS,
    PHRASE_TABLE_KINDS,
    TEXT_TABLE_KINDS,
)
from moses_integration.ini.feature_weights import FeatureLayout, has_tuned_weights
from moses_integration.ini.model_files import (
    find_binary_file,
    find_model_file,
    named_paths,
    relative_paths,
)
from moses_integration.ini.moses_ini import MosesIni, format_weight
from moses_integration.ini.problems import Severity, decoder_problems, problems
from moses_integration.ini.rescoring_file import Rescoring
from moses_integration.language_model.arpa import ArpaFile
from moses_integration.language_model.back_off import KenlmBinary, is_kenlm_binary, open_ngrams
from moses_integration.real_moses import check_features
from phrasescore.errors import IniError, InputError
from phrasescore.runs.file_kinds import is_stream
from phrasescore.runs.progress import Progress
from phrasescore.table.phrase_table import SIDES, Side

# a weight below this share of the largest weight has no effect; for a constant feature, Moses's
# MERT returns weights near 1e-38
_NEGLIGIBLE = 1e-6
# for each group of feature classes: the severity and the effect if a system has none of them
_WANTED: tuple[tuple[Collection[str], Severity, str], ...] = (
    (PHRASE_TABLE_KINDS, "error", "no phrase table: there is nothing to translate with"),
    (
        LANGUAGE_MODEL_KINDS | OWN_KINDS,
        "warning",
        "no language model: nothing makes the translations fluent",
    ),
    (
        {"UnknownWordPenalty"},
        "moses error",
        "no UnknownWordPenalty: Moses crashes at the first unknown word",
    ),
    ({"WordPenalty"}, "warning", "no WordPenalty: tuning cannot adjust the length"),
)
_KENLM_ORDER = 6  # unless Moses is compiled with --max-kenlm-order
_UNTUNED = "tune all weights together: phrasescore tune"


def examine(
    ini: str,
    source: str | None = None,
    references: Sequence[str] = (),
    models: Sequence[str] = (),
    *,
    moses: Path | None = None,
) -> Diagnosis:
    """Check a system with everything that belongs to it.

    Args:
        ini: The path of the system's moses.ini.
        source: The text to translate.
        references: The reference translations of the source text.
        models: Folders of phrase models.
        moses: The binary of real Moses, to read the ini as well; ``None`` to skip this check.

    Raises:
        InputError: The ini or a text of the development set does not exist or cannot be read.
    """
    found = Diagnosis()
    severity: Severity = "error"
    try:
        system = MosesIni.read(ini)
        if system.old_style_sections:
            severity = "embedded error"
            found.warning(ini, "nothing else was checked in this old-style file", "convert it")
        system.refuse_old_style()
    except IniError as error:
        found.add_error(error, ini, severity)
        return found
    texts = [Text.read(path) for path in references]
    check_ini(found, system)
    words, lines = TextWords(), tuple[bytes, ...]()
    reference_words = [TextWords(text.tokens(), text.path) for text in texts]
    if source is None:
        found.note("development set", "none was given (--source), so no text was checked")
    else:
        text = Text.read(source)
        check_texts(found, text, texts, factored=len(system.values("input-factors")) > 1)
        words, lines = TextWords(text.tokens(), text.path), text.lines
        # build writes its text beside the table, which tuned inis also name
        tables = {path for line, _, path in named_paths(system) if line.kind in TEXT_TABLE_KINDS}
        with Progress("comparing with the training text", unit="texts") as progress:
            for side, compared in zip(SIDES, ([text], texts), strict=True):
                corpora = {Path(table).with_name(f"corpus.{side}.gz") for table in tables}
                for corpus in sorted(filter(Path.exists, corpora)):
                    check_writing(found, Text.read(corpus), compared)
                    progress.advance(1)
    check_text_tables(found, system, lines, words, reference_words)
    check_binary_tables(found, system)
    check_language_models(found, system, reference_words)
    check_neural_models(found, system, reference_words)
    with found.collecting(system.path):
        if (rescoring := Rescoring.read(system.base)) is not None:
            models = [*models, *map(str, rescoring.folders(Path(system.base)))]
            rescoring.flat_weights(FeatureLayout.from_ini(system), system.base)
    if models:
        check_phrase_models(found, models, words, reference_words)
    if moses is not None:
        check_moses(found, system, moses)
    return found


def check_ini(found: Diagnosis, ini: MosesIni) -> None:
    """Check everything in the ini, but not the content of the files that it names."""
    for severity, problem in problems(ini):
        found.add_error(problem, ini.path, severity)
    check_embedded(found, ini)
    with contextlib.suppress(IniError):  # `problems` reported the error above
        _check_weights(found, ini)
    limit = ini.values("distortion-limit")
    if not limit or limit[0].startswith("-"):
        found.warning(
            ini.path,
            "no distortion limit: phrases may move any distance, which is slow and usually worse",
            "write a section [distortion-limit] with the value 6",
        )
    relative = [path for _, path in relative_paths(ini)]
    if relative and not ini.base:
        found.warning(
            ini.path,
            "relative paths, which work only in the current directory; mert-moses.pl changes to "
            f"another directory: {', '.join(relative)}",
            f"write absolute paths: phrasescore ini absolute-paths {ini.path} -o FILE",
        )
    _check_files(found, ini)
    kinds = {line.kind for line in ini.features}
    for wanted, severity, what in _WANTED:
        if kinds.isdisjoint(wanted):
            remedy = "add its line to [feature], and its weight to [weight]"
            found.add(severity, ini.path, what, remedy)


def _check_weights(found: Diagnosis, ini: MosesIni) -> None:
    layout = FeatureLayout.from_ini(ini)
    weights = layout.read_weights(ini)
    tuned = {each.name: weights[each.name] for each in layout.features if any(each.tuneable)}
    sizes = sorted(abs(value) for values in tuned.values() for value in values)
    second = sizes[-2] if len(sizes) > 1 else 0.0
    if not any(sizes) or 0 < second < _NEGLIGIBLE * sizes[-1]:
        found.error(
            ini.path,
            f"at most one weight is above {format_weight(second)}, so an earlier tuning has "
            "failed: BLEU was 0, or a constant feature let MERT diverge",
            "start from the weights of training, and leave out constant features",
        )
        return
    for name, values in tuned.items():
        place = place_of(ini.path, ini.weight_line(name))
        if name not in ini.weights:
            remedy = f"write a line '{name}= ...' into [weight]"
            found.warning(place, f"no weights for {name}, so Moses takes 1 for each", remedy)
        elif not any(values):
            what = f"the weights of {name} are all zero, so the feature has no effect"
            found.warning(place, what, _UNTUNED)
        elif has_tuned_weights(ini) and _has_start_weight(ini.feature(name).kind, values):
            last = f"the last weight of {name} is {format_weight(values[-1])}, a start value"
            found.warning(place, f"{last}, while other weights are tuned", _UNTUNED)


def _has_start_weight(kind: str, values: Sequence[float]) -> bool:
    """Return whether an added score or neural language model was probably never tuned."""
    added = kind in OWN_KINDS or (kind in PHRASE_TABLE_KINDS and len(set(values[:-1])) > 1)
    return added and values[-1] in (0.0, START_WEIGHT)


def _check_files(found: Diagnosis, ini: MosesIni) -> None:
    """Report features that name a folder or a pipe, although they read a file."""
    for line, _, path in named_paths(ini):
        # other checks open model folders and binary tables
        if line.kind in OWN_KINDS | PHRASE_TABLE_KINDS - TEXT_TABLE_KINDS:
            continue
        with contextlib.suppress(InputError):  # `check_ini` reported the missing file
            file = find_model_file(path, line.kind)
            if is_stream(file) or file.is_dir():
                what = "a folder" if file.is_dir() else "a pipe or a device"
                found.error(
                    place_of(ini.path, line.line),
                    f"{path} is {what}, where {line.kind} needs a file",
                    "name a file; folders are for the classes ProbingPT and PhraseDictionaryOnDisk",
                )


def check_language_models(found: Diagnosis, ini: MosesIni, references: list[TextWords]) -> None:
    """Check every KENLM model of an ini, and look up the words of the references in it."""
    for name, path in _ngram_files(ini):
        with found.collecting(path):
            _check_ngrams(found, name, path, references)


def _ngram_files(ini: MosesIni) -> Iterator[tuple[str, str]]:
    """Yield the name and the file of each KENLM feature whose file exists."""
    for line in ini.features:
        path = line.options.get("path", "")
        if line.kind == "KENLM" and Path(path).is_file():
            yield line.name, path


def _check_ngrams(found: Diagnosis, name: str, path: str, references: list[TextWords]) -> None:
    what = f"reading {Path(path).name}"
    with open_ngrams(path) as model, Progress(what, unit="n-grams") as progress:
        # opening a binary checks it; its n-grams are not decoded, because this may take minutes
        for block in () if is_kenlm_binary(path) else model.blocks():
            progress.advance(len(block.log10))
    check_layout(found, path, model)
    if not model.has_unknown:
        what = "the model has no <unk>, so an unknown word costs ln p = -230"
        remedy = "estimate the model with lmplz, or with open vocabulary (SRILM: ngram-count -unk)"
        found.warning(path, what, remedy)
    if model.words.id_of(b"<s>") is None or model.words.id_of(b"</s>") is None:
        what = "the model has no <s> or no </s>, so it was not estimated from sentences"
        found.error(path, what, "estimate the model from text with one sentence per line")
    owner = f"the language model {name}"
    _check_words(found, references, lambda word: model.words.id_of(word) is not None, owner)


def _check_words(found: Diagnosis, texts: Iterable[TextWords], knows: Knows, owner: str) -> None:
    for words in texts:
        words.check(found, knows, owner)


def check_neural_models(found: Diagnosis, ini: MosesIni, references: list[TextWords]) -> None:
    """Open every neural language model of an ini, and look up the words of the references."""
    # imported here, because it loads the compiled code of the decoder
    from moses_integration.language_model.neural import read_for_ini, table_words

    for line in own_features(ini):
        place = place_of(ini.path, line.line)
        if "path" not in line.options:
            found.error(place, f"{line.name} names no model", "write path=FOLDER into its line")
            continue
        with found.collecting(place):
            normalised, _ = neural_options(line)
            stored = read_for_ini(line.options["path"], normalised=normalised)
            if normalised and stored.settings.is_self_normalised:
                found.note(
                    place,
                    f"{line.name} computes ln Z, though its model was trained with "
                    "--self-normalise; without ln Z decoding is several times faster",
                    "write normalised=false into its line",
                )
            for words in table_words(ini, stored):
                if words.problem:
                    severity: Severity = "error" if words.is_swapped else "warning"
                    found.add(severity, stored.path, words.problem, words.remedy)
            known = set(stored.target_vocabulary.words[2:])
            _check_words(found, references, known.__contains__, f"the language model {line.name}")


def check_phrase_models(
    found: Diagnosis, folders: Iterable[str], source: TextWords, references: list[TextWords]
) -> None:
    """Check every model folder, and look up the words of the texts in the model's vocabularies."""
    from phrasescore.model.folder import load_model

    for folder in folders:
        with found.collecting(folder):
            vocabularies = load_model(folder).sides
            texts: dict[Side, list[TextWords]] = {"source": [source], "target": references}
            for side, words in texts.items():
                if side in vocabularies:
                    _check_words(found, words, vocabularies[side].knows, f"the model {folder}")


def check_moses(found: Diagnosis, ini: MosesIni, binary: Path) -> None:
    """Let real Moses read the ini and its language models; this loads no phrase table."""
    with found.collecting(ini.path, "moses error"):
        check_features(binary, ini, ini.path)
        found.note(ini.path, "Moses reads the file and has the expected features")


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
    for _, path in _ngram_files(ini):
        # real Moses itself judges models that are not read here
        with found.collecting(path, "embedded error"), open_ngrams(path) as model:
            next(iter(model.blocks()))  # a wrong layout shows in the 1-grams
            check_layout(found, path, model)
    for error in found.errors(decoder):
        raise IniError(error.what, path=error.where, remedy=error.remedy)
