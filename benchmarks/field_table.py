"""Compares what `phrasescore improve` makes with its baseline, and with published translations.

The rules are in docs/results/field-protocol.md. All texts are scored twice: raw and cased, as
users read them; and as lower-cased tokens. The result file has the statistics of each translation,
from which the table and the intervals are computed, but no text.

    python -m benchmarks.field_table field.json --pair FOLDER en hau --improved IMPROVED \
        --published m2m100_en_hau_news.txt ...
    python -m benchmarks.field_table field.json --pair FOLDER en hau --improved IMPROVED --seed 2
    python -m benchmarks.field_table field.json --pair FOLDER en hau --tuned translation.hau
    python -m benchmarks.field_table field.json --pair FOLDER en hau --transformer OUTPUT
    python -m benchmarks.field_table field.json

All forms but the last add rows of a language pair (FOLDER has test.en.gz and test.hau.gz; IMPROVED
is the folder of `improve`; translation.hau was made by `build`, `tune` and `decode --raw`; OUTPUT
is the folder of joeynmt_transformer.py); without --pair, all rows are shown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moses_integration.text.preparation import Preprocessor, TextSettings, read_text
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.json_files import write_json
from phrasescore.runs.processes import phrasescore_command
from tuning.experiment.results import TextStatistics
from tuning.metrics.metric_scores import columns_of, metric_scores
from tuning.metrics.metric_settings import TEST_SEED, TRIALS, TextScoring, points, shown_p
from tuning.metrics.significance import Bootstrap, bootstrap
from tuning.metrics.text_scores import NamedLines, ReferenceTexts

# TUNED: `build` and `tune` of README, without models
BASELINE, IMPROVED, TUNED = "baseline", "improved", "build and tune"
# trained here for the CPU seconds that the models of `improve` took
TRANSFORMER = "Transformer, equal time"
# the longest reference of each group of sentences, in words; the last group has the others
LENGTHS = (10, 20, 30, 40)
_LEAST_SENTENCES = 40  # with fewer, a group has no score
VARIANTS = ("raw", "tokens")
BLEU = partial(metric_scores, "bleu")
Statistics = NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """A translation of a test set, scored in one way.

    Args:
        pair: The languages, such as ``en-hau``.
        name: `BASELINE`, `IMPROVED`, or the name of a published file.
        variant: One of `VARIANTS`.
        chrf: The chrF of the text, from 0 to 1.
        bleu: The BLEU statistics of its sentences.
        digest: The SHA-256 of the translation.
        seed: The seed of the run.
    """

    pair: str
    name: str
    variant: str
    chrf: float
    bleu: TextStatistics
    digest: str
    seed: int = 1


@dataclass(frozen=True)
class Results:
    """The content of a result file.

    Args:
        rows: All rows.
        references: The numbers of words of the reference sentences, by pair and variant.
        records: The record of each run of ``improve``, without paths, by pair, or by pair and seed
            (``en-hau 2``) if the seed is not 1.
        trainings: The record of the Transformer that was trained here, by pair.
    """

    rows: tuple[Row, ...] = ()
    references: dict[str, str] = field(default_factory=dict)
    records: dict[str, Any] = field(default_factory=dict)
    trainings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read a result file; one that does not exist has no rows."""
        if not path.exists():
            return cls()
        content = json.loads(path.read_text("utf-8"))
        rows = []
        for row in content["rows"]:
            texts = row["bleu"] | {"matches": tuple(row["bleu"]["matches"])}
            rows.append(Row(**row | {"bleu": TextStatistics(**texts)}))
        trainings = content.get("trainings", {})
        return cls(tuple(rows), content["references"], content["records"], trainings)

    def of_one_seed(self) -> Results:
        """Return the results with the rows of seed 1 alone."""
        return replace(self, rows=tuple(row for row in self.rows if row.seed == 1))

    def runs(self, pair: str, name: str, variant: str) -> list[Row]:
        """Return the row of each seed of a system."""
        asked = pair, name, variant
        return [row for row in self.rows if (row.pair, row.name, row.variant) == asked]

    def row(self, pair: str, name: str, variant: str) -> Row:
        """Return the row of the first seed of a system."""
        return self.runs(pair, name, variant)[0]

    def statistics(self, rows: Sequence[Row]) -> Statistics:
        """Return the statistics of runs over the same text, shape (runs, sentences, 9)."""
        lengths = self.references[f"{rows[0].pair} {rows[0].variant}"]
        return np.stack([row.bleu.matrix(lengths) for row in rows])

    @property
    def pairs(self) -> list[str]:
        """The language pairs that have an improved system."""
        return sorted({row.pair for row in self.rows if row.name == IMPROVED})


