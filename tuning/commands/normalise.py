"""``phrasescore normalise``: spelling normalisation, from training to evaluation."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from phrasescore.commands.declarations import Options, argument, command, flag, option
from phrasescore.commands.options import CORES, BoundedInt, Result, say, show_notes
from phrasescore.commands.paths import INPUT, OUTPUT, PathName, Use


class TrainOptions(Options):
    """Options of ``normalise train``."""

    training: str = argument(INPUT, "TSV")
    folder: Path = argument(PathName(Use.WRITE_FOLDER, Path))
    dev: str = option(INPUT, "Other words and their normal forms, to tune on.", required=True)
    texts: tuple[str, ...] = option(
        INPUT,
        "A text in the normal spelling, such as a list of words, to train an additional language "
        "model on; may be repeated.",
        "--language-model-text",
        many=True,
    )
    lowercase: bool = flag("Lower-case all words, here and wherever the normaliser is applied.")
    neural: bool = flag(
        "Also train an attention model, in minutes, which chooses among the forms that the Moses "
        "system proposes for a word. It is used only if it improves the result on the dev words."
    )
    threads: int | None = CORES


class ApplyOptions(Options):
    """Options of ``normalise apply``."""

    folder: Path = argument(PathName(Use.READ_FOLDER, Path))
    words: str = argument(INPUT)
    output: str = option(OUTPUT, "The normal forms; - is standard output.", "-o", default="-")
    nbest_size: int = option(
        BoundedInt(1, 1000),
        "The number of forms to write for each word, separated by tabs, the best first.",
        default=1,
    )
    threads: int | None = CORES


class EvaluateOptions(Result):
    """Options of ``normalise evaluate``."""

    folder: Path = argument(PathName(Use.READ_FOLDER, Path))
    pairs: str = argument(INPUT, "TSV")
    threads: int | None = CORES


@click.group("normalise")
def normalise() -> None:
    """Normalise words in historical or non-standard spelling, or in another alphabet.

    A Moses system translates each word as a sentence of characters.
    """


@command("train", TrainOptions, short_help="Learn from words and their normal forms.")
def train(options: TrainOptions) -> None:
    """Learn to normalise from TSV, and write the normaliser to FOLDER.

    Each line of TSV has a word, a tab, and the word's normal form. Empty lines are skipped. The
    training prints each command that it runs. To continue an interrupted training, repeat the call
    of normalise train.
    """
    from phrasescore.runs.interruption import interruptible
    from tuning.metrics.metric_settings import points
    from tuning.normalisation.normaliser import NormaliserSettings
    from tuning.normalisation.normaliser import train as run

    with interruptible(options.folder):
        choice = run(options.settings(NormaliserSettings), options.folder, say)
    say(
        f"{points(choice.right)} % of {choice.dev_words:,} dev words right, "
        f"{points(choice.system_right)} % by the system alone: {choice.rule}"
    )
    say(f"the normaliser is ready: {options.folder}")


@command("apply", ApplyOptions, short_help="Write the normal forms of words.")
def apply(options: ApplyOptions) -> None:
    """Normalise WORDS (one word per line, plain, .gz, or - for standard input).

    Every distinct word is normalised once. An empty line stays empty.
    """
    from phrasescore.runs.final_names import open_output
    from tuning.normalisation.normaliser import Normaliser
    from tuning.normalisation.word_pairs import read_words

    normaliser = Normaliser(options.folder, threads=options.threads)
    read = read_words(options.words, lowercase=normaliser.choice.lowercase)
    show_notes(read.notes)
    forms = normaliser.forms(read.words, options.nbest_size)
    with open_output(options.output) as stream:
        for word in read.words:
            stream.write("\t".join(forms.get(word, [])).encode() + b"\n")


@command("evaluate", EvaluateOptions, short_help="Measure the accuracy of a normaliser.")
def evaluate(options: EvaluateOptions) -> None:
    """Normalise the words of TSV, and compare the result with their normal forms.

    The table shows the word accuracy and the character error rate (CER: the Levenshtein distance
    divided by the length of the normal form, averaged over words), times 100, with 95 % intervals.
    Known words are words that occurred in training. In JSON, scores are 0 to 1.
    """
    from tuning.normalisation.normaliser import Normaliser
    from tuning.normalisation.word_pairs import evaluate as measure
    from tuning.normalisation.word_pairs import read_pairs, score_table

    normaliser = Normaliser(options.folder, threads=options.threads)
    pairs = read_pairs(options.pairs, lowercase=normaliser.choice.lowercase)
    show_notes(pairs.notes)
    scores = measure(normaliser.forms(pairs.words), pairs, normaliser.memory)
    options.show({each.name: asdict(each) for each in scores}, score_table(scores).to_text())


for each in (train, apply, evaluate):
    normalise.add_command(each)
