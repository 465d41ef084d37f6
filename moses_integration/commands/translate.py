"""``phrasescore translate``: translate with models of sentences, without Moses's tables."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import click

from phrasescore.commands.device_option import device_option
from phrasescore.commands.numbers import BATCH, BEAM, THREADS, WORDS
from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT
from phrasescore.errors import SettingsError
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from phrasescore.generation.sentence_models import SentenceModels
    from phrasescore.generation.targets import BeamSettings, TargetSettings
    from phrasescore.generation.translation import Form
    from phrasescore.generation.translator import Translator, UnknownWords

LONGEST_SENTENCE = 1000  # words, without --max-sentence-length


@click.command("translate")
@click.option(
    "--model",
    "folders",
    multiple=True,
    required=True,
    type=INPUT_FOLDER,
    metavar="FOLDER",
    help="A model of sentences (train --kind search or encdec). Several translate together: each "
    "word has the arithmetic mean of the probabilities that they give it.",
)
@click.option(
    "-i",
    "--input",
    "text",
    default="-",
    type=INPUT,
    metavar="FILE",
    help="The text to translate.  [default: standard input]",
)
@click.option(
    "-o",
    "--output",
    default="-",
    type=OUTPUT,
    metavar="FILE",
    help="Translations; gzip if the name ends in .gz.  [default: standard output]",
)
@click.option(
    "--beam",
    type=BEAM,
    default=10,
    show_default=True,
    metavar="N",
    help="Hypotheses of a sentence to search with.",
)
@click.option(
    "--length-normalisation",
    is_flag=True,
    help="Rank by ln p divided by the number of words, </s> counted.",
)
@click.option(
    "--length-bounds",
    is_flag=True,
    help="The bounds of Bahdanau et al. (2014): at least half as many words as the sentence, and "
    "at most three times as many symbols, </s> counted on both sides.",
)
@click.option(
    "--max-length",
    type=WORDS,
    metavar="N",
    help="Words at which a translation must end.  [default: three times the sentence's, at least "
    "10; with --length-bounds three times the sentence's and two more]",
)
@click.option("--no-unknown", is_flag=True, help="Never write <unk>.")
@click.option(
    "--replace-unknown",
    is_flag=True,
    help="Write for each <unk> the source word that the model looks at most.",
)
@click.option(
    "--lexicon",
    type=INPUT,
    metavar="FILE",
    help="With --replace-unknown: write that word's most probable translation by this lexical "
    "table, if it has one. Give lex.f2e of Moses's model folder or of phrasescore build, which has "
    "'target source p' (for models that read the target side: lex.e2f).",
)
@click.option(
    "--nbest", type=OUTPUT, metavar="FILE", help="Also write an n-best list in Moses's format."
)
@click.option(
    "--nbest-size",
    type=BEAM,
    metavar="N",
    help="Translations of a sentence in the list, at most the beam.  [default: the beam]",
)
@click.option(
    "--alignments",
    type=OUTPUT,
    metavar="FILE",
    help="Also write, as JSON lines, how much the model looks at each source word for each word "
    "that it writes.",
)
@click.option(
    "--max-sentence-length",
    type=WORDS,
    default=LONGEST_SENTENCE,
    show_default=True,
    metavar="N",
    help="Refuse lines with more words.",
)
@device_option
@click.option("--batch-size", type=BATCH, metavar="SENTENCES", help="Sentences at a time.")
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
@json_options
def translate(
    folders: tuple[str, ...],
    text: str,
    output: str,
    nbest: str | None,
    alignments: str | None,
    max_sentence_length: int,
    device: str,
    batch_size: int | None,
    threads: int | None,
    as_json: bool,
    json_file: str | None,
    **search: Any,
) -> None:
    """Translate sentences, one a line, with models that have learnt from sentences.

    The models are all there is: no phrase table, no language model (decode translates with a
    moses.ini). The text must be prepared like that of the training. An empty line stays empty. A
    model trained with --direction target-source translates the target language into the source
    language.

    In the n-best list AttentionModel0 is ln p of a translation, WordPenalty0 minus its words, and
    the total what the search ranked by. optimize and rerank read the list, and nbest adds features.

    All is computed in fp32. If it is interrupted, even by kill -9, the same command continues where
    it stopped.
    """
    settings = _search_settings(search, nbest is not None)
    outputs = [output, *(name for name in (nbest, alignments) if name is not None)]
    import torch

    from phrasescore.generation.sentence_models import load_sentence_models
    from phrasescore.generation.translation import TranslationWriter, translate_text
    from phrasescore.runs.file_kinds import can_be_read_again
    from phrasescore.runs.interruption import interruptible
    from phrasescore.runs.journal import keeps_work

    if threads is not None:
        torch.set_num_threads(threads)
    models = load_sentence_models(folders)
    if alignments is not None:
        models.must_align("--alignments")
    replacement = _replacement(search, models)
    aligns = alignments is not None
    translator, asked = _translator(models, settings, replacement, aligns, device, batch_size)
    asked["outputs"] = {"nbest": nbest is not None, "alignments": aligns}
    writer = TranslationWriter(translator, _forms(nbest, alignments))
    click.echo(_direction(models), err=True)
    keeps = can_be_read_again(text) and all(map(keeps_work, outputs))
    with interruptible(output) if keeps else contextlib.nullcontext():
        report = translate_text(
            text, outputs, writer, asked, factor=models.factor, longest=max_sentence_length
        )
    click.echo(str(report), err=True)
    record = {**asked, "models": list(folders), "direction": models.direction}
    result = {**report.to_json(), "provenance": provenance(settings=record)}
    print_result(result, as_json, json_file)


def _translator(
    models: SentenceModels,
    settings: tuple[BeamSettings, TargetSettings],
    replacement: UnknownWords | None,
    aligns: bool,
    device: str,
    batch_size: int | None,
) -> tuple[Translator, dict[str, Any]]:
    """Return what translates, and what of it decides the translations, as JSON values."""
    import dataclasses

    from phrasescore.generation.translator import Translator

    beam, allowed = settings
    how: dict[str, Any] = {"replacement": replacement, "aligns": aligns, "device": device}
    translator = Translator(models, beam, allowed, **how, batch_size=batch_size)
    asked = {
        "beam": dataclasses.asdict(beam),
        "allowed": dataclasses.asdict(allowed),
        "lexicon": replacement.digest if replacement is not None else None,
        "models": [each.digest for each in models.loaded],
        "numerics": {"device": str(translator.device), "batch_size": batch_size},
    }
    return translator, asked


def _search_settings(search: dict[str, Any], has_list: bool) -> tuple[BeamSettings, TargetSettings]:
    """Return how to search, and for what."""
    if search["nbest_size"] is not None and not has_list:
        raise SettingsError(
            "--nbest-size is about the n-best list, and none is asked for",
            remedy="name one with --nbest FILE, or leave out --nbest-size",
        )
    if search["lexicon"] is not None and not search["replace_unknown"]:
        raise SettingsError(
            "--lexicon translates the words that stand for <unk>, and none are asked for",
            remedy="add --replace-unknown, or leave out --lexicon",
        )
    if search["no_unknown"] and search["replace_unknown"]:
        raise SettingsError(
            "--no-unknown leaves no <unk> that --replace-unknown could replace",
            remedy="leave out one of the two",
        )
    if search["lexicon"] == "-":
        raise SettingsError(
            "the lexicon cannot come from standard input",
            remedy="give --lexicon the name of a file",
        )
    from phrasescore.generation.targets import BeamSettings, TargetSettings

    size = search["beam"]
    best = (search["nbest_size"] or size) if has_list else 1
    return (
        BeamSettings(size, best, search["length_normalisation"]),
        TargetSettings(search["max_length"], not search["no_unknown"], search["length_bounds"]),
    )


def _replacement(search: dict[str, Any], models: SentenceModels) -> UnknownWords | None:
    """Return what stands for unknown words, if something does."""
    if not search["replace_unknown"]:
        return None
    from phrasescore.generation.translator import UnknownWords, read_lexicon

    models.must_align("--replace-unknown")
    lexicon = search["lexicon"]
    if lexicon is None:
        return UnknownWords()
    sides = models.source_vocabulary.words, models.target_vocabulary.words
    read, written = map(frozenset, sides)
    return UnknownWords(read_lexicon(lexicon, read, written, models.direction))


def _forms(nbest: str | None, alignments: str | None) -> list[Form]:
    """Return what each output has of a line, in the order of the outputs."""
    from moses_integration.nbest.translation_lists import nbest_lines
    from phrasescore.generation.translation import alignment_line, translation_line

    forms: list[Form] = [translation_line]
    if nbest is not None:
        forms.append(nbest_lines)
    if alignments is not None:
        forms.append(alignment_line)
    return forms


def _direction(models: SentenceModels) -> str:
    sides = ["source", "target"]
    if models.direction == "target-source":
        sides.reverse()
    return f"translating from the {sides[0]} into the {sides[1]} language of the training"
