"""Runs tasks on other machines, the workers of a Dask cluster, even if some workers fail.

`distributed` is imported inside functions, and only for a command that uses a cluster.
"""
