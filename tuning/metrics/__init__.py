"""Metrics of translations: statistics, objectives, scores of texts, significance."""
