"""The embedded decoder: the search and the scores of Moses, by way of `decoder.Decoder`."""
