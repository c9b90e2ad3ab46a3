"""Hold the SQL of the engine: numbered migrations and re-appliable routines, shipped in the wheel.

`support/` is the SQL of the installer itself: its bookkeeping tables and what it asks the catalog.
"""

from __future__ import annotations

from pathlib import Path

SQL_DIR = Path(__file__).parent
SUPPORT_DIR = SQL_DIR / "support"
SNAPSHOT_FILE = SQL_DIR / "schema.snapshot.sql"
