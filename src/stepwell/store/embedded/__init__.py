"""The embedded PostgreSQL: the server, its cluster folder and its account."""
