"""Words as numbers: vocabularies, the distinct words of a text, sequences of ids."""

from typing import Literal

# section 4.1 of Cho et al. (2014): 15,000 words a side, which covered about 93 % of their data
SHORTLIST_WORDS = 15_000
# section 4.1 of Bahdanau et al. (2014), for models of sentences with the paper's recipe
PAPER_SENTENCE_WORDS = 30_000
# the probability of a word outside the shortlist: the whole p(<unk>), which is the sum over all
# such words, or the word's share of it
Unknown = Literal["whole", "share"]
