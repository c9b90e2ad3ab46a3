"""A folder of SQL files to migrate from, written by the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.store.schema import sql_files
from stepwell.store.schema.sql_files import SqlFiles


class Sources:
    """Files of a made-up release; `load` reads them as migrate does."""

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
