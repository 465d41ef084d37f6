"""Learn p(target phrase | source phrase) and write it into a Moses phrase table.

Layer: the lowest of three. Imports neither ``moses_integration`` nor ``tuning``.
"""

__version__ = "0.1.0"
