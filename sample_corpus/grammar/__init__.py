"""A seeded bilingual grammar: lexicon, morphology, phrases, clauses and whole sentences."""
