"""Words as numbers: vocabularies, the distinct words of a text, sequences of ids."""

from typing import Literal

# section 4.1 of Cho et al. (2014): 15,000 words for each side covered about 93 % of the data
SHORTLIST_WORDS = 15_000
# section 4.1 of Bahdanau et al. (2014), for models of sentences with the paper's recipe
PAPER_SENTENCE_WORDS = 30_000
# the probability of a word outside the shortlist. "whole": p(<unk>), although this is the
# probability of all such words together. "share": the word's share of p(<unk>).
Unknown = Literal["whole", "share"]
