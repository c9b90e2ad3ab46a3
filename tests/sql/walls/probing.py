"""A connection that takes each role and each condition in turn, beside the work of two tenants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.sql.binding import bind, token

CONDITIONS = ("unbound", "own", "other", "copied", "invented")
# The texts of the second tenant carry it.
MARK = "secret-of-2"


class Walls:
    """A connection that takes each role and each condition in turn."""

    def __init__(self, db: psycopg.Connection) -> None:
        self.db = db
        self.tokens = {tenant: token(db, tenant) for tenant in (1, 2)}
        with db.transaction():
            bind(db, self.tokens[1])
            (self.copied,) = db.execute("select current_setting('stepwell.binding')").fetchone()  # type: ignore[misc]

    @contextmanager
    def under(self, role: str, condition: str) -> Iterator[None]:
        with self.db.transaction(force_rollback=True):
            self.db.execute(f"set local role {role}")
            if condition in ("own", "other"):
                bind(self.db, self.tokens[1 if condition == "own" else 2])
            elif condition != "unbound":
                setting = self.copied if condition == "copied" else "1:1:1:" + "0" * 64
                self.db.execute("select set_config('stepwell.binding', %s, true)", (setting,))
            yield

    def ask(self, query: str) -> Any:
        """The first value, or the code of the error."""
        try:
            with self.db.transaction(force_rollback=True):
                row = self.db.execute(query.encode()).fetchone()
            return None if row is None else row[0]
        except psycopg.Error as error:
            return f"error {error.sqlstate}"
