"""The embedded decoder: Moses's search and Moses's scores, compiled by numba, without torch.

So far it loads, weighs and searches; k-best lists, output and a command are still to come. Reading
order: ``features`` (what the ini says), ``source_phrases`` and ``table_loading`` (what of the
tables the input needs), ``options`` (weighted, limited phrase translations), ``search``.
"""
