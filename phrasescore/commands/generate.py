"""``phrasescore generate``: write targets with a model."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import click

from phrasescore.commands.declarations import command, flag, option, output_to
from phrasescore.commands.options import (
    BATCH,
    BEAM,
    MODEL,
    SEED,
    WORDS,
    BoundedFloat,
    BoundedInt,
    Computing,
    LengthNormalisation,
    Reordering,
    Result,
    resumable,
)
from phrasescore.commands.paths import INPUT
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from phrasescore.generation.table_output import ReorderingCounts
    from phrasescore.generation.targets import Method
    from phrasescore.runs.stream import StreamReport


class GenerateOptions(LengthNormalisation, Reordering, Computing, Result):
    """Options of ``generate``."""

    one_of = ("input", "table")
    model: str = MODEL
    input: str | None = option(
        INPUT, "The source phrases, one per line; - is standard input.", "-i"
    )
    table: str | None = option(INPUT, "A phrase table; the output is a new table for its sources.")
    output: str = output_to("Where to write; gzip if the name ends in .gz.")
    beam: int | None = option(
        BEAM, "The number of hypotheses that the search keeps for each source.  [default: 10]"
    )
    nbest_size: int | None = option(
        BEAM,
        "The number of targets to write for each source.  [default: --beam; with --samples, all "
        "distinct samples]",
    )
    samples: int | None = option(
        BoundedInt(1, 100_000),
        "Draw N targets of each source at random, instead of a beam search.",
        excludes=("beam", "length_normalisation"),
    )
    seed: int | None = option(
        SEED, "The seed for drawing samples.  [default: 1]", needs=("samples",)
    )
    temperature: float | None = option(
        BoundedFloat(1e-3, 1e3),
        "Draw words from softmax(ln p / T).  [default: 1]",
        metavar="T",
        needs=("samples",),
    )
    max_length: int | None = option(
        WORDS,
        "The maximum number of words in a target.  [default: three times the words of the source, "
        "but at least 10]",
    )
    no_unknown: bool = flag("Never write <unk>; --table implies this.")
    extend: bool = flag(
        "With --table: keep all pairs of the table, and add the new ones.", needs=("table",)
    )
    reordering: str | None = option(
        INPUT,
        "With --table: the lexicalised reordering table of the same system; a new pair gets "
        "the mean of the scores of its source's pairs.",
        needs=("table",),
    )
    batch_size: int | None = option(
        BATCH, "The number of sources to compute at a time.", metavar="SOURCES"
    )


@command("generate", GenerateOptions)
def generate(options: GenerateOptions) -> None:
    """Write the targets that a model finds most probable for source phrases, or samples.

    With -i, each line of the output has the source, a target and ln p(target | source), the same
    number that score-text computes. With --samples a fourth column has the number of times that the
    target was drawn.

    With --table the output is a phrase table of the targets that the model writes for the sources
    of the table, sorted as Moses sorts. Pairs of the table keep their scores. Each score of a new
    pair is the geometric mean over the table's pairs with the same source. Each line gets two more
    scores: p(target | source) by the model, and a flag, which is e (2.718) for a new pair and 1 for
    a pair of the table. The command ini add-column adapts a moses.ini to the new table.

    Everything is computed in fp32. If the command is interrupted, even by kill -9, the same command
    continues where it stopped.
    """
    reordering = options.reordering_pair(options.output)
    from phrasescore.generation.targets import TargetGenerator
    from phrasescore.model.folder import load_model

    options.use_threads()
    method, asked = _method(options)
    loaded = load_model(options.model)
    loaded.must_read_a_source()
    if options.table is not None:
        loaded.must_write_targets()
    generator = TargetGenerator(loaded.model, method, options.device, options.batch_size)
    asked["model"] = loaded.digest
    asked["numerics"] = {"device": str(generator.device), "batch_size": options.batch_size}
    path = str(options.table or options.input)
    report: StreamReport[Any]
    reordered: ReorderingCounts | None = None
    with resumable([path], [options.output]):
        if options.table is not None:
            from phrasescore.generation.table_output import TableWriter, generate_table
            from phrasescore.scoring.shared_scorer import SharedScorer

            asked["form"] = "extended" if options.extend else "table"
            scorer = SharedScorer(loaded.model, str(generator.device), "fp32")
            tables = TableWriter(loaded, generator, scorer, options.extend)
            report, reordered = generate_table(path, options.output, tables, asked, reordering)
        else:
            from phrasescore.generation.phrase_output import generate_for_phrases

            asked["form"] = "phrases"
            drawn = options.samples is not None
            report = generate_for_phrases(
                path, options.output, loaded, generator, asked, drawn=drawn
            )
    result = report.to_json()
    click.echo(str(report.counts), err=True)
    if reordered is not None:
        click.echo(str(reordered), err=True)
        result["reordering"] = reordered.to_json()
    click.echo(f"{report.seconds:,.1f} s", err=True)
    settings = {**asked, "model": options.model}
    options.show({**result, "provenance": provenance(settings=settings)})


def _method(options: GenerateOptions) -> tuple[Method, dict[str, object]]:
    """Return the method that finds targets, and its settings as JSON values."""
    from phrasescore.generation.beam_search import BeamSearch
    from phrasescore.generation.sampling import Sampling
    from phrasescore.generation.targets import BeamSettings, SampleSettings, TargetSettings

    unknown = not options.no_unknown and options.table is None
    allowed = TargetSettings(options.max_length, unknown)
    asked: dict[str, object] = {"allowed": dataclasses.asdict(allowed)}
    if options.samples is None:
        size = options.beam or 10
        beam = BeamSettings(size, options.nbest_size or size, options.length_normalisation)
        search = functools.partial(BeamSearch, beam, allowed)
        return search, {**asked, "beam": dataclasses.asdict(beam)}
    seed = 1 if options.seed is None else options.seed
    drawn = SampleSettings(options.samples, seed, options.temperature or 1.0, options.nbest_size)
    draw = functools.partial(Sampling, drawn, allowed)
    return draw, {**asked, "samples": dataclasses.asdict(drawn)}
