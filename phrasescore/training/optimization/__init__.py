"""Updates of a model: gradients over cores, processes and GPUs, and the optimisers."""