def compared(results: Results, pair: str, first: str, second: str, variant: str) -> Bootstrap:
    """Return the difference of two systems of a pair, second minus first."""
    rows = [results.runs(pair, name, variant) for name in (first, second)]
    one, other = map(results.statistics, rows)
    return bootstrap(one, other, BLEU, TRIALS, TEST_SEED)


def pooled(results: Results, variant: str, first: str = BASELINE) -> Bootstrap:
    """Return the mean, over pairs, of the gain of `IMPROVED` over a system; no pairs are drawn."""
    found = [compared(results, pair, first, IMPROVED, variant) for pair in results.pairs]
    variances = np.array([each.error**2 for each in found])
    # those of a sum of independent differences (Satterthwaite 1946; Welch 1947)
    degrees = variances.sum() ** 2 / sum(variances**2 / [each.degrees for each in found])
    mean = fmean(each.gain for each in found)
    return Bootstrap(mean, float(np.sqrt(variances.sum())) / len(found), float(degrees))


def bleu_by_length(statistics: Statistics) -> list[str]:
    """Return the mean BLEU of all runs for each group of `LENGTHS`; "–" for few sentences.

    Args:
        statistics: Shape (runs, sentences, 9); the last column is the reference's length.
    """
    group = np.searchsorted(LENGTHS, statistics[0, :, -1])
    inside = [group == number for number in range(len(LENGTHS) + 1)]
    scores = (BLEU(statistics[:, each].sum(1)).mean() for each in inside)
    return [
        points(float(score)) if each.sum() >= _LEAST_SENTENCES else "–"
        for each, score in zip(inside, scores, strict=True)
    ]


def table(results: Results, pair: str) -> Iterator[str]:
    """Yield the Markdown table of a pair, with means over runs, sorted by raw BLEU."""
    ours = IMPROVED if pair in results.pairs else TUNED
    yield f"| system | runs | BLEU | chrF | BLEU of tokens | {ours} minus this, raw | tokens |"
    yield "|---" * 7 + "|"
    rows = []
    for name in {row.name: None for row in results.rows if row.pair == pair}:
        raw, tokens = (results.runs(pair, name, variant) for variant in VARIANTS)
        bleu = fmean(row.bleu.bleu for row in raw)
        means = [bleu, fmean(row.chrf for row in raw), fmean(row.bleu.bleu for row in tokens)]
        cells = [name, str(len(raw)), *map(points, means)]
        for variant in VARIANTS:
            found = compared(results, pair, name, ours, variant)
            cells.append("–" if name == ours else in_words(found))
        rows.append((bleu, f"| {' | '.join(cells)} |"))
    yield from (line for _, line in sorted(rows))


def in_words(found: Bootstrap) -> str:
    """Return a difference with its interval, in points.

    >>> in_words(Bootstrap(0.01, 0.001, 1e5))
    '+1.00 (+0.80 to +1.20)'
    """
    shown = (points(each, sign=True) for each in (found.gain, found.low, found.high))
    return "{} ({} to {})".format(*shown)


def summary(results: Results) -> Iterator[str]:
    """Yield a table for each pair, and the mean gain over all pairs."""
    for pair in sorted({row.pair for row in results.rows}):
        yield from ["", pair, ""]
        for name, record in results.records.items():
            if name.split()[0] == pair:
                yield f"{name}: {record['verdict']}"
        yield from ["", *table(results, pair), ""]
        yield f"| words of the reference, up to | {' | '.join(map(str, LENGTHS))} | more |"
        yield "|---" * (len(LENGTHS) + 2) + "|"
        for name in {row.name: None for row in results.rows if row.pair == pair}:
            cells = bleu_by_length(results.statistics(results.runs(pair, name, "raw")))
            yield f"| {name} | {' | '.join(cells)} |"
    firsts = [BASELINE] if results.pairs else []
    if results.pairs and set(results.pairs) <= set(results.trainings):
        firsts.append(TRANSFORMER)
    for first, variant in product(firsts, VARIANTS):
        for seeds, chosen in (("all seeds", results), ("seed 1", results.of_one_seed())):
            found = pooled(chosen, variant, first)
            yield f"{first}, {variant}, {seeds}: {in_words(found)}, p {shown_p(found.p_value)}"


