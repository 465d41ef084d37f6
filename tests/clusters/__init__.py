"""Misfortunes of clusters: workers and the coordinator of ``score --cluster`` stopped and killed.

``tests/cli/test_score_cluster.py`` has a short form of the campaign.
"""
