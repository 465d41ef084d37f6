"""The report: one HTML page that shows the records in a results folder.

``result_files`` finds the records; ``scores``, ``sentences`` and ``figures`` turn them into tables,
sentences and pictures; ``report_page`` fills the templates. The page shows the numbers of the
records and never recomputes a score that a record has.
"""
