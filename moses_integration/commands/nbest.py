"""``phrasescore nbest``: add the scores of models to an n-best list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from phrasescore.commands.device_option import device_option
from phrasescore.commands.numbers import THREADS
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT
from phrasescore.errors import SettingsError, counted

if TYPE_CHECKING:
    from moses_integration.nbest.rescoring import NBestModel
    from phrasescore.model.kinds import Kind


@click.command("nbest")
@click.argument("nbest_list", type=INPUT, metavar="NBEST")
@click.option(
    "--model",
    "folders",
    multiple=True,
    required=True,
    type=INPUT_FOLDER,
    metavar="FOLDER",
    help="A model folder, of either direction; may be repeated, one feature each.",
)
@click.option(
    "--source",
    type=INPUT,
    metavar="FILE",
    help="The text that the list translates, as the decoder got it; needed by models that read it.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT,
    metavar="FILE",
    help="Where to write the list; gzip if the name ends in .gz; - is standard output.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="The name of the feature, one for each model.  [default: by kind: PhraseModel0, "
    "AttentionModel0, and so on]",
)
@click.option(
    "--table",
    type=INPUT,
    metavar="FILE",
    help="The system's phrase table: words it does not translate get 0, as in the decoder.",
)
@device_option
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
def nbest(
    nbest_list: str,
    folders: tuple[str, ...],
    source: str | None,
    output: str,
    names: tuple[str, ...],
    table: str | None,
    device: str,
    threads: int | None,
) -> None:
    """Add one feature for each model to NBEST, a list of any decoder.

    Models of sentences (search, encdec) give ln p of the whole translation, or, if they were
    trained with --direction target-source, of the source given the translation.

    Models of phrases give the sum of ln p of the phrase pairs that a candidate is made of. For
    them the list must say which these are: let the decoder make it with
    -include-segmentation-in-n-best.

    Totals, order and every other byte stay; phrasescore optimize then finds weights for all
    features, and phrasescore rerank chooses with them. If it is interrupted, even by kill -9, the
    same command continues where it stopped.
    """
    import contextlib

    from moses_integration.nbest.rescoring import read_table_words, rescore_nbest
    from phrasescore.model.device import choose_device
    from phrasescore.runs.file_kinds import can_be_read_again
    from phrasescore.runs.interruption import interruptible

    models = _load(folders, names, device, threads)
    words = read_table_words(table) if table is not None else None
    numerics = {"device": str(choose_device(device))}
    keeps = output != "-" and can_be_read_again(nbest_list)
    with interruptible(output) if keeps else contextlib.nullcontext():
        counts = rescore_nbest(nbest_list, source, output, models, words, numerics=numerics)
    click.echo(str(counts), err=True)


def _load(
    folders: tuple[str, ...], names: tuple[str, ...], device: str, threads: int | None
) -> list[NBestModel]:
    import torch

    from moses_integration.nbest.rescoring import NBestModel
    from phrasescore.model.folder import load_model
    from phrasescore.model.kinds import kind_named
    from phrasescore.scoring.model_loading import scoring_model
    from phrasescore.scoring.shared_scorer import SharedScorer

    if names and len(names) != len(folders):
        raise SettingsError(
            f"{counted(len(names), 'name')} for {counted(len(folders), 'model')}",
            remedy="give one --name for each",
        )
    if threads is not None:
        torch.set_num_threads(threads)
    loaded = [load_model(folder) for folder in folders]
    kinds = [kind_named(each.model.settings.kind) for each in loaded]
    return [
        NBestModel(
            name,
            scoring_model(folder, each, SharedScorer(each.model, device)),
            each.model.settings.factor,
            of_sentences=kind.of_sentences,
            reads_source=kind.reads_source,
        )
        for name, folder, each, kind in zip(
            names or _default_names(kinds), folders, loaded, kinds, strict=True
        )
    ]


def _default_names(kinds: Sequence[Kind]) -> list[str]:
    """Return the feature names of models, counted from 0 for each sort."""
    features = [kind.feature for kind in kinds]
    return [f"{name}{features[:at].count(name)}" for at, name in enumerate(features)]
