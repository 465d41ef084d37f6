"""The settings of ``train``: each option is declared here once, with its default, bounds and help.

``phrasescore/commands/train.py`` makes the command line from the fields of
:class:`TrainingSettings`, and ``phrasescore/training`` reads them. This module does not import
torch, so that ``--help`` is quick.
"""

# ruff: noqa: RUF009 - _option and _size return a dataclasses.field

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from phrasescore.closed_settings import Between, check_bounds
from phrasescore.errors import SettingsError, counted
from phrasescore.model.kinds import KINDS, Kind, Material, kind_named, read_settings
from phrasescore.model.model_settings import (
    ContextName,
    Direction,
    EncoderDecoderSettings,
    FeedForwardLmSettings,
    FeedForwardPhraseSettings,
    Formulation,
    ModelSettings,
    Reading,
    UnitName,
)
from phrasescore.words import PAPER_SENTENCE_WORDS, SHORTLIST_WORDS

T = TypeVar("T")
RecipeName = Literal["fast", "paper"]

INPUT = "sha256 of the input"  # a key of the result of `TrainingSettings.asked`
DEFAULT_EPOCHS = 10
MAX_LENGTH = 50  # maximum words of a training sentence; the larger of the paper's two limits
HELD_OUT_SHARE_OF_TEXT = 1000  # one sentence in a thousand is held out, as in the paper


@dataclass(frozen=True)
class Defaults:
    """Defaults that depend on recipe and material.

    Attributes:
        patience: A run ends after this many evaluations without gain; 0: no limit.
        held_out_sources: Number of pairs held out so that their sources occur in no training pair.
            For a text: the minimum number of held-out sentences.
        held_out_pairs: Number of pairs held out at random. It is 0 for sentences: almost every
            source occurs once, so pairs drawn at random have unseen sources anyway.
        dropout: Share of the units that is dropped.
        label_smoothing: Share of the probability that is spread over all words.
        evaluations: Number of evaluations in a run; ``None``: one after each pass.
        shortlist: Number of words in the shortlist of each side.
    """

    patience: int = 0
    held_out_sources: int = 0
    held_out_pairs: int = 0
    dropout: float = 0.0
    label_smoothing: float = 0.0
    evaluations: int | None = 10
    shortlist: int = SHORTLIST_WORDS


# In the papers, training of translation models holds nothing out and never stops early. Training
# of the language model stops after 10 passes without gain.
DEFAULTS: dict[tuple[Material, RecipeName], Defaults] = {
    ("phrases", "fast"): Defaults(patience=5, held_out_sources=5000, held_out_pairs=5000),
    ("phrases", "paper"): Defaults(),
    ("sentences", "fast"): Defaults(
        patience=5, held_out_sources=1000, dropout=0.3, label_smoothing=0.1
    ),
    ("sentences", "paper"): Defaults(shortlist=PAPER_SENTENCE_WORDS),
    ("text", "fast"): Defaults(patience=5, held_out_sources=500, dropout=0.15),
    ("text", "paper"): Defaults(patience=10, held_out_sources=500, evaluations=None),
}
_PHRASES, _PAPER = DEFAULTS["phrases", "fast"], DEFAULTS["phrases", "paper"]
_SENTENCES, _TEXT = DEFAULTS["sentences", "fast"], DEFAULTS["text", "fast"]
_PAPER_TEXT = DEFAULTS["text", "paper"]

_PHRASE, _LM = EncoderDecoderSettings, FeedForwardLmSettings
_FEED_FORWARD = FeedForwardPhraseSettings
_FAST, _FAST_LM, _FAST_RNN = (
    kind_named(name).fast_sizes for name in ("search", "feed-forward-lm", "rnn-lm")
)
_SELF_NORMALISE = 0.1  # Devlin et al. (2014), section 2.2
_SHORTLIST_DEFAULT = (
    f"[default: {SHORTLIST_WORDS}; search, encdec with --recipe paper: {PAPER_SENTENCE_WORDS}]"
)

