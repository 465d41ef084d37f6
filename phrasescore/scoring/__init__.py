"""From a phrase table and models to the same table with more scores."""
