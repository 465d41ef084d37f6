"""Other machines: tasks for the workers of a Dask cluster, whatever becomes of single workers.

`distributed` is imported inside functions, and only where somebody asks for a cluster.
"""
