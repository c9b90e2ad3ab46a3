"""Bench: the same work for Stepwell and for its peers, on one Postgres, in one run.

`python -m bench` starts a server, gives every contestant a fresh database, runs the workloads of
`workloads.py` in turns, and prints a table of ratios (`report.py`). The peers have their own environment.
"""
