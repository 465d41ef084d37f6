"""From aligned text to the lines of a phrase table and a reordering table."""
