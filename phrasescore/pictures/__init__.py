"""Figures and pages: matplotlib pictures, and single HTML files that need no network."""
