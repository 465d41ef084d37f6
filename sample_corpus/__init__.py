"""English-French text written by this project, and the grammar that writes it."""
