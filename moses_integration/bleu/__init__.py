"""BLEU: n-gram statistics of candidates against references, and scores from them."""
