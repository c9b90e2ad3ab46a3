"""The only Python that touches Postgres: receives calls, returns rows."""
