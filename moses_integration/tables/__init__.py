"""Complete phrase and reordering tables: filtered to a text, pruned, and surveyed."""
