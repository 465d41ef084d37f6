"""The gated unit on tries of prefixes: packed weights, and fused passes between products."""
