"""The embedded decoder: Moses's search and Moses's scores, compiled by numba, without torch.

`translate.Decoder` is the way in. Reading order: ``features`` (what the ini says),
``source_phrases`` and ``table_loading`` (what of the tables the input needs), ``options``
(weighted, limited phrase translations), ``plain_search`` and then ``search``,
``plain_cube_pruning`` and then ``cube_pruning``, ``k_best``, ``output``.
"""
