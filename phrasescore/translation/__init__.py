"""Sentences translated by models of sentences alone, without a decoder's tables."""
