"""``phrasescore force-score``: recompute every feature of given derivations."""

from __future__ import annotations

import click

from moses_integration.commands.options import INI, LoadingOptions
from phrasescore.commands.declarations import command, flag, option
from phrasescore.commands.options import BoundedFloat, say
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError, counted


class ForceScoreOptions(LoadingOptions):
    """Options of ``force-score``."""

    ini: str = INI
    nbest: str = option(INPUT, "The n-best list.", required=True)
    output: str | None = option(OUTPUT, "Where to write the list with recomputed features.", "-o")
    tolerance: float | None = option(
        BoundedFloat(0.0, 1e300),
        "Compare with the values in the list; exit with status 1 if any value differs by more.",
        "--check",
        metavar="TOLERANCE",
    )
    drop_unknown: bool = flag("Needed if the list was decoded with unknown words dropped.")


@command("force-score", ForceScoreOptions, short_help="Recompute the features of an n-best list.")
def force_score(options: ForceScoreOptions) -> None:
    """Recompute every feature of the derivations in an n-best list of Moses or phrasescore.

    Each line of the list must show its segmentation into phrases (decode with
    --include-segmentation-in-n-best or -t). Results may differ from Moses's values in the last of
    six digits, because Moses adds in single precision. The scores that rescoring.json added stay as
    they are, and the second weights give the totals.
    """
    from moses_integration.decoder import force_scoring
    from moses_integration.decoder.loading.source_phrases import read_sentences
    from moses_integration.ini.rescoring_file import Rescoring

    tolerance = options.tolerance
    if options.output is None and tolerance is None:
        raise SettingsError("nothing to do", remedy="give -o FILE, --check TOLERANCE, or both")
    ini = options.system(options.ini)
    decoder = options.decoder(ini)
    loaded = decoder.load(read_sentences(options.input_path, longest=options.max_sentence_length))
    comparison = None if tolerance is None else force_scoring.ListComparison(tolerance)
    rescoring, second = Rescoring.read(ini.base), None
    if rescoring is not None:
        second = rescoring.names, rescoring.flat_weights(decoder.layout, ini.base)
    scorer = force_scoring.ForcedScorer(loaded, decoder.system.weights, second)
    lines = force_scoring.force_score(scorer, options.nbest, options.output, comparison)
    if comparison is None:
        say(counted(lines, "line"))
        return
    for name, (largest, line) in comparison.largest.items():
        say(f"{name}: differs by up to {largest:.6f}, in line {line:,}")
    off = f"{comparison.beyond:,} of them off by more than {tolerance:g}"
    say(f"{lines:,} lines, {off}, besides the rounding to six digits")
    if comparison.beyond:
        raise click.exceptions.Exit(1)
