"""Training: distinct pairs, recipes, the loop, checkpoints, and updates on many cores."""
