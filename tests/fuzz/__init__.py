"""Random and mutated files for all compiled code that reads bytes, with bounds checks.

numba reads NUMBA_BOUNDSCHECK when it is imported, so a `campaign` needs a separate process with a
separate compile cache. `originals` has valid files, `mutations` damages them, and `readings` has
the readers and their comparable results.
"""
