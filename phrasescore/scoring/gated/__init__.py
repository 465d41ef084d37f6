"""The gated unit on tries of prefixes: packed weights, and compiled passes between products."""
