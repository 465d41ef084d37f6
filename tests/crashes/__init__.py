"""A campaign that kills and interrupts commands or fills their disk, and then repeats them.

``calls`` has the command lines, ``world`` writes their inputs, ``trials`` runs one misfortune and
judges its results, and ``campaign`` draws misfortunes. ``python -m tests.crashes`` runs all and
prints a table.
"""
