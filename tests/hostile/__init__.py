"""A campaign of hostile inputs for every command, judged by general rules.

`world` writes a tiny system, and `calls` has a valid call of each command on this system.
`content_damage`, `name_damage`, `option_damage` and `surroundings_damage` each damage one part of a
call. `cases` combines calls with damage, and `judge` finds faults in the result of a case. ``python
-m tests.hostile`` runs the campaign and prints its results.
"""
