"""``phrasescore translate``: translate with models of sentences, without Moses's tables."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from phrasescore.commands.declarations import command, flag, option
from phrasescore.commands.numbers import BATCH, BEAM, WORDS
from phrasescore.commands.options import (
    Computing,
    LengthNormalisation,
    Result,
    model_folders,
    resumable,
)
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from phrasescore.generation.sentence_models import SentenceModels
    from phrasescore.generation.translator import Form, Translator


class TranslateOptions(LengthNormalisation, Computing, Result):
    """Options of ``translate``."""

    models: tuple[str, ...] = model_folders(
        "A model of sentences (train --kind search or encdec). Several translate together: each "
        "word has the arithmetic mean of the probabilities that they give it."
    )
    input: str = option(
        INPUT, "The text to translate.  [default: standard input]", "-i", default="-"
    )
    output: str = option(
        OUTPUT,
        "Translations; gzip if the name ends in .gz.  [default: standard output]",
        "-o",
        default="-",
    )
    beam: int = option(BEAM, "Hypotheses of a sentence to search with.", default=10)
    length_bounds: bool = flag(
        "The bounds of Bahdanau et al. (2014): at least half as many words as the sentence, and "
        "at most three times as many symbols, </s> counted on both sides."
    )
    max_length: int | None = option(
        WORDS,
        "Words at which a translation must end.  [default: three times the sentence's, at least "
        "10; with --length-bounds three times the sentence's and two more]",
    )
    no_unknown: bool = flag("Never write <unk>.")
    replace_unknown: bool = flag(
        "Write for each <unk> the source word that the model looks at most."
    )
    lexicon: str | None = option(
        INPUT,
        "With --replace-unknown: write that word's most probable translation by this lexical "
        "table, if it has one. Give lex.f2e of Moses's model folder or of phrasescore build, which "
        "has 'target source p' (for models that read the target side: lex.e2f).",
    )
    nbest: str | None = option(OUTPUT, "Also write an n-best list in Moses's format.")
    nbest_size: int | None = option(
        BEAM, "Translations of a sentence in the list, at most the beam.  [default: the beam]"
    )
    alignments: str | None = option(
        OUTPUT,
        "Also write, as JSON lines, how much the model looks at each source word for each word "
        "that it writes.",
    )
    max_sentence_length: int = option(WORDS, "Refuse lines with more words.", default=1000)
    batch_size: int | None = option(BATCH, "Sentences at a time.", metavar="SENTENCES")


@command("translate", TranslateOptions)
def translate(options: TranslateOptions) -> None:
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
    _check(options)
    from phrasescore.generation.sentence_models import load_sentence_models
    from phrasescore.generation.translator import translate_text

    options.use_threads()
    models = load_sentence_models(options.models)
    if options.alignments is not None:
        models.must_align("--alignments")
    translator, asked = _translator(options, models)
    outputs = _forms(options)
    click.echo(_direction(models), err=True)
    with resumable([options.input], [name for name, _ in outputs]):
        report = translate_text(
            options.input, outputs, translator, asked, options.max_sentence_length
        )
    click.echo(str(report), err=True)
    record = {**asked, "models": list(options.models), "direction": models.direction}
    options.show({**report.to_json(), "provenance": provenance(settings=record)})


def _translator(
    options: TranslateOptions, models: SentenceModels
) -> tuple[Translator, dict[str, Any]]:
    """Return what translates, and what of it decides the translations, as JSON values."""
    from phrasescore.generation.targets import BeamSettings, TargetSettings
    from phrasescore.generation.translator import Translator, lexicon_digest

    best = 1 if options.nbest is None else options.nbest_size or options.beam
    beam = BeamSettings(options.beam, best, options.length_normalisation)
    allowed = TargetSettings(options.max_length, not options.no_unknown, options.length_bounds)
    lexicon = _lexicon(options, models)
    translator = Translator(
        models,
        beam,
        allowed,
        lexicon=lexicon,
        aligns=options.alignments is not None,
        device=options.device,
        batch_size=options.batch_size,
    )
    numerics = {"device": str(translator.device), "batch_size": options.batch_size}
    return translator, {
        "beam": dataclasses.asdict(beam),
        "allowed": dataclasses.asdict(allowed),
        "lexicon": lexicon_digest(lexicon) if lexicon is not None else None,
        "models": [each.digest for each in models.loaded],
        "numerics": numerics,
        "outputs": {
            "nbest": options.nbest is not None,
            "alignments": options.alignments is not None,
        },
    }


def _check(options: TranslateOptions) -> None:
    """Raise for options that do not go together."""
    if options.nbest_size is not None and options.nbest is None:
        raise SettingsError(
            "--nbest-size is about the n-best list, and none is asked for",
            remedy="name one with --nbest FILE, or leave out --nbest-size",
        )
    if options.lexicon is not None and not options.replace_unknown:
        raise SettingsError(
            "--lexicon translates the words that stand for <unk>, and none are asked for",
            remedy="add --replace-unknown, or leave out --lexicon",
        )
    if options.no_unknown and options.replace_unknown:
        raise SettingsError(
            "--no-unknown leaves no <unk> that --replace-unknown could replace",
            remedy="leave out one of the two",
        )
    if options.lexicon == "-":
        raise SettingsError(
            "the lexicon cannot come from standard input",
            remedy="give --lexicon the name of a file",
        )


def _lexicon(options: TranslateOptions, models: SentenceModels) -> dict[bytes, bytes] | None:
    """Return the translations that replace unknown words, or ``None`` to leave these."""
    if not options.replace_unknown:
        return None
    from phrasescore.generation.translator import read_lexicon

    models.must_align("--replace-unknown")
    if options.lexicon is None:
        return {}
    sides = models.source_vocabulary.words, models.target_vocabulary.words
    read, written = map(frozenset, sides)
    return read_lexicon(options.lexicon, read, written, models.direction)


def _forms(options: TranslateOptions) -> list[tuple[str, Form]]:
    """Return each output with what it has of a line."""
    from moses_integration.nbest.format import nbest_lines
    from phrasescore.generation.translator import alignment_line, translation_line

    forms: list[tuple[str, Form]] = [(options.output, translation_line)]
    if options.nbest is not None:
        forms.append((options.nbest, nbest_lines))
    if options.alignments is not None:
        forms.append((options.alignments, alignment_line))
    return forms


def _direction(models: SentenceModels) -> str:
    sides = ["source", "target"]
    if models.direction == "target-source":
        sides.reverse()
    return f"translating from the {sides[0]} into the {sides[1]} language of the training"
