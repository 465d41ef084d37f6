"""From parallel text to a Moses-format system: align, extract, score, reorder, model the language."""
