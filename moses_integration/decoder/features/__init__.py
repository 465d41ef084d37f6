"""What a moses.ini asks of the decoder: features, search settings, the score of a derivation."""
