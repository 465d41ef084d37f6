"""Long work that survives kills: files, final names, locks, journals, steps, interruption."""
