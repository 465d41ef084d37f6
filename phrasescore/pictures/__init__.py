"""Figures of matplotlib, as files or as elements of a page."""
