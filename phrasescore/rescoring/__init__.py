"""From a phrase table or texts and models to the same with scores, here or on a cluster."""
