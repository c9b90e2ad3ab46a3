"""The only Python that touches Postgres: receives calls, hands on rows."""
