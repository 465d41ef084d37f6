"""``phrasescore nbest``: add the scores of phrase models to an n-best list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from phrasescore.errors import SettingsError, counted

if TYPE_CHECKING:
    from moses_integration.nbest.rescoring import NBestModel

Device = Literal["auto", "cpu", "cuda"]


@click.command("nbest")
@click.argument("nbest_list", metavar="NBEST")
@click.option(
    "--model",
    "folders",
    multiple=True,
    required=True,
    metavar="FOLDER",
    help="A model folder, of either direction; may be repeated, one feature each.",
)
@click.option(
    "--source",
    required=True,
    metavar="FILE",
    help="The text that the list translates, as the decoder got it.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Where to write the list; gzip if the name ends in .gz; - is standard output.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="The name of the feature, one for each model.  [default: PhraseModel0, PhraseModel1]",
)
@click.option(
    "--table",
    metavar="FILE",
    help="The system's phrase table: words it does not translate get 0, as in the decoder.",
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="CPU threads.")
def nbest(
    nbest_list: str,
    folders: tuple[str, ...],
    source: str,
    output: str,
    names: tuple[str, ...],
    table: str | None,
    device: Device,
    threads: int | None,
) -> None:
    """Add one feature for each model to NBEST: the sum of ln p of a candidate's phrase pairs.

    The list must say which phrases its candidates are made of: let the decoder make it with
    -include-segmentation-in-n-best. Totals, order and every other byte stay; phrasescore optimize
    then finds weights for all features.
    """
    from moses_integration.nbest.rescoring import read_table_words, rescore_nbest

    models = _load(folders, names, device, threads)
    words = read_table_words(table) if table is not None else None
    report = rescore_nbest(nbest_list, source, output, models, words)
    click.echo(str(report), err=True)


def _load(
    folders: tuple[str, ...], names: tuple[str, ...], device: Device, threads: int | None
) -> list[NBestModel]:
    import torch

    from moses_integration.nbest.rescoring import NBestModel
    from phrasescore.model.folder import load_model
    from phrasescore.scoring.model_loading import scoring_model
    from phrasescore.scoring.shared_scorer import SharedScorer

    names = names or tuple(f"PhraseModel{number}" for number in range(len(folders)))
    if len(names) != len(folders):
        raise SettingsError(
            f"{counted(len(names), 'name')} for {counted(len(folders), 'model')}",
            remedy="give one --name for each",
        )
    if threads is not None:
        torch.set_num_threads(threads)
    models = []
    for name, folder in zip(names, folders, strict=True):
        loaded = load_model(folder)
        scoring = scoring_model(folder, loaded, SharedScorer(loaded.model, device))
        models.append(NBestModel(name, scoring, loaded.model.settings.factor))
    return models
