"""Back-off language models: files of n-grams read, and asked for probabilities."""
