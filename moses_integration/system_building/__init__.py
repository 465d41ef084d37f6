"""Building a Moses-format system from parallel text: align, extract, score, model the language."""
