"""The SQL of the engine: numbered migrations, and routines that can be applied again; both are in the wheel.

`support/` is the SQL of the installer and the doctor: bookkeeping tables and queries of the catalog.
"""

from __future__ import annotations

from pathlib import Path

SQL_DIR = Path(__file__).parent
SUPPORT_DIR = SQL_DIR / "support"
SNAPSHOT_FILE = SQL_DIR / "schema.snapshot.sql"


def support_text(name: str) -> str:
    return (SUPPORT_DIR / f"{name}.sql").read_text(encoding="utf-8")
