"""Real Moses, where it is installed: found, asked, run as a decoder."""
