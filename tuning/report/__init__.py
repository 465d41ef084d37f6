"""The report: one HTML page that shows the records in a results folder, and recomputes no score."""
