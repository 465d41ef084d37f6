"""``phrasescore analyze gates``: what reset and update gates do over a phrase."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from phrasescore.commands.analyze.model_options import model_option
from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import OUTPUT
from phrasescore.errors import visible
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phrasescore.analysis.gates import Gate
    from phrasescore.model.folder import LoadedModel
    from phrasescore.table.phrase_table import Side


@click.command("gates", short_help="Show what the gates of the hidden units do over a phrase.")
@model_option
@click.argument("phrase", metavar="PHRASE")
@click.option(
    "--target",
    metavar="PHRASE",
    help="Show the decoder's gates, too, while it reads this phrase as its own.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="FILE",
    help="A picture to draw: .svg, .pdf or .png.",
)
@json_options
def gates(
    folder: str,
    phrase: str,
    target: str | None,
    output: str | None,
    as_json: bool,
    json_file: str | None,
) -> None:
    """Show how far the gates are open at each word of PHRASE, which the encoder reads with </s>.

    An open reset gate lets the old state into the new one's candidate; an open update gate keeps
    the old state as it is (equations 5 to 8 of Cho et al., 2014). An LSTM has input, forget and
    output gates.

    Printed are for each gate and word the mean of all units, quantiles, and the shares of units
    that are shut (below 0.1) and open (above 0.9). The picture has beside that a cell for each
    unit; drawing it needs the extra report: pip install 'phrasescore[report]'
    """
    from phrasescore.analysis.gates import find_gates
    from phrasescore.analysis.phrases import read_side, typed_phrase
    from phrasescore.model.folder import load_model

    if output is not None:
        from phrasescore.pictures.figure_files import check_figure

        check_figure(output)
    loaded = load_model(folder)
    side = read_side(loaded)
    other: Side = "target" if side == "source" else "source"
    source = typed_phrase(os.fsencode(phrase), loaded, side, "the PHRASE")
    written = None
    if target is not None:
        written = typed_phrase(os.fsencode(target), loaded, other, "--target")
    for each in (source, written):
        for word in each.unknown_words(0) if each else []:
            click.echo(f"warning: the model does not know {visible(word, 60)}", err=True)
    found = find_gates(loaded, folder, source, written)
    if not as_json:
        _print(found)
    result = {
        "phrase": _shown(source.text),
        "target": None if written is None else _shown(written.text),
        "unit": _unit(loaded),
        "gates": [{**row, "word": _shown(row["word"])} for each in found for row in each.rows()],
        "provenance": provenance(settings={"model": folder}),
    }
    print_result(result, as_json, None)
    # a picture is not drawn, and no file written, if nobody can be told
    if output is not None:
        _draw(output, found)
    print_result(result, False, json_file)


def _unit(loaded: LoadedModel) -> str:
    from phrasescore.model.model_settings import EncoderDecoderSettings

    settings = loaded.model.settings
    assert isinstance(settings, EncoderDecoderSettings)
    return settings.unit


def _print(found: Sequence[Gate]) -> None:
    names = [*next(found[0].rows())]
    sys.stdout.buffer.write("\t".join(names).encode() + b"\n")
    for each in found:
        for row in each.rows():
            cells = [
                value if isinstance(value, bytes) else _cell(value).encode()
                for value in row.values()
            ]
            sys.stdout.buffer.write(b"\t".join(cells) + b"\n")


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _draw(path: str, found: Sequence[Gate]) -> None:
    import numpy as np

    from phrasescore.pictures.gate_rows import draw_gates

    blocks, spreads = [], []
    for gate in found:
        rows = list(gate.rows())
        words = [_shown(word) or "(no word)" for word in gate.words]
        blocks.append((f"{gate.side}: {gate.name} gate", words, gate.values))
        spreads.append(np.array([[row["p10"], row["mean"], row["p90"]] for row in rows]))
    draw_gates(path, blocks, spreads)


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "backslashreplace")
