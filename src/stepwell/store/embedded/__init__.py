"""Run a PostgreSQL of our own: the server, its cluster folder and its account."""
