"""An experiment end to end: several systems, several tuning seeds, one table.

``settings`` says what is compared, ``plan`` turns that into command lines (``step``), ``runner``
runs those that are not done yet, ``report`` writes the table.
"""
