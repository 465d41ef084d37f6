"""Targets that models write: beam search, sampling, generated tables, and translations."""
