"""Misfortunes of clusters: workers and the coordinator of ``score --cluster`` stopped and killed.

``python -m tests.clusters`` runs the whole campaign on this machine and prints its table;
``tests/cli/test_score_cluster.py`` has its short form.
"""
