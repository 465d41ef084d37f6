"""One update: the gradient of a batch, shared by cores, processes and GPUs; the optimiser."""
