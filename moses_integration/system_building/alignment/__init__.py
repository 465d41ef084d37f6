"""Word alignments: computed, read, joined from two directions."""
