"""Computes exact ln p of many pairs, and scores tables and texts, here or on a cluster."""
