"""Make the evidence bundles of ended runs: receives a connection and a place, returns how many were made.

Runs that acted or were approved wait in `evidence_due`. A bundle that cannot be made now is tried again after
growing pauses; the others are made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from stepwell import storage
from stepwell.errors import DatabaseUnavailable, StepwellError
from stepwell.govern.bundle import Known
from stepwell.govern.evidence import Bound, Exported, bind_contents, complete, export_by, file_name
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
    with connecting(conninfo) as reads:
        known = Known()
        engines = [_Engine(connection, reads, known, due, to) for due in waiting]
        return asyncio.run(_make_all(engines, is_closed))


async def _make_all(engines: list[_Engine], is_closed: Callable[[], bool]) -> int:
    """First all contents, then one block with the digests of all of them, then all proofs."""
    bound: dict[_Engine, Bound] = {}
    made = 0
    for engine in engines:
        if not is_closed():
            with engine.noting():
                bound[engine] = await bind_contents(engine, False, SEAL_SECONDS)
    for engine, contents in bound.items():
        if not is_closed():
            with engine.noting():
                if not isinstance(await complete(engine, contents, SEAL_SECONDS), Exported):
                    await export_by(engine, with_payloads=False, limit_seconds=SEAL_SECONDS)
                made += 1
    return made


class _Engine:
    """Exports one run that waits for its bundle, with the rights of a keeper."""

    def __init__(
        self, connection: KeeperConnection, reads: Connection, known: Known, due: Due, to: str | None
    ) -> None:
        self._connection, self._reads, self._due, self._to = connection, reads, due, to
        self.known = known

    @contextmanager
    def noting(self) -> Iterator[None]:
        """An error is noted: this bundle is tried again later, and the others are made."""
        try:
            yield
        except DatabaseUnavailable:
            raise
        except StepwellError as error:
            _log.warning("the evidence of run %s was not made; it is tried again: %s", self.run_id, error)
            self._connection.perform(due_evidence.note(self._due, error.message))

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
