"""Bring a database to the schema of this release, and find where it differs."""
