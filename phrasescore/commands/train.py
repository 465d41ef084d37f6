"""``phrasescore train``: learn p(target | source) from a phrase table or two texts, or p(text)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from phrasescore.commands.numbers import (
    BATCH,
    FACTOR,
    ITEMS,
    ITEMS_OR_NONE,
    SEED,
    THREADS,
    UNITS,
    WORDS,
    Real,
    Whole,
)
from phrasescore.commands.options import Duration, OptionalNumber, device_option
from phrasescore.commands.paths import PathName, Use, refuse_unwritable_folder
from phrasescore.model.kinds import KINDS, kind_named
from phrasescore.model.model_settings import (
    EncoderDecoderSettings,
    FeedForwardLmSettings,
    FeedForwardPhraseSettings,
)
from phrasescore.training.training_settings import (
    DROPOUT,
    DROPOUT_OF_TEXT,
    EVALUATIONS,
    HELD_OUT,
    HELD_OUT_OF_TEXT,
    HELD_OUT_SENTENCES,
    LABEL_SMOOTHING,
    MAX_LENGTH,
    PATIENCE,
)
from phrasescore.words import PAPER_SENTENCE_WORDS, SHORTLIST_WORDS

if TYPE_CHECKING:
    from phrasescore.training.request import TrainingRequest

_PHRASE, _FEED_FORWARD, _LM = (
    EncoderDecoderSettings,
    FeedForwardPhraseSettings,
    FeedForwardLmSettings,
)
_FAST, _FAST_LM, _FAST_RNN = (
    kind_named(name).fast_sizes for name in ("search", "feed-forward-lm", "rnn-lm")
)
_SHORTLIST_DEFAULT = (
    f"[default: {SHORTLIST_WORDS}; search, encdec with --recipe paper: {PAPER_SENTENCE_WORDS}]"
)
_SELF_NORMALISE = 0.1  # Devlin et al. (2014), section 2.2
_HELD_OUT_TEXT = "--held-out-text"
# settings of models: those of the kind that is trained go to it, others are refused in its name
SIZES = {
    "hidden": f"Hidden units.  [default: {_PHRASE.hidden}; feed-forward-phrase: "
    f"{_FEED_FORWARD.hidden}; search, encdec: {_FAST['hidden']}, with --recipe paper 1000; "
    f"feed-forward-lm: {_FAST_LM['hidden']}, with --recipe paper {_LM.hidden}; rnn-lm: "
    f"{_FAST_RNN['hidden']}, with --recipe paper 1000]",
    "second_hidden": "Units of the second hidden layer of feed-forward-lm.  [default: "
    f"{_FAST_LM['second_hidden']}, with --recipe paper {_LM.second_hidden}]",
    "order": "Length of the n-grams of feed-forward-lm: a word and those it is predicted from.  "
    f"[default: {_LM.order}]",
    "embedding": f"Size of word vectors.  [default: {_PHRASE.embedding}; search, encdec: "
    f"{_FAST['embedding']}, with --recipe paper 620; feed-forward-lm: {_FAST_LM['embedding']}, "
    f"with --recipe paper {_LM.embedding}; rnn-lm: {_FAST_RNN['embedding']}, with --recipe paper "
    "100]",
    "maxout": "Maxout units.  [default: half of --hidden]",
    "rank": f"Inner size of the factored output layer.  [default: {_PHRASE.rank}; search, encdec: "
    f"{_FAST['rank']}, with --recipe paper 620; rnn-lm: {_FAST_RNN['rank']}, with --recipe "
    "paper 100]",
    "alignment": "Alignment units of search.  [default: --hidden]",
    "unit": f"The hidden unit: gated, tanh or lstm.  [default: {_PHRASE.unit}]",
    "context": "When the decoder sees the source's summary: every-step, or once, at its start.  "
    f"[default: {_PHRASE.context}]",
    "phrase_length": "Words that a feed-forward phrase model reads and writes at most.  "
    f"[default: {_FEED_FORWARD.phrase_length}]",
    "formulation": "code: what the authors ran; appendix: the paper's appendix; search and "
    "encdec have paper, section 3.1 of theirs, instead.  "
    f"[default: {_PHRASE.formulation}]",
    "direction": "Which side the encoder reads: source-target or target-source.  "
    f"[default: {_PHRASE.direction}]",
    "factor": f"Which factor of factored tokens to read.  [default: {_PHRASE.factor}]",
}
_NUMBERS = dict.fromkeys(("hidden", "second_hidden", "embedding", "maxout", "rank"), UNITS)
_NUMBERS |= {"alignment": UNITS, "phrase_length": Whole(1, 1000), "order": Whole(1, 100)}
_NUMBERS |= {"factor": FACTOR}


def _model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each setting of a model; what is not given is ``None``."""
    for name, text in reversed(SIZES.items()):
        kind = _NUMBERS.get(name, click.STRING)
        metavar = "N" if name in _NUMBERS else "NAME"
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, type=kind, metavar=metavar, help=text)(command)
    return click.option(
        "--self-normalise",
        is_flag=False,
        flag_value=str(_SELF_NORMALISE),
        type=OptionalNumber(),
        metavar="[WEIGHT]",
        help="Of feed-forward-lm: keep the sum over the vocabulary near 1, so that the decoder may "
        f"leave it out; WEIGHT of (ln Z)^2 in the loss, {_SELF_NORMALISE} if it is not given.  "
        "[default: off]",
    )(command)


