"""``phrasescore ini``: add new columns and language models to a moses.ini, or remove features."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import click

from moses_integration.commands.options import INI, read_ini
from moses_integration.ini import edits, model_files
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.commands.declarations import Options, argument, command, flag, option
from phrasescore.commands.options import say
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT, OUTPUT_FOLDER
from phrasescore.errors import InputError, SettingsError, counted
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.stream import keeps_work

_LINES_COMPARED = 1000  # lines of each table


class NewIniOptions(Options):
    """Options of commands that write a new ini."""

    ini: str = INI
    output: str = option(
        OUTPUT, "Where to write the new ini; - is standard output.", "-o", required=True
    )

    def read(self) -> MosesIni:
        """Return the given ini, its paths by Moses's rule, which holds for the new ini."""
        return model_files.with_absolute_paths(read_ini(self.ini), str)

    def write(self, after: MosesIni, *said: str, warnings: Iterable[object] = ()) -> None:
        """Write the new ini; report the edits, the warnings, and the problems of the new ini."""
        from moses_integration.ini.problems import problems
        from moses_integration.text.preparation import carry_settings

        if keeps_work(self.output):
            carry_settings(self.ini, Path(self.output).parent)
        write_atomically(self.output, after.to_bytes())
        for line in said:
            say(line)
        if self.output != STANDARD_STREAM:
            after = dataclasses.replace(after, path=self.output)
        for warning in (*warnings, *(problem for _, problem in problems(after))):
            say(f"warning: {warning}")


class RemoveFeatureOptions(NewIniOptions):
    """Options of ``ini remove-feature``."""

    ini: str = INI
    name: str = argument(click.STRING, "NAME")


class NewFeatureOptions(NewIniOptions):
    """Options of commands that add features or scores to an ini."""

    absolute_paths: bool = flag("Make all paths absolute, so that the ini works from every folder.")

    def placed(self, ini: MosesIni) -> MosesIni:
        """Return the ini, with absolute paths if requested."""
        return model_files.with_absolute_paths(ini) if self.absolute_paths else ini

    def advice(self, before: MosesIni) -> str:
        """Return the advice to tune all weights, and the reason."""
        effect = "the new weight is a guess"
        if not edits.start_weight_for(before):
            effect = "until then the new weight is 0"
        name = "this ini" if self.output == STANDARD_STREAM else self.output
        return f"now tune all weights of {name} together (phrasescore tune): {effect}"


class AddColumnOptions(NewFeatureOptions):
    """Options of ``ini add-column``."""

    table: str = option(
        INPUT, "The rescored phrase table; its path is written as given.", required=True
    )
    reordering: str | None = option(
        INPUT,
        "Also replace the reordering table, e.g. with the file from generate --reordering-output.",
    )
    feature: str | None = option(
        "NAME", "The phrase table to replace if there are several, e.g. TranslationModel0."
    )


class AddLanguageModelOptions(NewFeatureOptions):
    """Options of ``ini add-language-model``."""

    model: str = option(
        INPUT_FOLDER,
        "A model of kind feed-forward-lm, or an n-gram model: an ARPA file or a KenLM binary. Its "
        "path is written as given.",
        metavar="FOLDER|FILE",
        required=True,
    )
    name: str | None = option(
        "NAME",
        "The name of the feature in weights and n-best lists.  [default: NeuralLM, or LM for an "
        "n-gram model, and the next free number]",
    )
    normalised: bool | None = flag(
        "For a feed-forward-lm: whether scores are ln p, or omit ln Z, which is several times "
        "faster.  [default: unnormalised if the model was trained with --self-normalise]",
        "--normalised/--unnormalised",
    )


@click.group("ini")
def ini() -> None:
    """Add a rescored phrase table or a language model to a moses.ini, or pack a whole system.

    Relative paths in an ini start at the current directory, as in Moses. If the folder of the
    system is named instead of the ini, they start in this folder.
    """


