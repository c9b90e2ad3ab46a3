"""Locate the SQL of the engine: numbered migrations and re-appliable routines, shipped in the wheel."""

from __future__ import annotations

from pathlib import Path

SQL_DIR = Path(__file__).parent
MIGRATIONS_DIR = SQL_DIR / "migrations"
ROUTINES_DIR = SQL_DIR / "routines"
SNAPSHOT_FILE = SQL_DIR / "schema.snapshot.sql"
