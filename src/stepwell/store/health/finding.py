"""What a check receives and returns: a subject with a connection, and findings in two languages."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg.rows import TupleRow

from stepwell.config import Settings
from stepwell.store.connection.borrowed import Asking
from stepwell.store.connection.pool import named
from stepwell.store.connection.target import Place, Process
from stepwell.translations.health import say

Connection = psycopg.Connection[TupleRow]

CONNECT_LIMIT_SECONDS = 10


class Level(enum.StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was checked, the result, and how to fix it."""

    check: str
    level: Level
    detail: str
    remedy: str | None = None
    # In Vietnamese, for our own texts; messages of the database or the system have no translation.
    detail_vi: str | None = None
    remedy_vi: str | None = None


def worded(check: str, level: Level, detail: str, remedy: str | None = None, **facts: object) -> Finding:
    """A finding with the texts of `translations/health.py`; with the remedy only if something is wrong."""
    said, said_vi = say(detail, **facts)
    helps, helps_vi = (None, None) if remedy is None or level is Level.OK else say(remedy, **facts)
    return Finding(check, level, said, helps, said_vi, helps_vi)


@dataclass(frozen=True, slots=True)
class Subject:
    """The input of a check. `connection` uses autocommit; `listen_conninfo` is a direct address."""

    settings: Settings
    conninfo: str
    connection: Asking

    @property
    def listen_conninfo(self) -> str:
        return self.settings.listen_url or self.conninfo

    @contextmanager
    def keeping(self, function: str) -> Iterator[Connection | None]:
        """A connection of the keeper; None if it may not call this function, or there is no such yet."""
        with connect(Place.of(self.settings, self.conninfo, Process.KEEPER)) as keeper:
            query = "select has_function_privilege(to_regprocedure(%s)::oid, 'execute')"
            row = keeper.execute(query, (f"stepwell.{function}",)).fetchone()
            yield keeper if row == (True,) else None

    def value(self, query: str, *parameters: object) -> object:
        row = self.connection.execute(query.encode(), parameters or None).fetchone()
        return None if row is None else row[0]


def connect(conninfo: str) -> Connection:
    return psycopg.connect(
        named(conninfo, "stepwell doctor"), autocommit=True, connect_timeout=CONNECT_LIMIT_SECONDS,
        prepare_threshold=None,
    )  # fmt: skip
