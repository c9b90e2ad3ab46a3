"""Seals and verifies in tests: receives a connection, returns the result of the check."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from stepwell.govern.audit import Anchored, verify_log
from stepwell.govern.audit_verdict import Verdict
from stepwell.store.calls.audit import AuditReader
from tests.support.wait import until

UNSEALED = """
    select count(*) from event_log as e
    where e.tenant_id = %(tenant)s and (e.tx, e.event_id) > (
        coalesce((select c.last_tx from audit_chain as c where c.tenant_id = %(tenant)s), '0'),
        coalesce((select c.last_event_id from audit_chain as c where c.tenant_id = %(tenant)s), 0))
"""
SEALABLE = "select bool_and(tx < pg_snapshot_xmin(pg_current_snapshot())) is not false from event_log"
APPEND = """
    insert into event_log (tenant_id, at, run_id, unit_id, event_type, actor_class, actor,
        from_state, to_state, payload)
    values (1, stepwell.now(), %(unit)s::bigint >> 20, %(unit)s, %(type)s, 'system', %(actor)s,
        %(from)s, %(to)s, %(payload)s)
"""


REMOVED = """
    insert into event_log (tenant_id, at, run_id, unit_id, event_type, actor_class, actor, payload)
    values (1, stepwell.now(), 0, 0, 'retention.removed', 'system', 'engine', %s)
"""


def without_rows(db: psycopg.Connection, last: int = 99) -> None:
    """Lets the check accept events of runs up to this one that have no rows, as after retention."""
    told = {"numbers": [[1, last]], "count": last, "kept_since": "9999-01-01T00:00:00.000000Z"}
    db.execute(REMOVED, (Jsonb(told),))


def await_sealable(db: psycopg.Connection) -> None:
    """An open transaction in any database of the server stops the seal; other tests may have one."""
    until(lambda: db.execute(SEALABLE).fetchone() == (True,), what="older transactions to end")


def seal(db: psycopg.Connection, tenant_id: int = 1) -> None:
    """Seals every event, in as few blocks as possible."""
    await_sealable(db)

    def sealed() -> bool:
        db.execute("select * from fn_audit_seal(%s)", (tenant_id,))
        row = db.execute(UNSEALED, {"tenant": tenant_id}).fetchone()
        return row == (0,)

    until(sealed, what="everything to be sealed")


def check(
    db: psycopg.Connection,
    tenant_id: int = 1,
    anchored: Any = None,
    keys: Any = None,
    head: str | None = None,
) -> Verdict:
    lines = None if anchored is None else Anchored(anchored, keys)
    return verify_log(AuditReader(db, tenant_id), head, lines)


def append(
    db: psycopg.Connection, unit: int, event_type: str = "event.emitted", payload: Any = None, **more: Any
) -> None:
    given = {"unit": unit, "type": event_type, "actor": None, "from": None, "to": None, **more}
    db.execute(APPEND, {**given, "payload": None if payload is None else Jsonb(payload)})


def kinds(verdict: Verdict) -> list[str]:
    return [problem.kind for problem in verdict.problems]
