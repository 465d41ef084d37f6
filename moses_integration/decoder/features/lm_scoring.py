"""Language model scores of phrases during the search, from all models of a system together.

The arrays of all models are joined, and the states of all models are combined into one integer (in
mixed radix). Most words of a phrase are scored once, when the phrase is loaded: only its first
word or first few words depend on the words before the phrase. Each thread caches recent
lookups in a small table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.automaton import (
    EMPTY_STATE,
    NODE,
    SLOT,
    UNIGRAM,
    AutomatonTables,
    class_of,
    score,
)
from moses_integration.language_model.back_off import LN_10, ArrayLanguageModel
from phrasescore.compiled import Records, borrowed, compiled, inlined
from phrasescore.errors import SettingsError
from phrasescore.words.hashing import PAIR_FACTOR, find_pair, pair_key
from phrasescore.words.token_sequences import offsets_of

_LARGEST_STATE = 2**62
_RECENT_BITS = 14  # the table fits into the private cache of a core
_RECENT_SHIFT = np.uint64(64 - _RECENT_BITS)
_NO_ENTRY = -1


class LanguageModels(NamedTuple):
    """The models of a system in joined arrays, with the offsets of each model.

    Attributes:
        tables: The arrays of all models, joined.
        word_offsets: The start of each model's words, shape (models + 1,).
        node_offsets: The start of each model's nodes, shape (models + 1,).
        slot_offsets: The start of each model's slots, shape (models + 1,).
        order: The order of each model, shape (models,).
        end_word: The id of ``</s>`` in each model, shape (models,).
        begin_state: One number, the joint state after ``<s>``.
    """

    tables: AutomatonTables
    word_offsets: NDArray[np.int64]
    node_offsets: NDArray[np.int64]
    slot_offsets: NDArray[np.int64]
    order: NDArray[np.int64]
    end_word: NDArray[np.int64]
    begin_state: NDArray[np.int64]


def join_models(models: Sequence[ArrayLanguageModel]) -> LanguageModels:
    """Join the arrays of models; a single model is not copied.

    Raises:
        SettingsError: The joint state does not fit into one 64-bit number.
    """
    nodes = [model.tables.nodes.size for model in models]
    begin_state, radix = 0, 1
    for model, count in zip(models, nodes, strict=True):
        begin_state += radix * model.begin_state
        radix *= count
    if radix >= _LARGEST_STATE:
        raise SettingsError(
            "the language models together are too large for this decoder",
            remedy="interpolate them into one model",
        )
    none = AutomatonTables(np.zeros(1, UNIGRAM), np.zeros(1, NODE), np.zeros(1, SLOT))
    tables = [model.tables for model in models] or [none]
    return LanguageModels(
        tables=tables[0]
        if len(tables) == 1
        else AutomatonTables(*map(np.concatenate, zip(*tables, strict=False))),
        word_offsets=offsets_of([model.tables.unigrams.size for model in models]),
        node_offsets=offsets_of(nodes),
        slot_offsets=offsets_of([model.tables.slots.size for model in models]),
        order=np.array([model.order for model in models], np.int64),
        end_word=np.array([model.end_word for model in models], np.int64),
        begin_state=np.array([begin_state], np.int64),
    )


@inlined
def model_tables(models: LanguageModels, model: int) -> AutomatonTables:
    """Return the tables of one of the models."""
    words, nodes, slots = models.word_offsets, models.node_offsets, models.slot_offsets
    return AutomatonTables(
        models.tables.unigrams[words[model] : words[model + 1]],
        models.tables.nodes[nodes[model] : nodes[model + 1]],
        models.tables.slots[slots[model] : slots[model + 1]],
    )


PHRASE_WORD = np.dtype(
    [
        ("word", np.int32),  # the id of the word
        ("state", np.int32),  # the state after the word, if nothing precedes the phrase
        # the log10 probability of the later words among the phrase's first n - 1 (n is the order of
        # the model), scored as if nothing preceded the phrase
        ("rest", np.float32),
    ]
)


class PhraseWords(NamedTuple):
    """The target phrases of all table entries, in the word ids of every language model.

    Attributes:
        first: The start of each entry's words in ``words``, shape (entries + 1,).
        words: The data of each word in each model, shape (models, words).
    """

    first: NDArray[np.int64]
    words: Records


class PhraseScorer(NamedTuple):
    """The language models and target phrases of a search, with the cache of one thread.

    Attributes:
        models: The models.
        phrases: The target phrases.
        recent: The cache of recent lookups (`recent_answers`).
    """

    models: LanguageModels
    phrases: PhraseWords
    recent: Records


@compiled
def score_alone(
    models: LanguageModels, phrases: PhraseWords
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Score all phrases without context; fill ``state`` and ``rest`` of ``phrases.words``.

    Args:
        models: The models.
        phrases: The phrases; the word ids are filled in already.

    Returns:
        The log10 probability of the words whose n - 1 predecessors are all in the phrase, and the
        log10 probability of the first n - 1 words, scored as if nothing preceded the phrase; both
        of shape (entries, models).
    """
    models, phrases = borrowed((models, phrases))
    shape = (phrases.first.size - 1, models.order.size)
    inner_log10, estimate_log10 = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for model in range(models.order.size):
        tables = model_tables(models, model)
        context = models.order[model] - 1
        for entry in range(phrases.first.size - 1):
            begin, end = phrases.first[entry], phrases.first[entry + 1]
            boundary = min(begin + context, end)
            state = np.int64(EMPTY_STATE)
            inner = 0.0
            for at in range(begin, end):
                log10, state = score(tables, state, phrases.words[model, at].word)
                phrases.words[model, at].state = state
                phrases.words[model, at].rest = log10
                if at >= boundary:
                    inner += log10
            rest = np.float32(0.0)
            for at in range(boundary - 1, begin - 1, -1):
                log10 = phrases.words[model, at].rest
                phrases.words[model, at].rest = rest
                rest += log10
            inner_log10[entry, model], estimate_log10[entry, model] = inner, rest
    return inner_log10, estimate_log10


