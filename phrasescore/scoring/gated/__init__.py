"""Gated units on tries of prefixes: packed weights, and fused passes between matrix products."""
