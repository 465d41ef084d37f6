"""``phrasescore train``: learn p(target | source) from a phrase table or two texts, or p(text)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import click

from phrasescore.commands.declarations import argument, command, flag, option
from phrasescore.commands.options import (
    BATCH,
    CORES,
    FACTOR,
    ITEMS,
    SEED,
    WORDS,
    BoundedFloat,
    BoundedInt,
    Device,
)
from phrasescore.commands.paths import PathName, Use, refuse_unwritable_folder, warn_of_raw_text
from phrasescore.errors import InputError
from phrasescore.model.kinds import KINDS, EncoderDecoderSettings
from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.table.input_files import misaligned_files, read_lines
from phrasescore.table.phrase_table import PIPES
from phrasescore.training.settings import (
    DEFAULT_EPOCHS,
    DEFAULTS,
    MAX_LENGTH,
    RecipeName,
    TrainingSettings,
)
from phrasescore.words import PAPER_SENTENCE_WORDS, SHORTLIST_WORDS

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 3660 * _UNITS["d"]

# defaults that the help shows
_PHRASES, _PAPER = DEFAULTS["phrases", "fast"], DEFAULTS["phrases", "paper"]
_SENTENCES, _TEXT = DEFAULTS["sentences", "fast"], DEFAULTS["text", "fast"]
_PAPER_TEXT = DEFAULTS["text", "paper"]
_SELF_NORMALISE = 0.1  # Devlin et al. (2014), section 2.2
_SHORTLIST = (
    f"[default: {SHORTLIST_WORDS}; search, encdec with --recipe paper: {PAPER_SENTENCE_WORDS}]"
)

_OFTEN, _OFTEN_OR_NEVER = BoundedInt(1, 10**9), BoundedInt(0, 10**9)
# number of units in a layer; with the maximum, a square matrix has 2^30 weights
_LAYER = BoundedInt(1, 1 << 15)
_ITEMS_OR_NONE = BoundedInt(0, 10**12)
_SHARE = BoundedFloat(0, 1, max_open=True)


def duration(text: str) -> float:
    """Return the seconds in a time like 90s, 45m, 2h or 1h30m; a plain number is seconds."""
    text = text.strip().lower()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        text += "s"
    if not re.fullmatch(r"([0-9]+(\.[0-9]+)?[smhd])+", text):
        raise click.BadParameter(f"{text[:30]!r} is not a time; write 90s, 45m, 2h or 1h30m")
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([smhd])", text)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not seconds:
        raise click.BadParameter("the time must be above 0")
    if seconds > _LONGEST:
        raise click.BadParameter(f"{text[:30]!r} is longer than ten years")
    return seconds


def _usual_sizes(name: str) -> str:
    """Return the defaults of a size: first that of the first kind that has it, then the others."""
    kinds_with: dict[str, list[str]] = {}
    for kind in KINDS:
        if (of_paper := getattr(kind.settings, name, None)) is not None:
            usual = kind.fast_sizes.get(name, of_paper)
            text = f"{usual}" if usual == of_paper else f"{usual}, with --recipe paper {of_paper}"
            kinds_with.setdefault(text, []).append(kind.option)
    first, *others = kinds_with
    return "; ".join([first, *(f"{', '.join(kinds_with[text])}: {text}" for text in others)])


class TrainOptions(Device):
    """Options of ``train``; an option with another default for each kind is ``None``."""

    paths: tuple[Path, ...] = argument(
        PathName(Use.READ, Path), "INPUT... MODEL/", nargs=-1, required=True
    )
    kind: str = option(
        [kind.option for kind in KINDS],
        "The kind of model. "
        + "; ".join(f"{kind.option} takes {' '.join(kind.inputs)} MODEL/" for kind in KINDS)
        + ".",
        default=KINDS[0].option,
    )
    recipe: RecipeName = option(
        ["fast", "paper"],
        "fast: Adam, batches of one length, a decaying learning rate; the best model is kept. "
        "paper: Adadelta and the authors' batches; nothing is held out, and the last model is "
        "kept.",
        default="fast",
    )
    max_epochs: int | None = option(
        _OFTEN_OR_NEVER,
        "The maximum number of passes over the pairs; 0 writes the untrained model.  [default: "
        f"{DEFAULT_EPOCHS} unless --max-time is given]",
    )
    max_time: float | None = option(
        duration,
        "Stop after this wall-clock time, such as 90 (seconds), 45m or 2h. With --recipe fast, the "
        "learning rate decays over this time. Reading the input and compiling do not count.",
        metavar="TIME",
    )
    patience: int | None = option(
        _OFTEN_OR_NEVER,
        "Stop after this many evaluations without a better result on unseen sources; 0: never.  "
        f"[default: {_PHRASES.patience}, with --recipe paper {_PAPER.patience}; language models "
        f"with --recipe paper: {_PAPER_TEXT.patience}]",
    )
    evaluations: int | None = option(
        _OFTEN,
        "The number of times that a run scores the held-out pairs.  [default: "
        f"{_PHRASES.evaluations}; language models with --recipe paper: once after each pass]",
    )
    self_normalise: float | None = option(
        BoundedFloat(0, 1e6, min_open=True),
        "For feed-forward-lm: keep the softmax normaliser Z near 1, so that a decoder need not "
        f"compute it. WEIGHT is the weight of (ln Z)^2 in the loss, by default {_SELF_NORMALISE}.  "
        "[default: off]",
        is_flag=False,
        flag_value=str(_SELF_NORMALISE),
        metavar="[WEIGHT]",
    )
    hidden: int | None = option(
        _LAYER,
        f"The number of hidden units.  [default: {_usual_sizes('hidden')}; phrase and search with "
        "--max-time on a CPU: as many as the time allows at its speed]",
    )
    second_hidden: int | None = option(
        _LAYER,
        "For feed-forward-lm: the number of units in the second hidden layer.  [default: "
        f"{_usual_sizes('second_hidden')}]",
    )
    order: int | None = option(
        BoundedInt(2, 100),
        "For feed-forward-lm: the length of n-grams, that is, the predicted word and the words "
        f"before it.  [default: {_usual_sizes('order')}]",
    )
    embedding: int | None = option(
        _LAYER, f"The size of word vectors.  [default: {_usual_sizes('embedding')}]"
    )
    maxout: int | None = option(_LAYER, "The number of maxout units.  [default: half of --hidden]")
    rank: int | None = option(
        _LAYER, f"The inner size of the factored output layer.  [default: {_usual_sizes('rank')}]"
    )
    alignment: int | None = option(
        _LAYER, "For search: the number of alignment units.  [default: --hidden]"
    )
    unit: str | None = option(
        "NAME", f"The hidden unit: gated, tanh or lstm.  [default: {EncoderDecoderSettings.unit}]"
    )
    context: str | None = option(
        "NAME",
        "When the decoder reads the summary of the source: every-step, or once, at its start.  "
        f"[default: {EncoderDecoderSettings.context}]",
    )
    phrase_length: int | None = option(
        BoundedInt(1, 1000),
        "For feed-forward-phrase: the maximum length of a phrase.  [default: "
        f"{_usual_sizes('phrase_length')}]",
    )
    formulation: str | None = option(
        "NAME",
        "The equations to follow. code: the authors' program; appendix: the appendix of the "
        "paper; for search and encdec, paper: section 3.1 of their paper.  [default: "
        f"{EncoderDecoderSettings.formulation}]",
    )
    direction: str | None = option(
        "NAME",
        "source-target: read the source and predict the target; target-source: the reverse.  "
        f"[default: {EncoderDecoderSettings.direction}]",
    )
    factor: int | None = option(
        FACTOR,
        "The factor of tokens such as surface|tag to read, counted from 0.  [default: "
        f"{EncoderDecoderSettings.factor}]",
    )
    source_words: int | None = option(ITEMS, f"The size of the source shortlist.  {_SHORTLIST}")
    target_words: int | None = option(ITEMS, f"The size of the target shortlist.  {_SHORTLIST}")
    byte_pairs: int | None = option(
        BATCH,
        "Cut rare words into pieces by N byte-pair merges, learnt from both texts. Then only words "
        "with a new character are unknown, and the vocabulary is smaller. Needs pip install "
        "'phrasescore[byte-pairs]'.  [default: whole words]",
    )
    batch_size: int | None = option(
        BATCH,
        "The number of pairs in an update.  [default: depends on the size of the table, with "
        "--recipe paper 64; search, encdec: 64, or 16 for up to 20,000 pairs, with --recipe "
        "paper 80; language models: 64 sentences, or 16 for a text of up to 8,000]",
    )
    learning_rate: float | None = option(
        BoundedFloat(0, 100, min_open=True),
        "The maximum learning rate.  [default: depends on the recipe; higher for small models]",
    )
    held_out_sources: int | None = option(
        _ITEMS_OR_NONE,
        "The number of held-out pairs whose sources occur in no training pair.  [default: "
        f"{_PHRASES.held_out_sources}; search, encdec: {_SENTENCES.held_out_sources}; with "
        f"--recipe paper: {_PAPER.held_out_sources}]",
    )
    held_out_pairs: int | None = option(
        _ITEMS_OR_NONE,
        "The number of pairs (for a language model, sentences) to hold out at random, besides "
        f"--held-out-sources.  [default: {_PHRASES.held_out_pairs}; search, encdec: 0; with "
        f"--recipe paper: {_PAPER.held_out_pairs}; language models: one sentence in 1,000, at "
        f"least {_TEXT.held_out_sources}]",
    )
    held_out_text: tuple[Path, ...] = option(
        PathName(Use.READ, Path),
        "A text to hold out instead of a part of the inputs. Except for a language model, give the "
        "option twice: for the source and for the reference of a dev set.",
        many=True,
    )
    max_length: int | None = option(
        WORDS, f"Leave out pairs with more words on either side.  [default: {MAX_LENGTH}]"
    )
    dropout: float | None = option(
        _SHARE,
        "For models of sentences: the share of units to set to 0 in training.  [default: "
        f"{_SENTENCES.dropout}; language models: {_TEXT.dropout}; with --recipe paper: 0]",
    )
    label_smoothing: float | None = option(
        _SHARE,
        "For models of sentences: the share of the target probability that is spread evenly over "
        "all words in training.  [default: "
        f"{_SENTENCES.label_smoothing}; language models, or with --recipe paper: 0]",
    )
    seed: int = option(
        SEED, "The seed for initial weights, the order of pairs and the held-out pairs.", default=1
    )
    precision: Literal["auto", "bf16", "fp32"] = option(
        ["auto", "bf16", "fp32"],
        "The precision of matrix products. With --recipe fast, auto is bf16 if the hardware has "
        "it, except for small models of small tables on a CPU; otherwise auto is fp32.",
        default="auto",
    )
    threads: int | None = CORES
    checkpoint_every: float | None = option(
        duration,
        "The time between saves of the training state, from which the same command continues.  "
        "[default: a tenth of --max-time, but 30s at least and 5m at most]",
        metavar="TIME",
    )
    overwrite: bool = flag("Start again, and replace an existing training state or model.")

    @property
    def training(self) -> TrainingSettings:
        """The settings of the training."""
        return self.settings(TrainingSettings, inputs=self.paths[:-1], model=self.paths[-1])

    def check(self) -> None:
        """Refuse options that the kind of model lacks, and a wrong number of files."""
        self.training.check()


@command("train", TrainOptions)
def train(options: TrainOptions) -> None:
    """Learn p(target | source), or p(text), and write the model to the folder MODEL/.

    Models of phrases learn from a phrase table, in which each distinct pair counts once:

    \b
      phrasescore train phrase-table.gz MODEL/

    Models of sentences, with attention (search) or without (encdec), learn from two texts that are
    line by line translations of each other:

    \b
      phrasescore train train.en train.fr MODEL/ --kind search

    Language models learn from one or more texts:

    \b
      phrasescore train train.fr more.fr MODEL/ --kind feed-forward-lm

    MODEL.training/ holds the state of the training; after Ctrl-C or a crash, the same command
    continues. To train a finished model further, give the same command a larger --max-time or
    --max-epochs.
    """  # noqa: D301 - this character tells click to keep the lines of a paragraph
    from phrasescore.training.session import train_model

    refuse_unwritable_folder(options.paths[-1])
    texts, kind = options.paths[:-1], options.training.model_kind
    warn_of_raw_text(texts if kind.of_sentences else ())
    of_phrases = kind.learns_from == "phrases"
    for path in filter(can_be_read_again, texts):
        if (PIPES in next(read_lines(path), PIPES * of_phrases)) != of_phrases:
            problem = "this is a phrase table: its first line has |||"
            remedy = "to train a model of phrases on it, give --kind phrase"
            if of_phrases:
                problem = "this is not a phrase table: its first line has no |||"
                remedy = "to train a language model on a text, give --kind feed-forward-lm"
            raise InputError(problem, path=path, remedy=remedy)
    if kind.translates and (warning := misaligned_files(*texts)) is not None:
        click.echo(f"warning: {warning}", err=True)
    train_model(options.training)
