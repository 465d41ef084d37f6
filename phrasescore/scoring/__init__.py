"""Exact ln p of many pairs, tables and texts with their scores, here or on a cluster."""
