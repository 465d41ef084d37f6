"""Phrase tables and texts as bytes: readers of line blocks, scanning, and streams of blocks."""
