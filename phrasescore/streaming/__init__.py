"""Inputs read in blocks, past what works on them, to an output that can be continued."""
