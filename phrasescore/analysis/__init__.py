"""What a model learned, looked at: the analyses of section 4 of Cho et al. (2014), and pictures."""
