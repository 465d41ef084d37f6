"""The networks: one file for each kind of model, and what several of them share."""
