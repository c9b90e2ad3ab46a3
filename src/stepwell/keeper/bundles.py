"""Make the evidence bundles of ended runs: receives a connection and a place, returns how many were made.

Runs that acted or were approved wait in `evidence_due`. A bundle that cannot be made now is tried again after
growing pauses; the others are made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from stepwell import storage
from stepwell.errors import DatabaseUnavailable, StepwellError
from stepwell.govern.evidence import export_by, file_name
from stepwell.store.calls import due_evidence
from stepwell.store.calls.audit import Position
from stepwell.store.calls.audit_rights import Connection, connecting
from stepwell.store.calls.due_evidence import Due, DueReader
from stepwell.store.calls.keep import KeeperConnection
from stepwell.store.connection.call import Call

RUN_LIMIT = 20
# An open transaction delays the seal; the next pass tries again.
SEAL_SECONDS = 2.0
# The address of a bundle whose bytes are in the database.
IN_DATABASE = "database"

T = TypeVar("T")
_log = logging.getLogger(__name__)


def make_bundles(
    connection: KeeperConnection, conninfo: str, to: str | None, is_closed: Callable[[], bool]
) -> int:
    """`to` is a folder or an object store; without it the database stores the bytes."""
    waiting = connection.perform(due_evidence.waiting(RUN_LIMIT))
    if not waiting:
        return 0
    made = 0
    with connecting(conninfo) as reads:
        for due in waiting:
            if is_closed():
                break
            try:
                engine = _Engine(connection, reads, due, to)
                asyncio.run(export_by(engine, with_payloads=False, limit_seconds=SEAL_SECONDS))
                made += 1
            except DatabaseUnavailable:
                raise
            except StepwellError as error:
                _log.warning("the evidence of run %s was not made; it is tried again: %s", due.run_id, error)
                connection.perform(due_evidence.note(due, error.message))
    return made


class _Engine:
    """Exports one run that waits for its bundle, with the rights of a keeper."""

    def __init__(self, connection: KeeperConnection, reads: Connection, due: Due, to: str | None) -> None:
        self._connection, self._reads, self._due, self._to = connection, reads, due, to

    @property
    def tenant_id(self) -> int:
        return self._due.tenant_id

    @property
    def run_id(self) -> int:
        return self._due.run_id

    async def perform(self, call: Call[T]) -> T:
        return self._connection.perform(call)

    def reading(self) -> AbstractContextManager[DueReader]:
        return due_evidence.reading(self._reads, self._due)

    async def bind(self, digest: str) -> Position:
        return await self.perform(due_evidence.seal_contents(self._due, digest))

    async def store(self, digest: str, sha256: str, data: bytes) -> str:
        url = None
        if self._to is not None:
            url = storage.without_secrets(storage.save(self._to, file_name(self.run_id), data))
        given = data if url is None else None
        await self.perform(due_evidence.store(self._due, digest, sha256, len(data), url, given))
        return url or IN_DATABASE
