"""An experiment end to end: several systems, several tuning seeds, one table."""
