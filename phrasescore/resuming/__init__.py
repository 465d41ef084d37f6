"""How long work survives: journals, steps that are done once, locks, interruption, children."""
