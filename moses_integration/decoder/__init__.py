"""The embedded decoder: Moses's search and Moses's scores, compiled by numba, without torch.

`translate.Decoder` is the way in. Reading order: ``features`` (what the ini says),
``source_phrases`` and ``table_loading`` (what of the tables the input needs), ``options``
(weighted, limited phrase translations), ``search.stack_decoding``,
``search.cube_pruning``, ``search.k_best``, ``output``; the plain twins are in the tests.
"""
