"""Files as the system gives and takes them: bytes, names, parts, pipes, refusals."""
