"""Whole phrase and reordering tables: cut down to texts, and surveyed."""
