"""Watch which session waits for which row while it holds which rows, and compare with the lock order.

A deadlock needs a session that holds a row and waits for a row that comes before it. Most of these waits end
without a deadlock, so the watch names every wait against the lock order of ARCHITECTURE.md.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

DOCUMENT = Path(__file__).parents[2] / "ARCHITECTURE.md"
PAUSE_SECONDS = 0.003

# Table → the key of a row, as text, so that two rows of one table can be compared.
KEYS = {
    "worker_session": "session_id::text",
    "run_progress": "lpad(run_id::text, 20, '0')",
    "job_ready": "lpad(unit_id::text, 20, '0')",
    "work_unit": "lpad(unit_id::text, 20, '0')",
    "concurrency_slot": "lpad(tenant_id::text, 10, '0') || ':' || slot_key",
    "run_write_count": "lpad(unit_id::text, 20, '0')",
    "policy_active": "lpad(tenant_id::text, 20, '0')",
    "tenant": "lpad(tenant_id::text, 20, '0')",
}
# Tables whose rows have an order. Ready rows and units have none: the lock of their run protects them.
ORDERED_WITHIN = {"worker_session", "run_progress", "concurrency_slot"}

WAITS = """
select t.pid, n.waitstart, c.relname, format('(%s,%s)', t.page, t.tuple),
    array(select x.transactionid::text from pg_locks as x
        where x.pid = t.pid and x.locktype = 'transactionid' and x.granted)
from pg_locks as n
inner join pg_locks as t on n.pid = t.pid and t.locktype = 'tuple'
inner join pg_class as c on t.relation = c.oid
where not n.granted and n.waitstart is not null
    and t.database = (select oid from pg_database where datname = current_database())
"""


def lock_order() -> dict[str, int]:
    """Table → its position in the lock order of ARCHITECTURE.md."""
    section = DOCUMENT.read_text().split("## Lock order")[1].split("\n## ")[0]
    found: dict[str, int] = {}
    for number, text in re.findall(r"^(\d+)\. (.+(?:\n   .+)*)", section, re.M):
        for table in re.findall(r"`(\w+)`", text):
            found.setdefault(table, int(number))
    return found


@dataclass
class LockWatch:
    """Use as `with LockWatch(dsn) as watch:`; afterwards `watch.faults` names the waits against the order."""

    dsn: str
    faults: set[str] = field(default_factory=set)
    wait_count: int = 0

    def __post_init__(self) -> None:
        self._order = lock_order()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._broken: BaseException | None = None

    def __enter__(self) -> LockWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._broken is not None:
            raise self._broken

    def _watch(self) -> None:
        try:
            with psycopg.connect(self.dsn, autocommit=True) as db:
                while not self._stop.wait(PAUSE_SECONDS):
                    self._look(db)
        except BaseException as error:
            self._broken = error

    def _look(self, db: psycopg.Connection[Any]) -> None:
        waits = db.execute(WAITS).fetchall()
        known = [wait for wait in waits if wait[2] in KEYS]
        if not known:
            return
        seen = [(wait, self._key(db, wait[2], wait[3]), self._held(db, wait[4])) for wait in known]
        # Count only a wait that still exists now: it lasted while its rows were read.
        still = {tuple(wait[:4]) for wait in db.execute(WAITS).fetchall()}
        for wait, key, held in seen:
            if tuple(wait[:4]) in still and key is not None:
                self.wait_count += 1
                self._compare(wait[2], key, held)

    def _key(self, db: psycopg.Connection[Any], table: str, place: str) -> str | None:
        row = db.execute(
            f"select {KEYS[table]} from stepwell.{table} where ctid = %s::tid".encode(), (place,)
        ).fetchone()
        return None if row is None else str(row[0])

    def _held(self, db: psycopg.Connection[Any], xids: list[str]) -> list[tuple[str, str]]:
        query = " union all ".join(
            f"select '{table}', {key} from stepwell.{table} where xmax::text = any (%(xids)s)"
            for table, key in KEYS.items()
        )
        return [(str(table), str(key)) for table, key in db.execute(query.encode(), {"xids": xids})]

    def _compare(self, table: str, key: str, held: list[tuple[str, str]]) -> None:
        kinds = {other for other, _ in held}
        if table == "job_ready":
            # Only a claim holds one that somebody waits for, and a claim waits for nothing.
            return
        if table == "work_unit" and "job_ready" in kinds:
            self.faults.add(f"a claim waits for work_unit {key.lstrip('0')}")
        for other, other_key in held:
            is_before = self._order[table] < self._order[other]
            is_lower = table == other and table in ORDERED_WITHIN and key < other_key
            if is_before or is_lower:
                self.faults.add(f"holds {other} {other_key.lstrip('0')}, waits for {table} {key.lstrip('0')}")