@command("add-column", AddColumnOptions, short_help="Use a phrase table with more scores.")
def add_column(options: AddColumnOptions) -> None:
    """Write a copy of SYSTEM's moses.ini with a new phrase table, and a weight for each new score.

    The weight is 0.2, or, if the other weights are tuned, 0, which leaves translations as they are.
    --reordering replaces the reordering table, too; both tables must have the same pairs.

    The command first checks the scores of the whole table. Every other byte of the ini stays as it
    is.
    """
    from moses_integration.doctor.tables import survey_scores

    table, reordering = options.table, options.reordering
    edits.check_table_path(table)
    before = options.read()
    place = edits.find_table_feature(before, options.feature)
    survey = survey_scores(table)
    after, summary = edits.with_table(before, place, table, survey.scores)
    pairs, scores = counted(survey.lines, "phrase pair"), counted(survey.scores, "score")
    said = [f"{table}: {pairs} with {scores}", summary]
    if reordering is not None:
        after = edits.with_reordering(after, reordering)
        said.append(f"reordering table: {reordering}")
    if after.weights != before.weights:
        said.append(options.advice(before))
    warnings = [*survey.warnings(), *_score_warnings(place, table, survey.lines)]
    options.write(options.placed(after), *said, warnings=warnings)


def _score_warnings(feature: FeatureLine, new: str, pairs: int) -> Iterator[str]:
    """Warn of fewer pairs, and if under half at both tables' starts have equal first scores."""
    from moses_integration.doctor.tables import survey_scores
    from phrasescore.table.input_files import finite_number, open_input
    from phrasescore.table.phrase_table import PIPES

    old = model_files.find_text_table(feature)
    if old is None or not Path(new).is_file():  # a pipe could not be read again
        return
    with contextlib.suppress(InputError):  # the table that is replaced may be damaged
        if pairs < (before := survey_scores(old).lines):
            yield f"{new} has only {pairs:,} of the {before:,} phrase pairs of {old}"
    scores = list[dict[tuple[bytes, ...], list[bytes]]]()
    for path in (old, new):
        with contextlib.suppress(InputError), open_input(path) as stream:
            rows = [line.split(PIPES) for line in itertools.islice(stream, _LINES_COMPARED)]
            whole = [row for row in rows if len(row) > 2 and row[2].strip()]
            scores.append({tuple(row[:2]): row[2].split() for row in whole})
    if len(scores) < 2:
        return
    both = scores[0].keys() & scores[1].keys()
    # the last score may be that of another model; score and generate keep the first
    firsts = [[finite_number(rows[pair][0]) for pair in both] for rows in scores]
    equal = sum(map(operator.eq, *firsts))
    if equal < len(both) / 2:  # a few scores, such as 0.2, agree by chance
        yield (
            f"only {equal} of {len(both)} phrase pairs have the same first score in {new} and "
            f"{old}: is {new} a table of another kind, or of another system?"
        )


@command("add-language-model", AddLanguageModelOptions, short_help="Add a language model.")
def add_language_model(options: AddLanguageModelOptions) -> None:
    """Write a copy of SYSTEM's moses.ini with a language model that scores while decoding.

    Its weight is 0.2, or, if the other weights are tuned, 0, which leaves translations as they are.
    The command first checks the model. If it is neural, decode, tune and force-score of phrasescore
    can read the new ini, but real Moses refuses it until remove-feature has removed the feature.
    Every other byte of the ini stays as it is.
    """
    before = options.read()
    is_file = Path(options.model).is_file()
    new = _ngram_model(options) if is_file else _neural_model(options, before)
    after, summary = edits.with_language_model(before, new.kind, options.name, new.options)
    said = [f"{options.model}: {new.description}", summary, options.advice(before)]
    options.write(options.placed(after), *said, warnings=new.warnings)


