"""From parallel text to a Moses-format system: align, extract, score, model the language."""
