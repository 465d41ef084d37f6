"""Targets that a model writes itself: beam search, samples, and whole tables of them."""
