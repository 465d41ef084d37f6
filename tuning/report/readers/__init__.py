"""Readers: what is in a folder, and what each command's files say; damage is said, not raised."""
