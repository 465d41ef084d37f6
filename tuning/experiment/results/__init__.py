"""What the runs of an experiment showed: read, kept, collected, and written as tables."""
