"""Updates of a model: gradients on several cores, processes or GPUs, and the optimisers."""