Often = Annotated[int, Between(1, 10**9)]
OftenOrNever = Annotated[int, Between(0, 10**9)]
# number of units in a layer; with the maximum, a square matrix has 2^30 weights
Units = Annotated[int, Between(1, 1 << 15)]
# a number of pairs, of sentences, or of words in a shortlist
Items = Annotated[int, Between(1, 10**12)]
ItemsOrNone = Annotated[int, Between(0, 10**12)]
Share = Annotated[float, Between(0, 1, below=True)]
_TEN_YEARS = 10 * 366 * 86400  # in seconds


def _option(default: Any, text: str, of: str | None = None, /, **more: Any) -> Any:
    """Declare a field that is an option of ``train``.

    Args:
        default: Value if the option is not given; ``None`` if it depends on other settings.
        text: Help text.
        of: Attribute of :class:`Kind` that is true if the kind has this option; ``None`` if all
            kinds have it.
        more: Further arguments for click.
    """
    return field(default=default, metadata={"of": of, "click": {"text": text, **more}})


def _size(text: str, metavar: str = "N", **more: Any) -> Any:
    """Declare an option for the model's setting of the same name, for kinds with this setting."""
    click = {"text": text, "metavar": metavar, **more}
    return field(default=None, metadata={"size": True, "click": click})


