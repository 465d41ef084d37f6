"""Everything that speaks Moses: ini files, n-best lists, decoders, building a system.

Layer: the middle of three. Imports ``phrasescore``, never ``tuning``.
"""
