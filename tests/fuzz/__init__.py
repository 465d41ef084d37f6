"""Random and mutated files for everything compiled that reads bytes, with every index checked.

numba looks at NUMBA_BOUNDSCHECK when it is loaded, so a `campaign` needs a process of its own, with
a cache of compiled code of its own. `originals` are real files, `mutations` breaks them, `readings`
says what each reader must come to.
"""
