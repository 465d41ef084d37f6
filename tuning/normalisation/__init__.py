"""Spelling normalisation: words as sentences of characters, from training to evaluation."""
