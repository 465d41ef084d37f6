"""Text: from raw lines to the tokens of a system, and back."""
