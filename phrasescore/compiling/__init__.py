"""How numba compiles our functions: what is compiled once only, and where that is kept."""
