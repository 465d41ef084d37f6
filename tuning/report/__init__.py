"""The report: one page of the records in a folder of results.

``result_files`` finds the records, ``scores``, ``sentences`` and ``figures`` turn them into tables,
words and pictures, ``report_page`` fills the templates. No score is computed anew that a record
has: the page shows the numbers of the records.
"""
