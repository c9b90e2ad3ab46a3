"""Connections to Postgres: pools, the worker's wire, LISTEN, and how a call is carried out."""
