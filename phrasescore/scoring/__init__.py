"""ln p of many pairs, exactly, at the cost of their distinct prefixes."""
