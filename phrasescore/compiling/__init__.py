"""Compiling with numba: the folder of compiled functions, turns between processes, warm-up."""
