"""``phrasescore nbest``: add the scores of models or other programs to an n-best list."""

from __future__ import annotations

from phrasescore.commands.declarations import argument, command, option
from phrasescore.commands.options import Computing, model_folders, output_file, resumable, say
from phrasescore.commands.paths import INPUT, warn_of_raw_text
from phrasescore.errors import SettingsError, counted


class NBestOptions(Computing):
    """Options of ``nbest``."""

    nbest: str = argument(INPUT, "NBEST")
    models: tuple[str, ...] = model_folders(
        "The folder of a model of either direction; may be repeated: each model adds a feature.",
        required=False,
    )
    scores: tuple[str, ...] = option(
        INPUT,
        "A file from another program, plain or gzip, with one number for each candidate, in the "
        "order of the list; may be repeated: each file adds a feature.",
        many=True,
    )
    source: str | None = option(
        INPUT,
        "The text that the list translates, as the decoder read it, for models that read a source.",
    )
    output: str = output_file("the list")
    names: tuple[str, ...] = option(
        "NAME",
        "The name of a feature: one for each model, then one for each file of scores.  [default: "
        "by kind: PhraseModel0, AttentionModel0, Scores0, and so on]",
        "--name",
        many=True,
    )
    table: str | None = option(
        INPUT,
        "The decoder's phrase table: models of phrases give unknown words without an entry 0, as "
        "the decoder does.",
    )


@command("nbest", NBestOptions)
def nbest(options: NBestOptions) -> None:
    """Add one feature for each model and each file of scores to NBEST, any decoder's n-best list.

    Models of sentences (search, encdec) give ln p of the whole translation, or, if they were
    trained with --direction target-source, of the source given the translation.

    Models of phrases give the sum of ln p of the phrase pairs of a candidate. They need the
    segmentation into phrases: decode with --include-segmentation-in-n-best.

    With --scores, numbers from another program, such as a Transformer, COMET or a rule of your own,
    become a feature. If smaller numbers are better, tuning finds a negative weight.

    Totals, order and every other byte stay as they are. Next, find weights for all features with
    phrasescore optimize, and choose translations with phrasescore rerank. If the command is
    interrupted, even by kill -9, the same command continues where it stopped.
    """
    from moses_integration.ini.rescoring_file import names_by_kind
    from moses_integration.nbest import rescoring
    from phrasescore.table.text_blocks import read_numbers

    models_and_files = len(options.models) + len(options.scores)
    if not models_and_files:
        raise SettingsError("no model and no scores", remedy="give --model FOLDER or --scores FILE")
    if options.names and len(options.names) != models_and_files:
        things = counted(len(options.models), "model")
        if options.scores:
            things += f" and {counted(len(options.scores), 'file')} of scores"
        raise SettingsError(
            f"{counted(len(options.names), 'name')} for {things}", remedy="give one --name for each"
        )
    names = options.names or [
        *names_by_kind(options.models),
        *(f"Scores{at}" for at in range(len(options.scores))),
    ]
    numerics = {}
    if options.models:
        from phrasescore.model.device import choose_device

        options.use_threads()
        numerics = {"device": str(choose_device(options.device))}
    models = [
        rescoring.NBestModel.load(name, folder, options.device)
        for name, folder in zip(names, options.models, strict=False)
    ]
    scores = [
        rescoring.NBestScores(name, path, read_numbers(path))
        for name, path in zip(names[len(models) :], options.scores, strict=True)
    ]
    warn_of_raw_text(filter(None, [options.source]))
    words = rescoring.read_table_words(options.table) if options.table is not None else None
    with resumable([options.nbest, *options.scores], [options.output]):
        work = rescoring.NBestRescoring(options.nbest, options.source, models, words, scores)
        counts = work.write(options.output, numerics)
    say(str(counts))
