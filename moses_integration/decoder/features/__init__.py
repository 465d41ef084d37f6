"""What a moses.ini asks of the decoder: features, bounds of the search, how a derivation is scored."""
