"""Generates targets with models: beam search, sampling, phrase tables, and translations."""
