"""Two or more database sessions in a declared order: `sessions` opens them, each with a thread for a call
that waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.sql.drive import Engine
from tests.support.wait import until_blocked

LIMIT_SECONDS = 60


class Session(Engine):
    """A connection without autocommit: its transaction stays open until `commit` or `rollback`."""

    def __init__(self, dsn: str, watcher: psycopg.Connection) -> None:
        super().__init__(psycopg.connect(dsn, options="-csearch_path=stepwell,public"))
        self.watcher = watcher
        self._thread = ThreadPoolExecutor(1)

    def start_blocked(self, act: Callable[[], Any]) -> Future[Any]:
        """Starts a call that must wait for another session; returns when it waits."""
        future = self._thread.submit(act)
        until_blocked(self.watcher, self.db.info.backend_pid, limit_seconds=LIMIT_SECONDS)
        assert not future.done()
        return future

    def start_call(self, act: Callable[[], Any]) -> Future[Any]:
        """Starts a call that may wait or not."""
        return self._thread.submit(act)

    def commit(self) -> None:
        self.db.commit()

    def rollback(self) -> None:
        self.db.rollback()

    def close(self) -> None:
        self._thread.shutdown()
        self.db.close()


@pytest.fixture
def sessions(dsn: str, db: psycopg.Connection) -> Iterator[Callable[[], Session]]:
    opened: list[Session] = []

    def open_session() -> Session:
        opened.append(Session(dsn, db))
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)
