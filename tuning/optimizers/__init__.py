"""MERT, PRO and batch MIRA over a pool of candidates in arrays."""
