"""``phrasescore generate``: the targets that a model itself would write."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import click

from phrasescore.commands.device_option import device_option
from phrasescore.commands.numbers import BATCH, BEAM, SEED, THREADS, WORDS, Real, Whole
from phrasescore.commands.options import json_options, print_result, reordering_pair
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT
from phrasescore.errors import SettingsError
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from phrasescore.generation.phrase_output import GenerationReport, OutputFormat, PhraseCounts
    from phrasescore.generation.table_output import TableReport
    from phrasescore.generation.targets import Method, TargetGenerator
    from phrasescore.model.folder import LoadedModel


@click.command("generate")
@click.option(
    "--model", "folder", required=True, type=INPUT_FOLDER, metavar="FOLDER", help="A model folder."
)
@click.option(
    "-i",
    "--input",
    "phrases",
    type=INPUT,
    metavar="FILE",
    help="Source phrases, one a line; - is standard input.",
)
@click.option(
    "--table",
    type=INPUT,
    metavar="FILE",
    help="A phrase table, for whose sources to write a new one.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="FILE",
    default="-",
    help="Where to write; gzip if the name ends in .gz.  [default: standard output]",
)
@click.option(
    "--beam",
    type=BEAM,
    metavar="N",
    help="Hypotheses of a source to search with.  [default: 10]",
)
@click.option(
    "--nbest-size",
    type=BEAM,
    metavar="N",
    help="Targets of a source to write.  [default: the beam; all distinct samples]",
)
@click.option(
    "--length-normalisation",
    is_flag=True,
    help="Rank by ln p divided by the number of words, </s> counted.",
)
@click.option(
    "--samples",
    type=Whole(1, 100_000),
    metavar="N",
    help="Draw N targets of each source at random instead of searching.",
)
@click.option("--seed", type=SEED, metavar="N", help="For the samples.  [default: 1]")
@click.option(
    "--temperature",
    type=Real(1e-3, 1e3),
    metavar="T",
    help="Draw words from softmax(ln p / T).  [default: 1]",
)
@click.option(
    "--max-length",
    type=WORDS,
    metavar="N",
    help="Words at which a target must end.  [default: three times its source's, at least 10]",
)
@click.option("--no-unknown", is_flag=True, help="Never write <unk>; tables never have it.")
@click.option(
    "--extend",
    is_flag=True,
    help="With --table: keep the table's own pairs, too, and add the new ones to them.",
)
@click.option(
    "--reordering",
    type=INPUT,
    metavar="FILE",
    help="With --table: the lexicalised reordering table of the same system; new pairs get the "
    "mean of their source's lines.",
)
@click.option(
    "--reordering-output", type=OUTPUT, metavar="FILE", help="Where to write the reordering table."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["tsv", "json", "moses"]),
    help="With -i: lines of source, target and ln p; JSON lines, one a source; or phrase pairs "
    "with one score.  [default: tsv]",
)
@device_option
@click.option("--batch-size", type=BATCH, metavar="SOURCES", help="Sources at a time.")
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
@json_options
def generate(
    folder: str,
    phrases: str | None,
    table: str | None,
    output: str,
    extend: bool,
    reordering: str | None,
    reordering_output: str | None,
    form: Any,
    device: str,
    batch_size: int | None,
    threads: int | None,
    as_json: bool,
    json_file: str | None,
    **search: Any,
) -> None:
    """Write the targets that a model finds most probable, or draws, for source phrases.

    With -i, each line of the output has the source, a target and ln p(target | source), which
    score-text and score give the pair, too; of samples it also has how often each was drawn.

    With --table the output is a phrase table, sorted as Moses sorts: the targets that the model
    writes for the sources of the table. Pairs that the table has keep their scores; new ones get
    the geometric mean over the source's own pairs. Two more scores follow, p(target | source) by
    the model, and e for a new pair or 1 for one of the table. Give such a table to an ini with
    phrasescore ini add-column.

    All is computed in fp32. If it is interrupted, even by kill -9, the same command continues where
    it stopped.
    """
    given = {"extend": extend, "reordering": reordering, "format": form}
    in_table = _is_table(phrases, table, given)
    both = reordering_pair(reordering, reordering_output, output)
    import torch

    from phrasescore.generation.targets import TargetGenerator
    from phrasescore.runs.file_kinds import can_be_read_again
    from phrasescore.runs.interruption import interruptible

    if threads is not None:
        torch.set_num_threads(threads)
    method, asked = _method(search, in_table)
    loaded = _load(folder, in_table)
    generator = TargetGenerator(loaded.model, method, device, batch_size)
    asked["model"] = loaded.digest
    asked["numerics"] = {"device": str(generator.device), "batch_size": batch_size}
    path = str(table or phrases)
    keeps = output != "-" and can_be_read_again(path)
    report: TableReport | GenerationReport[PhraseCounts]
    with interruptible(output) if keeps else contextlib.nullcontext():
        if in_table:
            report = _write_table(path, output, loaded, generator, asked, extend, both)
        else:
            report = _write_phrases(path, output, loaded, generator, asked, form or "tsv")
    click.echo(str(report), err=True)
    settings = {**asked, "model": folder}
    result = {**report.to_json(), "provenance": provenance(settings=settings)}
    print_result(result, as_json, json_file)


def _is_table(phrases: str | None, table: str | None, given: dict[str, Any]) -> bool:
    """Tell whether a table is asked for; raise for options that belong to the other input."""
    if (phrases is None) == (table is None):
        raise SettingsError(
            "generate reads either phrases or a table",
            remedy="give one of -i FILE and --table FILE",
        )
    for name, value in given.items():
        home = "-i" if name == "format" else "--table"
        if value and (home == "-i") == (phrases is None):
            raise SettingsError(f"--{name} belongs to {home}", remedy=f"leave out --{name}")
    return phrases is None


def _method(search: dict[str, Any], in_table: bool) -> tuple[Method, dict[str, Any]]:
    """Return how to find targets, and what of it decides them, as JSON values."""
    import dataclasses

    from phrasescore.generation.beam_search import BeamSearch
    from phrasescore.generation.sampling import Sampling
    from phrasescore.generation.targets import BeamSettings, SampleSettings, TargetSettings

    samples, best = search["samples"], search["nbest_size"]
    if samples is None:
        _refuse_without("--samples", seed=search["seed"], temperature=search["temperature"])
    else:
        _refuse_with("--samples", beam=search["beam"])
        _refuse_with("--samples", length_normalisation=search["length_normalisation"] or None)
    allowed = TargetSettings(search["max_length"], not (search["no_unknown"] or in_table))
    asked: dict[str, Any] = {"allowed": dataclasses.asdict(allowed)}
    if samples is None:
        size = search["beam"] or 10
        beam = BeamSettings(size, best or size, search["length_normalisation"])
        return BeamSearch(beam, allowed), {**asked, "beam": dataclasses.asdict(beam)}
    seed = 1 if search["seed"] is None else search["seed"]
    drawn = SampleSettings(samples, seed, search["temperature"] or 1.0, best)
    return Sampling(drawn, allowed), {**asked, "samples": dataclasses.asdict(drawn)}


def _refuse_without(needed: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise SettingsError(
                f"--{name} is about samples, and none are asked for", remedy=f"add {needed} N"
            )


def _refuse_with(other: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise SettingsError(
                f"{option} is about beam search, and {other} draws at random",
                remedy=f"leave out {option} or {other}",
            )


def _load(folder: str, in_table: bool) -> LoadedModel:
    """Load a model that can write targets for what is given."""
    from phrasescore.model.folder import load_model
    from phrasescore.model.kinds import must_read_a_source, must_write_targets

    loaded = load_model(folder)
    must_read_a_source(loaded.model.settings, folder)
    if in_table:
        must_write_targets(loaded.model.settings, folder)
    return loaded


def _write_table(
    path: str,
    output: str,
    loaded: LoadedModel,
    generator: TargetGenerator,
    asked: dict[str, Any],
    extend: bool,
    reordering: tuple[str, str] | None,
) -> TableReport:
    from phrasescore.generation.table_output import TableWriter, generate_table
    from phrasescore.scoring.shared_scorer import SharedScorer

    asked["form"] = "extended" if extend else "table"
    scorer = SharedScorer(loaded.model, str(generator.device), "fp32")
    writer = TableWriter(loaded, generator, scorer, extend)
    return generate_table(path, output, writer, asked, reordering)


def _write_phrases(
    path: str,
    output: str,
    loaded: LoadedModel,
    generator: TargetGenerator,
    asked: dict[str, Any],
    form: OutputFormat,
) -> GenerationReport[PhraseCounts]:
    from phrasescore.generation.phrase_output import PhraseWriter, generate_for_phrases

    asked["form"] = form
    writer = PhraseWriter(loaded, generator, form, drawn="samples" in asked)
    return generate_for_phrases(path, output, writer, asked)