def _composed(path: Path) -> list[str]:
    """Return the lines of a text in NFC."""
    return [unicodedata.normalize("NFC", line) for line in read_text(path)]


def add(
    results: Results, folder: Path, languages: Sequence[str], texts: Mapping[str, Path], seed: int
) -> Results:
    """Return the results with translations of a pair's test set, by name."""
    pair, target = "-".join(languages), languages[1]
    replaced = {(pair, name, seed) for name in texts}
    rows = [row for row in results.rows if (row.pair, row.name, row.seed) not in replaced]
    references = dict(results.references)
    tokens = Preprocessor(TextSettings(target, lowercase=True, tokenizer="unicode", form="NFC"))
    for variant in VARIANTS:
        scoring = TextScoring(("bleu", "chrf"), "13a" if variant == "raw" else "none")
        prepared = partial(map, str if variant == "raw" else tokens)
        reference = [*prepared(_composed(folder / f"test.{target}.gz"))]
        scorer = ReferenceTexts([NamedLines("reference", reference)], scoring)
        for name, path in texts.items():
            found = scorer.score(NamedLines(name, [*prepared(_composed(path))])).statistics
            statistics = found[:, columns_of("bleu")]
            chrf = metric_scores("chrf", found[:, columns_of("chrf")].sum(0))
            words = TextStatistics.from_rows(statistics.astype(np.int32))
            rows.append(Row(pair, name, variant, float(chrf), words, sha256_of(path), seed))
            references[f"{pair} {variant}"] = " ".join(map(str, statistics[:, -1]))
    return replace(results, rows=tuple(rows), references=references)


def translated(improved: Path, folder: Path, language: str) -> dict[str, Path]:
    """Translate a test set with both systems of an improvement; return the files by name."""
    found = {}
    for name, system in ((BASELINE, BASELINE), (IMPROVED, "system")):
        found[name] = improved / f"test.{name}.txt"
        source = folder / f"test.{language}.gz"
        words = ["decode", improved / system, "--raw", "-i", source, "-o", found[name]]
        subprocess.run(phrasescore_command([*map(str, words)]), check=True)
    return found


def recorded(improved: Path) -> dict[str, Any]:
    """Return the record of an improvement, without the paths of its machine."""
    record = json.loads((improved / "result.json").read_text("utf-8"))
    settings = record.pop("provenance")["settings"]
    return record | {"time": settings["time"]}


def main() -> None:
    """Add rows, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, help="the result file")
    parser.add_argument("--pair", nargs=3, metavar=("FOLDER", "SOURCE", "TARGET"))
    parser.add_argument("--improved", type=Path, help="the folder of improve")
    parser.add_argument("--published", type=Path, nargs="*", default=[])
    parser.add_argument("--tuned", type=Path, help="a translation by `build` and `tune` alone")
    parser.add_argument("--transformer", type=Path, help="the folder of joeynmt_transformer.py")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the added runs")
    options = parser.parse_args()
    results = Results.read(options.results)
    if options.pair:
        folder, *languages = options.pair
        texts = {path.stem: path for path in options.published}
        if options.tuned:
            texts[TUNED] = options.tuned
        if options.transformer:
            texts[TRANSFORMER] = options.transformer / "test.txt"
            training = json.loads((options.transformer / "result.json").read_text("utf-8"))
            trainings = results.trainings | {"-".join(languages): training}
            results = replace(results, trainings=trainings)
        if options.improved:
            texts |= translated(options.improved, Path(folder), languages[0])
            name = "-".join(languages) + (f" {options.seed}" if options.seed > 1 else "")
            records = results.records | {name: recorded(options.improved)}
            results = replace(results, records=records)
        results = add(results, Path(folder), languages, texts, options.seed)
        write_json(options.results, asdict(results))
    else:
        print("\n".join(summary(results)))


if __name__ == "__main__":
    main()