class _Train(click.Command):
    """Lets ``--held-out-text`` take as many names as the kind reads texts."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write ``--held-out-text A B`` as that option twice, with a name each."""
        takes = max(1, len(kind_named(_kind_among(args)).inputs))
        spread: list[str] = []
        left = 0
        for arg in args:
            left = 0 if arg.startswith("-") else left
            if left and spread[-1] != _HELD_OUT_TEXT:
                spread.append(_HELD_OUT_TEXT)
            left = takes if arg == _HELD_OUT_TEXT else max(0, left - 1)
            spread.append(arg)
        return super().parse_args(ctx, spread)


def _kind_among(args: Sequence[str]) -> str:
    known = [kind.option for kind in KINDS]
    named = [b if a == "--kind" else a.removeprefix("--kind=") for a, b in pairwise([*args, ""])]
    asked = [name for name in named if name in known]
    return asked[-1] if asked else known[0]


@click.command(
    cls=_Train,
    context_settings={"show_default": True},
    options_metavar="[OPTIONS]",
)
@click.argument(
    "paths",
    metavar="INPUT... MODEL/",
    nargs=-1,
    required=True,
    type=PathName(Use.READ, Path),
)
@click.option(
    "--kind",
    type=click.Choice([kind.option for kind in KINDS]),
    default=KINDS[0].option,
    help="; ".join(f"{kind.option} takes {' '.join(kind.inputs)} MODEL/" for kind in KINDS) + ".",
)
@click.option(
    "--recipe",
    type=click.Choice(["fast", "paper"]),
    default="fast",
    help="fast: Adam, length-uniform batches, a decaying learning rate, the best model is kept. "
    "paper: Adadelta and the authors' batches; nothing is held out, the last weights are the "
    "model.",
)
@click.option(
    "--max-epochs",
    type=Whole(0, 10**9),
    help="Passes over the pairs; 0 writes the untrained model.  "
    "[default: 10 unless --max-time is given]",
)
@click.option(
    "--max-time",
    type=Duration(),
    help="End after this time by the clock, the learning rate decayed: 45m, 2h. Reading the input "
    "and compiling do not count.",
)
@click.option(
    "--patience",
    type=Whole(0, 10**9),
    help="End after this many evaluations without a better figure on unseen sources; 0: never.  "
    f"[default: {PATIENCE['fast']}; paper: {PATIENCE['paper']}]",
)
@click.option(
    "--evaluations",
    type=Whole(1, 10**9),
    help=f"How often the held-out pairs are scored in a run.  [default: {EVALUATIONS}; of language "
    "models with --recipe paper: after each pass]",
)
@_model_options
@click.option(
    "--source-words",
    type=ITEMS,
    help=f"Size of the source shortlist.  {_SHORTLIST_DEFAULT}",
)
@click.option(
    "--target-words",
    type=ITEMS,
    help=f"Size of the target shortlist.  {_SHORTLIST_DEFAULT}",
)
@click.option(
    "--batch-size",
    type=BATCH,
    help="Pairs in an update.  [default: by the size of the table; paper: 64; search, encdec: 64; "
    "paper: 80; language models: 64 sentences]",
)
@click.option(
    "--learning-rate",
    type=Real(0, 100, above=True),
    help="The highest learning rate.  [default: the recipe's; smaller models of phrases learn at a "
    "higher one]",
)
@click.option(
    "--held-out-sources",
    type=ITEMS_OR_NONE,
    help="Pairs to hold out whose sources are in no training pair.  "
    f"[default: {HELD_OUT['fast']}; search, encdec: {HELD_OUT_SENTENCES['fast']}; "
    f"paper: {HELD_OUT['paper']}]",
)
@click.option(
    "--held-out-pairs",
    type=ITEMS_OR_NONE,
    help="Pairs to hold out, drawn at random from the rest; of a text sentences.  "
    f"[default: {HELD_OUT['fast']}; search, encdec: 0; paper: {HELD_OUT['paper']}; language "
    f"models: one sentence in 1,000, {HELD_OUT_OF_TEXT} at least]",
)
@click.option(
    _HELD_OUT_TEXT,
    multiple=True,
    type=PathName(Use.READ, Path),
    metavar="[SOURCE] TARGET",
    help="Texts to hold out instead of a part of the inputs: dev source and reference, or for a "
    "language model one text.",
)
@click.option(
    "--max-length",
    type=WORDS,
    metavar="N",
    help=f"Leave out sentences of more words on either side.  [default: {MAX_LENGTH}]",
)
@click.option(
    "--dropout",
    type=Real(0, 1, below=True),
    help=f"Of models of sentences: share of units set to 0 in training.  [default: {DROPOUT}; "
    f"language models: {DROPOUT_OF_TEXT}; "
    "paper: 0]",
)
@click.option(
    "--label-smoothing",
    type=Real(0, 1, below=True),
    help=f"Of models of sentences.  [default: {LABEL_SMOOTHING}; paper, language models: 0]",
)
@click.option(
    "--seed", type=SEED, default=1, help="For the weights, the order and the held-out pairs."
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "bf16", "fp32"]),
    default="auto",
    help="Of matrix products; auto: bf16 with recipe fast where the hardware has it, but not for "
    "small models of small tables on a CPU.",
)
@device_option
@click.option("--threads", type=THREADS, help="Cores to use.  [default: all]")
@click.option(
    "--checkpoint-every",
    type=Duration(),
    default="5m",
    help="How often to save the state from which the same command continues.",
)
@click.option(
    "--tensorboard",
    type=PathName(Use.WRITE_FOLDER, Path),
    metavar="FOLDER",
    help="Also write curves for TensorBoard (extra: tensorboard).",
)
@click.option("--overwrite", is_flag=True, help="Start again, whatever is there; replaces a model.")
def train(
    paths: tuple[Path, ...],
    max_time: float | None,
    held_out_text: tuple[Path, ...],
    **options: Any,
) -> None:
    """Learn p(target | source), or p(text), and write the model to the folder MODEL/.

    Models of phrases learn from a phrase table, in which each distinct pair counts once:

    \b
      phrasescore train phrase-table.gz MODEL/

    Models of sentences, with attention (search) or without (encdec), learn from two texts that are
    line by line translations of each other:

    \b
      phrasescore train train.en train.fr MODEL/ --kind search

    Language models learn from one text:

    \b
      phrasescore train train.fr MODEL/ --kind feed-forward-lm

    While it runs, its state is in MODEL.training/; after Ctrl-C or a crash, the same command
    continues. A finished model is trained further by the same command with a larger --max-time or
    --max-epochs. Under torchrun, several processes share the work.
    """  # noqa: D301 - click knows a paragraph that keeps its lines by this character
    from phrasescore.training.session import train_model

    refuse_unwritable_folder(paths[-1])
    train_model(request_of(paths, max_time, held_out_text, **options))


def request_of(
    paths: tuple[Path, ...],
    max_time: float | None,
    held_out_text: tuple[Path, ...],
    **options: Any,
) -> TrainingRequest:
    """Return what a command line asks for.

    Raises:
        SettingsError: The kind of model does not have an option, or options contradict each other.
    """
    from phrasescore.training.request import TrainingRequest

    sizes = {name: options.pop(name) for name in (*SIZES, "self_normalise")}
    given = {name: value for name, value in sizes.items() if value is not None}
    return TrainingRequest(
        inputs=paths[:-1],
        model=paths[-1],
        sizes=given,
        max_seconds=max_time,
        held_out_text=held_out_text or None,
        **options,
    )
