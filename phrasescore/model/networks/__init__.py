"""The networks: one file for each kind of model, and the output layer that several kinds share."""
