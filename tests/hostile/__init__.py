"""A campaign of hostile inputs over every command, judged by rules.

`world` writes a tiny system, `calls` has a call of each command that works on it, `content_damage`,
`name_damage`, `option_damage` and `surroundings_damage` spoil one thing of a call each, `cases`
multiplies calls by damage, `judge` says what is wrong with how a case ended. ``python -m
tests.hostile`` prints what was tried.
"""
