"""Analyses of a trained model, as in section 4 of Cho et al. (2014), and pictures of them."""
