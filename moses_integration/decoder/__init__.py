"""The embedded decoder: the search and the scores of Moses, used through `decoder.Decoder`."""
