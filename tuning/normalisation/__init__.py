"""Spelling normalisation: translates words, as sentences of characters, into normal spelling."""
