"""Features of the decoder: their declaration in a moses.ini, and their values."""
