"""Targets that models write: beam search, sampling, tables of targets, translations."""