@dataclass(frozen=True)
class TrainingSettings:
    """The arguments and options of ``train``.

    An option whose default depends on other options is ``None`` if it is not given; some of these
    defaults are filled in by :meth:`in_force`.

    Attributes:
        inputs: The files to learn from: one or two, as the kind requires.
        model: The folder to write.
    """

    kind: str = _option(
        KINDS[0].option,
        "The kind of model. "
        + "; ".join(f"{kind.option} takes {' '.join(kind.inputs)} MODEL/" for kind in KINDS)
        + ".",
    )
    inputs: tuple[Path, ...] = ()
    model: Path = Path("model")
    recipe: RecipeName = _option(
        "fast",
        "fast: Adam, batches of one length, a decaying learning rate; the best model is kept. "
        "paper: Adadelta and the authors' batches; nothing is held out, and the last model is "
        "kept.",
    )
    max_epochs: OftenOrNever | None = _option(
        None,
        "The maximum number of passes over the pairs; 0 writes the untrained model.  [default: "
        f"{DEFAULT_EPOCHS} unless --max-time is given]",
    )
    max_time: Annotated[float, Between(0, _TEN_YEARS, above=True)] | None = _option(
        None,
        "Stop after this wall-clock time, such as 45m or 2h. With --recipe fast, the learning rate "
        "decays over this time. Reading the input and compiling do not count.",
        metavar="TIME",
    )
    patience: OftenOrNever | None = _option(
        None,
        "Stop after this many evaluations without a better result on unseen sources; 0: never.  "
        f"[default: {_PHRASES.patience}, with --recipe paper {_PAPER.patience}; language models "
        f"with --recipe paper: {_PAPER_TEXT.patience}]",
    )
    evaluations: Often | None = _option(
        None,
        "The number of times that a run scores the held-out pairs.  [default: "
        f"{_PHRASES.evaluations}; language models with --recipe paper: once after each pass]",
    )
    self_normalise: float | None = _size(
        "For feed-forward-lm: keep the softmax normaliser Z near 1, so that a decoder need not "
        f"compute it. WEIGHT is the weight of (ln Z)^2 in the loss, by default {_SELF_NORMALISE}.  "
        "[default: off]",
        "[WEIGHT]",
        is_flag=False,
        flag_value=str(_SELF_NORMALISE),
    )
    hidden: Units | None = _size(
        f"The number of hidden units.  [default: {_PHRASE.hidden}; feed-forward-phrase: "
        f"{_FEED_FORWARD.hidden}; search, encdec: {_FAST['hidden']}, with --recipe paper 1000; "
        f"feed-forward-lm: {_FAST_LM['hidden']}, with --recipe paper {_LM.hidden}; rnn-lm: "
        f"{_FAST_RNN['hidden']}, with --recipe paper 1000]"
    )
    second_hidden: Units | None = _size(
        "For feed-forward-lm: the number of units in the second hidden layer.  [default: "
        f"{_FAST_LM['second_hidden']}, with --recipe paper {_LM.second_hidden}]"
    )
    order: Annotated[int, Between(2, 100)] | None = _size(
        "For feed-forward-lm: the length of n-grams, that is, the predicted word and the words "
        f"before it.  [default: {_LM.order}]"
    )
    embedding: Units | None = _size(
        f"The size of word vectors.  [default: {_PHRASE.embedding}; search, encdec: "
        f"{_FAST['embedding']}, with --recipe paper 620; feed-forward-lm: "
        f"{_FAST_LM['embedding']}, with --recipe paper {_LM.embedding}; rnn-lm: "
        f"{_FAST_RNN['embedding']}, with --recipe paper 100]"
    )
    maxout: Units | None = _size("The number of maxout units.  [default: half of --hidden]")
    rank: Units | None = _size(
        f"The inner size of the factored output layer.  [default: {_PHRASE.rank}; search, encdec: "
        f"{_FAST['rank']}, with --recipe paper 620; rnn-lm: {_FAST_RNN['rank']}, with --recipe "
        "paper 100]"
    )
    alignment: Units | None = _size(
        "For search: the number of alignment units.  [default: --hidden]"
    )
    unit: UnitName | None = _size(
        f"The hidden unit: gated, tanh or lstm.  [default: {_PHRASE.unit}]", "NAME"
    )
    context: ContextName | None = _size(
        "When the decoder reads the summary of the source: every-step, or once, at its start.  "
        f"[default: {_PHRASE.context}]",
        "NAME",
    )
    phrase_length: Annotated[int, Between(1, 1000)] | None = _size(
        "For feed-forward-phrase: the maximum length of a phrase.  [default: "
        f"{_FEED_FORWARD.phrase_length}]"
    )
    formulation: Formulation | Reading | None = _size(
        "The equations to follow. code: the authors' program; appendix: the appendix of the "
        "paper; for search and encdec, paper: section 3.1 of their paper.  [default: "
        f"{_PHRASE.formulation}]",
        "NAME",
    )
    direction: Direction | None = _size(
        "source-target: read the source and predict the target; target-source: the reverse.  "
        f"[default: {_PHRASE.direction}]",
        "NAME",
    )
    factor: Annotated[int, Between(0, 99)] | None = _size(
        "The factor of tokens such as surface|tag to read, counted from 0.  [default: "
        f"{_PHRASE.factor}]"
    )
    source_words: Items | None = _option(
        None, f"The size of the source shortlist.  {_SHORTLIST_DEFAULT}", "reads_source"
    )
    target_words: Items | None = _option(
        None, f"The size of the target shortlist.  {_SHORTLIST_DEFAULT}"
    )
    byte_pairs: Annotated[int, Between(1, 10**6)] | None = _option(
        None,
        "Cut rare words into pieces by N byte-pair merges, learnt from both texts. Then no word is "
        "unknown, and the vocabulary is smaller. Needs pip install 'phrasescore[byte-pairs]'.  "
        "[default: whole words]",
        "translates",
        metavar="N",
    )
    batch_size: Annotated[int, Between(1, 10**6)] | None = _option(
        None,
        "The number of pairs in an update.  [default: depends on the size of the table, with "
        "--recipe paper 64; search, encdec: 64, with --recipe paper 80; language models: 64 "
        "sentences]",
    )
    learning_rate: Annotated[float, Between(0, 100, above=True)] | None = _option(
        None,
        "The maximum learning rate.  [default: depends on the recipe; higher for small models of "
        "phrases]",
    )
    held_out_sources: ItemsOrNone | None = _option(
        None,
        "The number of held-out pairs whose sources occur in no training pair.  [default: "
        f"{_PHRASES.held_out_sources}; search, encdec: {_SENTENCES.held_out_sources}; with "
        f"--recipe paper: {_PAPER.held_out_sources}]",
        "reads_source",
    )
    held_out_pairs: ItemsOrNone | None = _option(
        None,
        "The number of pairs (for a language model, sentences) to hold out at random, besides "
        "--held-out-sources.  "
        f"[default: {_PHRASES.held_out_pairs}; search, encdec: 0; with --recipe paper: "
        f"{_PAPER.held_out_pairs}; language models: one sentence in 1,000, at least "
        f"{_TEXT.held_out_sources}]",
    )
    held_out_text: tuple[Path, ...] = _option(
        (),
        "Texts to hold out instead of a part of the inputs: source and reference of a dev set, "
        "or one text for a language model.",
        "of_sentences",
        metavar="[SOURCE] TARGET",
        multiple=True,
    )
    max_length: Annotated[int, Between(1, 10_000)] | None = _option(
        None,
        f"Leave out pairs with more words on either side.  [default: {MAX_LENGTH}]",
        "of_sentences",
        metavar="N",
    )
    dropout: Share | None = _option(
        None,
        "For models of sentences: the share of units to set to 0 in training.  [default: "
        f"{_SENTENCES.dropout}; language models: {_TEXT.dropout}; with --recipe paper: 0]",
        "of_sentences",
    )
    label_smoothing: Share | None = _option(
        None,
        "For models of sentences: the share of the target probability that is spread evenly over "
        "all words in training.  [default: "
        f"{_SENTENCES.label_smoothing}; language models, or with --recipe paper: 0]",
        "of_sentences",
    )
    # up to 2^53, which stays exact if a JSON reader turns it into a floating-point number
    seed: Annotated[int, Between(0, 1 << 53)] = _option(
        1, "The seed for initial weights, the order of pairs and the held-out pairs."
    )
    precision: Literal["auto", "bf16", "fp32"] = _option(
        "auto",
        "The precision of matrix products. With --recipe fast, auto is bf16 if the hardware has "
        "it, except for small models of small tables on a CPU; otherwise auto is fp32.",
    )
    device: str = "auto"
    threads: Annotated[int, Between(1, 256)] | None = _option(None, "Cores to use.  [default: all]")
    checkpoint_every: Annotated[float, Between(0, _TEN_YEARS)] = _option(
        300.0,
        "The time between saves of the training state, from which the same command continues.",
        default="5m",
        metavar="TIME",
    )
    overwrite: bool = _option(
        False, "Start again, and replace an existing training state or model."
    )

    def __post_init__(self) -> None:
        """Raise an error for a number that is out of bounds."""
        check_bounds(self)

    def check(self) -> None:
        """Check options and the number of files before any file is read.

        Raises:
            SettingsError: The kind of model lacks an option, or options contradict each other.
        """
        kind = self.model_kind
        if len(self.inputs) != len(kind.inputs):
            raise SettingsError(
                f"--kind {kind.option} takes {' '.join(kind.inputs)} MODEL/, but got "
                f"{counted(len(self.inputs) + 1, 'name')}"
            )
        for each in sorted(dataclasses.fields(self), key=lambda each: each.name):
            if getattr(self, each.name) in (None, ()) or _has(kind, each):
                continue
            others = [f"--kind {other.option}" for other in KINDS if _has(other, each)]
            raise SettingsError(
                f"--{each.name.replace('_', '-')} is not an option of --kind {kind.option}",
                remedy=f"it belongs to {' and '.join(others)}",
            )
        if self.held_out_text and len(self.held_out_text) != len(kind.inputs):
            raise SettingsError(
                f"--held-out-text of --kind {kind.option} takes {' '.join(kind.inputs)}, but got "
                f"{counted(len(self.held_out_text), 'name')}"
            )
        if self.held_out_text and (self.held_out_sources or self.held_out_pairs):
            raise SettingsError(
                "both a held-out text and a held-out part of the texts are given",
                remedy="leave out --held-out-text, or --held-out-sources and --held-out-pairs",
            )
        if self.byte_pairs and (self.source_words or self.target_words):
            raise SettingsError(
                "with --byte-pairs all pieces of words are known, so there is no shortlist",
                remedy="leave out --source-words and --target-words",
            )
        self.model_settings(2, 2)  # refuses invalid values before hours of reading

    @property
    def model_kind(self) -> Kind:
        """The kind of model.

        Raises:
            SettingsError: There is no kind of this name.
        """
        return kind_named(self.kind)

    @property
    def learns_from(self) -> Material:
        """The material that the kind learns from: phrases, sentences or a text."""
        return self.model_kind.learns_from

    @property
    def defaults(self) -> Defaults:
        """The defaults of this material and recipe."""
        return DEFAULTS[self.learns_from, self.recipe]

    @property
    def files(self) -> tuple[Path, ...]:
        """All input files."""
        return (*self.inputs, *self.held_out_text)

    @property
    def work_folder(self) -> Path:
        """The folder that holds the run's state until the model is complete."""
        return self.model.with_name(f"{self.model.name}.training")

    @property
    def shortlists(self) -> tuple[int, int]:
        """Sizes of the source and the target shortlist."""
        usual = self.defaults.shortlist
        return self.source_words or usual, self.target_words or usual

    @property
    def length_limit(self) -> int:
        """Maximum number of words of a training sentence."""
        return self.max_length or MAX_LENGTH

    def held_out_of(self, pairs: int) -> tuple[int, int]:
        """Return how many of ``pairs`` pairs, if there are enough, to hold out.

        The first number is for pairs held out by source, the second for pairs drawn at random.
        """
        if self.held_out_text:
            return 0, 0
        usual = self.defaults
        if self.learns_from == "text":
            # equal sentences are held out together, like the pairs of one source
            share = max(usual.held_out_sources, pairs // HELD_OUT_SHARE_OF_TEXT)
            return _given(self.held_out_pairs, share), 0
        return (
            _given(self.held_out_sources, usual.held_out_sources),
            _given(self.held_out_pairs, usual.held_out_pairs),
        )

    def in_force(self) -> TrainingSettings:
        """Fill in the defaults of epochs, patience, evaluations, dropout and label smoothing."""
        usual, epochs = self.defaults, self.max_epochs
        patience = _given(self.patience, usual.patience)
        # in the paper, only patience ends the training of a language model
        ends_itself = usual.evaluations is None and patience
        if epochs is None and self.max_time is None and not ends_itself:
            epochs = DEFAULT_EPOCHS
        return dataclasses.replace(
            self,
            max_epochs=epochs,
            patience=patience,
            evaluations=_given(self.evaluations, usual.evaluations),
            dropout=_given(self.dropout, usual.dropout),
            label_smoothing=_given(self.label_smoothing, usual.label_smoothing),
        )

    def asked(self, precision: str, input_digest: str) -> dict[str, Any]:
        """Return everything that the weights depend on, as JSON values."""
        settings, kind = self.in_force(), self.model_kind
        names = ["kind", "recipe", "source_words", "target_words", "batch_size", "learning_rate"]
        names += ["seed", "max_epochs", "patience", "evaluations"]
        if kind.of_sentences:
            names += ["dropout", "label_smoothing"]
        left_out = {"kind", "source_vocabulary", "target_vocabulary"}
        defaults = {each.name: each.default for each in dataclasses.fields(kind.settings)}
        return {
            **{name: value for name, value in defaults.items() if name not in left_out},
            **self._sizes,
            **({"max_length": self.length_limit} if kind.of_sentences else {}),
            **({"byte_pairs": self.byte_pairs} if self.byte_pairs else {}),
            **{name: getattr(settings, name) for name in names},
            "max_seconds": self.max_time,
            "held_out": list(self.held_out_of(0)),
            "precision": precision,
            INPUT: input_digest,
        }

    def model_settings(self, source_vocabulary: int, target_vocabulary: int) -> ModelSettings:
        """Return the settings of the model to train.

        Raises:
            SettingsError: A value is invalid for the kind.
        """
        kind = self.model_kind
        values = {
            "kind": kind.name,
            "source_vocabulary": source_vocabulary if kind.reads_source else 0,
            "target_vocabulary": target_vocabulary,
            **self._sizes,
        }
        return read_settings(values, where=f"--kind {kind.option}")

    @property
    def _sizes(self) -> dict[str, Any]:
        """The model's settings from the command line and from the recipe."""
        kind = self.model_kind
        given = {
            each.name: getattr(self, each.name)
            for each in dataclasses.fields(self)
            if "size" in each.metadata and getattr(self, each.name) is not None
        }
        usual = kind.fast_sizes if self.recipe == "fast" else {}
        return kind.settings.completed({**usual, **given})


def _has(kind: Kind, option: dataclasses.Field[Any]) -> bool:
    """Tell whether a kind of model has an option."""
    if option.name == "direction":
        return kind.reads_source
    if "size" in option.metadata:
        return option.name in {each.name for each in dataclasses.fields(kind.settings)}
    of = option.metadata.get("of")
    return of is None or bool(getattr(kind, of))


def _given(value: T | None, default: T) -> T:
    return default if value is None else value
