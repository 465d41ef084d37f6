"""The embedded decoder: Moses's phrase-based search, features and n-best lists, without Moses.

`translate.Decoder` is the way in. It imports no torch; a model of our own joins as a feature
(`own_features`).
"""
