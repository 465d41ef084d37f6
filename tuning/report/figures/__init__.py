"""Figures of the report: drawn with matplotlib, each with the table of its numbers."""
