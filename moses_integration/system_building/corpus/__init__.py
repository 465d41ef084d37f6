"""Parallel text on its way to a system: read, prepared, cleaned, numbered."""
