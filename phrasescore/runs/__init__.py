"""Lets work survive a killed process: files, final names, locks, journals, steps, interruption."""
