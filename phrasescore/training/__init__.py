"""Training: settings, batches, recipes, the loop, checkpoints, curves."""
