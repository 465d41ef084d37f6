"""N-gram and feed-forward language models: their files, and their probabilities."""
