"""Draw ``gains.svg`` from the kept results: ``python docs/pictures/draw_gains.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from phrasescore.pictures.figure_files import COLOURS, saved_figure
from tuning.experiment.results import KeptResults
from tuning.metrics.metric_scores import metric_scores
from tuning.metrics.metric_settings import TEST_SEED, TRIALS
from tuning.metrics.significance import bootstrap

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
# a row of the experiment -> its name for a reader of README
ROWS = {
    "RNN": "phrase score",
    "CSLM": "language model",
    "CSLM + RNN": "both",
    "search on lists": "RNNsearch on n-best lists",
    "CSLM + RNN + search on lists": "all three",
    "CSLM + RNN + search on lists, both directions": "RNNsearch in both directions",
    "CSLM + RNN + two search models on lists, both directions": "and a third RNNsearch",
    "All parts": "all in both directions",
}


def bleu(statistics: np.ndarray) -> np.ndarray:
    """Return BLEU times 100 of summed statistics."""
    return 100 * metric_scores("bleu", statistics)


def main() -> None:
    """Compute each gain with its interval as ``compare`` does, and draw it."""
    kept = KeptResults.read(RESULTS / "multi30k.json")
    with saved_figure(HERE / "gains.svg", 5.0, 2.4) as figure:
        axes = figure.add_subplot()
        for place, row in enumerate(ROWS):
            seeds = {run.seed for run in kept.rows[row].runs}
            baseline, runs = (
                np.stack(
                    [
                        kept.statistics(run, "test2016")
                        for run in kept.rows[name].runs
                        if run.seed in seeds
                    ]
                )
                for name in ("Baseline", row)
            )
            found = bootstrap(baseline, runs, bleu, TRIALS, TEST_SEED)
            gain = float(bleu(runs.sum(1)).mean() - bleu(baseline.sum(1)).mean())
            axes.plot([found.low, found.high], [place, place], color=COLOURS[0], linewidth=2)
            axes.plot([gain], [place], "o", color=COLOURS[0])
        axes.axvline(0, color="#767676", linewidth=1)
        axes.set_yticks(range(len(ROWS)), list(ROWS.values()))
        axes.set_ylim(len(ROWS) - 0.5, -0.5)
        axes.grid(axis="x", color="#dddddd", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("BLEU gained (95 % intervals)")


if __name__ == "__main__":
    main()
