"""Real Moses, if it is installed: finding, checking and running it."""
