"""Words as numbers: vocabularies, the distinct words of a text, sequences of ids."""
