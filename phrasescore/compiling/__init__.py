"""Compiles with numba: the folder of compiled functions, and a lock between processes."""
