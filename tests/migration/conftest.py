"""Fixtures of the migration tests: SQL files that a test writes, or the database of an earlier release."""

from __future__ import annotations

import gzip
from pathlib import Path

import psycopg
import pytest

from stepwell.store.schema import sql_files
from stepwell.store.schema.sql_files import SqlFiles
from tests.tidy.sources import ROOT

MIGRATIONS = ROOT / "src/stepwell/sql/migrations"
DUMPS = sorted((Path(__file__).parent / "databases").glob("*.sql.gz"))
# Lines that only psql understands, and settings that older servers do not have.
NOT_SQL = ("\\", "SET transaction_timeout")


class Sources:
    """The SQL files of an invented release; `load` reads them as migrate does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "migrations").mkdir(parents=True)
        (folder / "routines").mkdir()

    def migration(self, name: str, text: str) -> None:
        (self.folder / "migrations" / name).write_text(text, encoding="utf-8")

    def routine(self, name: str, text: str) -> None:
        path = self.folder / "routines" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def load(self) -> SqlFiles:
        return sql_files.load(self.folder)


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    made = Sources(tmp_path / "sql")
    made.migration("0001_thing.sql", "create table stepwell.thing (thing_id int primary key, name text);")
    made.routine(
        "fn_name.sql",
        "create or replace function stepwell.fn_name(p_id int) returns text language sql stable as"
        " $$ select name from stepwell.thing where thing_id = p_id $$;",
    )
    return made


@pytest.fixture(params=DUMPS, ids=lambda path: path.name.removesuffix(".sql.gz"))
def old_dsn(request: pytest.FixtureRequest, empty_dsn: str) -> str:
    """A database as an earlier release left it."""
    lines = gzip.decompress(request.param.read_bytes()).decode().splitlines()
    script = "\n".join(line for line in lines if not line.startswith(NOT_SQL))
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        # Roles belong to the server, so the dump of a database does not create them.
        connection.execute((MIGRATIONS / "0007_roles.sql").read_bytes())
        connection.execute(script.encode())
    return empty_dsn
