"""The only Python package that uses Postgres directly: receives calls, returns rows."""
