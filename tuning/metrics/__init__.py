"""How good translations are: statistics, objectives, scores of texts, significance."""
