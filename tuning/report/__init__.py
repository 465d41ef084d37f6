"""The report: one page of what a results folder holds, for people who want to look.

``comparisons`` and ``records`` turn the files of ``experiment``, ``tune``, ``train``, ``score``
and ``compare`` into what ``contents`` describes; ``figures`` draws it, ``report_page`` fills the
templates. No score is computed anew that a file has: the page shows the numbers of the files.
"""
