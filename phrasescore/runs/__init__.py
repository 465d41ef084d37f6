"""How work runs and survives: files, final names, locks, journals, steps, interruption."""
