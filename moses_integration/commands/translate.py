"""``phrasescore translate``: translate with models of sentences, without a phrase table."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from phrasescore.commands.declarations import command, flag, option, output_to
from phrasescore.commands.options import (
    BATCH,
    BEAM,
    WORDS,
    Computing,
    LengthNormalisation,
    Result,
    model_folders,
    resumable,
    say,
)
from phrasescore.commands.paths import INPUT, OUTPUT, warn_of_raw_text
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from phrasescore.generation.sentence_models import SentenceModels
    from phrasescore.generation.translator import Form, Translator


class TranslateOptions(LengthNormalisation, Computing, Result):
    """Options of ``translate``."""

    models: tuple[str, ...] = model_folders(
        "A model of sentences (train --kind search or encdec). Several form an ensemble, which "
        "takes the arithmetic mean of the probabilities of each word."
    )
    input: str = option(
        INPUT, "The text to translate.  [default: standard input]", "-i", default="-"
    )
    output: str = output_to("Translations; gzip if the name ends in .gz.")
    beam: int = option(
        BEAM, "The number of hypotheses that the search keeps for each sentence.", default=10
    )
    length_bounds: bool = flag(
        "Bound the length of a translation as Bahdanau et al. (2014) do: at least half as many "
        "words as the sentence, and at most three times as many symbols, where the end of either "
        "sentence is one symbol."
    )
    max_length: int | None = option(
        WORDS,
        "The maximum number of words in a translation.  [default: 3n for a sentence of n "
        "words, but at least 10; with --length-bounds 3n + 2]",
    )
    no_unknown: bool = flag("Never write <unk>.", excludes=("replace_unknown",))
    replace_unknown: bool = flag("Replace <unk> with the source word that gets most attention.")
    nbest: str | None = option(OUTPUT, "Also write an n-best list in Moses's format.")
    nbest_size: int | None = option(
        BEAM,
        "The number of translations of a sentence in the list, at most (and by default) the beam.",
        needs=("nbest",),
    )
    alignments: str | None = option(
        OUTPUT,
        "Also write, as JSON lines, the attention that each word of the translation pays to each "
        "source word.",
    )
    max_sentence_length: int = option(WORDS, "Refuse lines with more words.", default=1000)
    batch_size: int | None = option(
        BATCH, "The number of sentences to translate at a time.", metavar="SENTENCES"
    )


@command("translate", TranslateOptions)
def translate(options: TranslateOptions) -> None:
    """Translate sentences, one per line, with models of sentences.

    The models translate alone, without a phrase table or language model (to translate with a
    moses.ini, use decode). The text must be prepared like the training text. An empty line stays
    empty. A model trained with --direction target-source translates the target language into the
    source language.

    In the n-best list, AttentionModel0 is ln p of a translation, WordPenalty0 is minus the number
    of its words, and the total is the score of the search. The commands optimize and rerank
    read the list, and the command nbest adds features to it.

    Everything is computed in fp32. If the command is interrupted, even by kill -9, the same command
    continues where it stopped.
    """
    from moses_integration.nbest.format import nbest_lines
    from phrasescore.generation.sentence_models import load_sentence_models
    from phrasescore.generation.translator import alignment_line, translate_text, translation_line

    options.use_threads()
    models = load_sentence_models(options.models)
    outputs: list[tuple[str, Form]] = [(options.output, translation_line)]
    if options.nbest is not None:
        outputs.append((options.nbest, nbest_lines))
    if options.alignments is not None:
        models.must_align("--alignments")
        outputs.append((options.alignments, alignment_line))
    if options.replace_unknown:
        models.must_align("--replace-unknown")
    translator, request = _translator(options, models)
    read, written = models.first.direction.split("-")
    say(f"translating from the {read} into the {written} language of the training data")
    warn_of_raw_text([options.input])
    with resumable([options.input], [name for name, _ in outputs]):
        report = translate_text(
            options.input, outputs, translator, request, options.max_sentence_length
        )
    say(str(report.counts))
    say(f"{report.seconds:,.1f} s, {report.per_second:,.1f} sentences/s")
    record = {**request, "models": list(options.models), "direction": models.first.direction}
    figures = {**report.to_json(), "mean_ln_p": report.counts.mean_ln_p}
    options.show({**figures, "provenance": provenance(settings=record)})


def _translator(
    options: TranslateOptions, models: SentenceModels
) -> tuple[Translator, dict[str, object]]:
    """Return the translator and, as JSON values, all settings that affect the translations."""
    from phrasescore.generation.targets import BeamSettings, TargetSettings
    from phrasescore.generation.translator import Translator

    best = 1 if options.nbest is None else options.nbest_size or options.beam
    beam = BeamSettings(options.beam, best, options.length_normalisation)
    allowed = TargetSettings(options.max_length, not options.no_unknown, options.length_bounds)
    translator = Translator(
        models,
        beam,
        allowed,
        copies=options.replace_unknown,
        aligns=options.alignments is not None,
        device=options.device,
        batch_size=options.batch_size,
    )
    return translator, {
        "beam": dataclasses.asdict(beam),
        "allowed": dataclasses.asdict(allowed),
        "replace_unknown": options.replace_unknown,
        "models": [each.digest for each in models.loaded],
        "numerics": {"device": str(translator.device), "batch_size": options.batch_size},
        "outputs": {name: vars(options)[name] is not None for name in ("nbest", "alignments")},
    }
