"""Lets long work survive kills: files, final names, locks, journals, steps, interruption."""
