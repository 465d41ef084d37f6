"""What of the tables and models an input needs, read into arrays and kept for the next start."""
