"""Moses's n-best lists: their lines, whole lists as arrays, the phrases behind a candidate."""
