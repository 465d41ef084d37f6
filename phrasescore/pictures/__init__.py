"""Figures of matplotlib, as files or as images inside a page."""
