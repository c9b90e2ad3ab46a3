"""Bench: the same work for Stepwell and for its peers, on one Postgres, in one run.

`python -m bench` starts a server, gives every contestant a fresh database, runs the workloads of
`workloads.py` in turns, and hands on a table of ratios (`report.py`). Peers live in their own environment.
"""
