"""Work on other machines: tasks for the workers of a Dask cluster, even if workers fail.

`distributed` is imported inside functions, and only for a command that uses a cluster.
"""
