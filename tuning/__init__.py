"""Find log-linear weights: MERT, PRO, batch MIRA, the outer loop, significance.

Layer: the highest of three. Optimisers see arrays only; files are the commands' business.
"""
