"""Migrate a database to the schema of this release, and find differences."""
