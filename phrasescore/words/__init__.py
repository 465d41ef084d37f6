"""Words as numbers: vocabularies, the distinct words of a text, sequences of ids."""

# section 4.1 of Cho et al. (2014): 15,000 words a side, which covered about 93 % of their data
SHORTLIST_WORDS = 15_000
