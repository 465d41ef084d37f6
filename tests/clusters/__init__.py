"""A campaign that stops and kills workers and the coordinator of ``score --cluster``.

``tests/cli/test_score_cluster.py`` has a short form of the campaign.
"""
