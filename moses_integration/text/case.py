"""Letter case: Moses's truecaser, which gives the first word of a sentence its usual case.

The file of a model is that of Moses's ``train-truecaser.perl``: on each line the forms of a word,
the most frequent first, each with a count in parentheses.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

# after these tokens a sentence begins
_ENDS = {".", ":", "?", "!"}
# these tokens may stand before the first word of a sentence
_OPENING = {"(", "[", '"', "'", "&apos;", "&quot;", "&#91;", "&#93;"}


class Truecaser:
    """Gives words their usual case.

    Args:
        lines: The lines of a model.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        forms = [line.split(" ")[::2] for line in lines]
        self._best = {each[0].lower(): each[0] for each in forms}
        self._known = {form for each in forms for form in each}

    def __call__(self, tokens: Iterable[str]) -> list[str]:
        """Return tokens with the usual case at sentence beginnings and in words of unknown form."""
        return [
            token if token in self._known and not begins else self._best.get(token.lower(), token)
            for token, begins in _sentence_beginnings(tokens)
        ]


def _sentence_beginnings(tokens: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each token, and whether a sentence begins with it."""
    begins = True
    for token in tokens:
        yield token, begins
        begins = token in _ENDS or (begins and token in _OPENING)


def capitalized_sentences(tokens: Iterable[str]) -> list[str]:
    """Return tokens with a capital at the beginning of each sentence."""
    return [
        token[:1].title() + token[1:] if begins else token
        for token, begins in _sentence_beginnings(tokens)
    ]


def learn_case(lines: Iterable[str]) -> list[str]:
    """Return the lines of a model: how words are written inside sentences."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        before = "."
        # as in Moses, quotes and brackets are passed over only at the beginning of a line
        for token in itertools.dropwhile(_OPENING.__contains__, line.split(" ")):
            lower = token.lower()
            if before not in _ENDS and lower != token.upper():
                counts[lower][token] += 1
            before = token
    model = []
    for forms in counts.values():
        (best, count), *others = forms.most_common()
        rest = (f" {form} ({number})" for form, number in others)
        model.append(f"{best} ({count}/{forms.total()}){''.join(rest)}")
    return model
