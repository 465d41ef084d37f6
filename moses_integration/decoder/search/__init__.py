"""The search for the best derivation: options, stacks, cube pruning, the k best."""
