"""The distinct pairs that a model learns from, encoded once, and how they are split."""
