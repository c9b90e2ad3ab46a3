"""Make the evidence bundles of ended runs: receives a connection and a place, returns how many were made.

Runs that acted or were approved wait in `evidence_due`. A bundle that cannot be made now is tried again after
growing pauses; the others are made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from stepwell.client import Client
from stepwell.errors import DatabaseUnavailable, StepwellError
from stepwell.govern.evidence import export
from stepwell.store.calls import evidence
from stepwell.store.calls.keep import KeeperConnection

RUN_LIMIT = 20
# An open transaction delays the seal; the next pass tries again.
SEAL_SECONDS = 2.0

_log = logging.getLogger(__name__)


def make_bundles(
    connection: KeeperConnection, conninfo: str, to: str | None, is_closed: Callable[[], bool]
) -> int:
    """`to` is a folder or an object store; without it the database stores the bytes."""
    made = 0
    for due in connection.perform(evidence.due(RUN_LIMIT)):
        if is_closed():
            break
        try:
            asyncio.run(_make(conninfo, due, to))
            made += 1
        except DatabaseUnavailable:
            raise
        except StepwellError as error:
            _log.warning("the evidence of run %s was not made; it is tried again: %s", due.run_id, error)
            connection.perform(evidence.note(due.tenant_id, due.run_id, error.message))
    return made


async def _make(conninfo: str, due: evidence.Due, to: str | None) -> None:
    client = await Client.connect(conninfo, tenant=due.tenant_code, actor="engine", is_command=True)
    try:
        await export(client, due.run_id, to, in_database=to is None, limit_seconds=SEAL_SECONDS)
        await client.perform(evidence.note(due.tenant_id, due.run_id))
    finally:
        await client.close()
