"""Figure 3 of Cho et al. (2014): a model's ln p against the table's, and where they disagree."""
