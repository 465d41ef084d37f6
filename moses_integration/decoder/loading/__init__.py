"""Loading of the table entries that an input needs, as arrays, with a cache on disk."""
