"""Connections to Postgres: pools, the connection of the worker, LISTEN, and how to perform a call."""
