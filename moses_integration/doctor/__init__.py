"""Checks that find the faults of a Moses system before hours of tuning, not after."""