class _NewModel(NamedTuple):
    """The class and the options of a new feature, a description, and warnings."""

    kind: str
    options: Mapping[str, str]
    description: str
    warnings: tuple[str, ...] = ()


def _neural_model(options: AddLanguageModelOptions, before: MosesIni) -> _NewModel:
    from moses_integration.ini.feature_kinds import FEED_FORWARD_LM
    from moses_integration.language_model.neural import checked_words, read_for_ini
    from phrasescore.model.folder import load_outside

    model, normalised = options.model, options.normalised
    stored = read_for_ini(model, normalised=normalised is not False)
    written = {"path": model.rstrip("/") or model}
    description = f"a model that knows {counted(len(stored.target_vocabulary) - 2, 'word')}"
    self_normalised = stored.settings.is_self_normalised
    if normalised is None and self_normalised:
        description += (
            ", trained with --self-normalise, so its scores omit ln Z, which is several times "
            "faster; --normalised uses ln p"
        )
    if not normalised and self_normalised:
        written["normalised"] = "false"
    if load_outside(model):  # training saw words outside the shortlist
        written["unknown"] = "share"
    return _NewModel(FEED_FORWARD_LM, written, description, checked_words(before, stored))


def _ngram_model(options: AddLanguageModelOptions) -> _NewModel:
    from moses_integration.language_model.back_off import read_language_model

    if options.normalised is not None:
        raise SettingsError(
            "--normalised and --unnormalised are for models of kind feed-forward-lm, and this is a "
            "file, so an n-gram model",
            path=options.model,
            remedy="leave these options out, or name the folder of a model",
        )
    model = read_language_model(options.model)
    written = {"factor": "0", "path": options.model, "order": str(model.order)}
    words = counted(len(model.words), "word")
    return _NewModel("KENLM", written, f"n-grams of up to {model.order} words, of {words}")


@command("remove-feature", RemoveFeatureOptions, short_help="Remove a feature and its weights.")
def remove_feature(options: RemoveFeatureOptions) -> None:
    """Write a copy of SYSTEM's moses.ini without the feature NAME and its weights.

    Every other byte of the ini stays as it is. Real Moses can read the ini once no neural language
    model is left in it.
    """
    name = options.name
    before = options.read()
    after = edits.without_feature(before, name)
    kind = before.feature(name).kind
    options.write(after, f"removed the feature {name} ({kind}) and its weights")


@command("absolute-paths", NewIniOptions, short_help="Make all paths of the ini absolute.")
def absolute_paths(options: NewIniOptions) -> None:
    """Write a copy of SYSTEM's moses.ini with absolute paths, so that it works from every folder.

    Relative paths start at the current directory, as in Moses, and must exist. Every other byte of
    the ini stays as it is.
    """
    before = options.read()
    before.refuse_old_style()
    relative = model_files.relative_paths(before)
    for line, named in relative:
        model_files.find_model_file(named, line.kind)
    made = f"{counted(len(relative), 'path')} made absolute"
    options.write(model_files.with_absolute_paths(before), made)


class PackOptions(Options):
    """Options of ``ini pack``."""

    ini: str = INI
    output: str = argument(OUTPUT_FOLDER, "FOLDER")


@command("pack", PackOptions, short_help="Copy a system with all its files into one folder.")
def pack(options: PackOptions) -> None:
    """Copy everything that SYSTEM reads into the new FOLDER, a system that works wherever it is.

    Copied are the tables, language models and neural models that the ini names, text.json with its
    models, and, if SYSTEM is a folder, rescoring.json with its models. All paths in FOLDER are
    relative to it: name the folder itself in commands. If you do not know the system, read the
    printed list before you hand FOLDER on, because an ini can name any file.
    """
    from moses_integration.tables.copying import pack_system

    for name, original in pack_system(read_ini(options.ini), Path(options.output)).items():
        say(f"{name}: {original}")


for each in (add_column, add_language_model, absolute_paths, remove_feature, pack):
    ini.add_command(each)
