"""Compiling with numba: the folder of compiled functions, and turns between processes."""
