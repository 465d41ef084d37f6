"""Commands that are killed, interrupted, or run out of disk, and are called again.

``calls`` says what is called, ``world`` writes what the calls read, ``trials`` tries one
misfortune and judges what it left, ``campaign`` draws misfortunes and counts;
``python -m tests.crashes`` runs all of it and prints a table.
"""
