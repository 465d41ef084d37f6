"""The steps of rows: tuned systems, n-best lists that models rescore, models alone."""
