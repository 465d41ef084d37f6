"""KenLM's binaries, read into the n-grams that they were built from."""