@inlined
def _score_word(
    models: LanguageModels, recent: Records, model: int, state: int, word: int
) -> tuple[float, int]:
    """Score a word after a state, as `score` does, but look in the table of recent lookups first.

    The log10 probability is rounded to single precision, as in the table.
    """
    log10 = 0.0
    own_class = class_of(word)
    while state != EMPTY_STATE:
        node = models.tables.nodes[models.node_offsets[model] + state]
        if node.classes & own_class != np.uint64(0):
            key = pair_key(state, word)
            answer = recent[model, np.int64((key * PAIR_FACTOR) >> _RECENT_SHIFT)]
            if answer.key != key:
                offsets = models.slot_offsets
                slots = models.tables.slots[offsets[model] : offsets[model + 1]]
                entry = slots[find_pair(slots, key)]
                answer.key, answer.log10, answer.next = key, entry.log10, entry.next
                if entry.key != key:
                    answer.next = _NO_ENTRY
            if answer.next != _NO_ENTRY:
                return np.float64(np.float32(log10 + answer.log10)), np.int64(answer.next)
        log10 += node.backoff
        state = np.int64(node.suffix)
    unigram = models.tables.unigrams[models.word_offsets[model] + word]
    return np.float64(np.float32(log10 + unigram.log10)), np.int64(unigram.next)


@inlined
def _score_boundary(
    scorer: PhraseScorer, phrase: int, model: int, state: int, last: bool
) -> tuple[float, int]:
    """Score the first n - 1 words of a phrase, and ``</s>`` if ``last`` is set.

    As soon as the state equals the word's stored context-free state, the scores of the remaining
    words are known. One loop scores these words and ``</s>``: `_score_word` is inlined, so a second
    call would compile its code twice.
    """
    models, phrases = scorer.models, scorer.phrases
    begin, end = phrases.first[phrase], phrases.first[phrase + 1]
    context = models.order[model] - 1
    boundary = min(begin + context, end)
    if context == 0:
        state = np.int64(phrases.words[model, end - 1].state)
    log10 = 0.0
    at = begin
    while at < boundary or last:
        ends = at >= boundary
        known = phrases.words[model, min(at, end - 1)]
        word = np.int64(models.end_word[model]) if ends else np.int64(known.word)
        word_log10, state = _score_word(models, scorer.recent, model, state, word)
        log10 += word_log10
        if ends:
            break
        at += 1
        if state == known.state:
            log10 += known.rest
            at, state = boundary, np.int64(phrases.words[model, end - 1].state)
        elif at == boundary and end - begin >= context:
            state = np.int64(phrases.words[model, end - 1].state)
    return log10, state


@inlined
def score_after(
    scorer: PhraseScorer, weights: NDArray[np.float64], phrase: int, state: int, last: bool
) -> tuple[float, int]:
    """Score the part of a phrase that depends on the words before it.

    Args:
        scorer: The models and phrases.
        weights: The weight of each model's ln probability, shape (models,).
        phrase: The index of the phrase.
        state: The joint state before the phrase.
        last: Whether the phrase is the last of the sentence, so that ``</s>`` follows. An empty
            phrase changes nothing, and no ``</s>`` follows it.

    Returns:
        The weighted sum of ln probabilities over the models, and the joint state after the phrase.
    """
    models, phrases = scorer.models, scorer.phrases
    if phrases.first[phrase] == phrases.first[phrase + 1]:
        return 0.0, state
    total, following, radix = 0.0, np.int64(0), np.int64(1)
    for model in range(models.order.size):
        nodes = models.node_offsets[model + 1] - models.node_offsets[model]
        own = state
        if model + 1 < models.order.size:  # skip the slow division for the last model
            own = state % nodes
            state //= nodes
        log10, after = _score_boundary(scorer, phrase, model, own, last)
        total += weights[model] * LN_10 * log10
        following += radix * after
        radix *= nodes
    return total, following


def recent_answers(models: int) -> Records:
    """Make a cache of recent lookups; each thread needs one."""
    return np.zeros((models, 1 << _RECENT_BITS), SLOT)
