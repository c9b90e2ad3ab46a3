"""Any order of puts, slow commits, rollbacks, retries and claims: each row that was put is claimed once.

A stateful machine of Hypothesis. An open transaction keeps the rows of claimed jobs. Every lane has dead
rows before, between and behind the live ones, and every worker remembers gaps from its first claim on.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.sql.drive import Engine, Lease
from tests.sql.job_ready.pinned import bury, pin
from tests.support.databases import Databases
from tests.support.sample import sample

OPERATIONS = ["a", "b"]
RETRY = {"max_attempts": 50, "initial_seconds": 0, "max_seconds": 0}
FAILED = {"error": {"type": "E", "message": "no"}}
WORKERS = 2
operations = st.sampled_from(OPERATIONS)
ranks = st.sampled_from([0, 1])
counts = st.sampled_from([1, 2, 5, 40])
limits = st.sampled_from([1, 3, 100])
workers = st.integers(0, WORKERS - 1)


class Queue(RuleBasedStateMachine):
    """One database, two tenants, two workers with a connection each."""

    databases: Databases

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.dsn = self.stack.enter_context(self.databases.fresh(self.databases.template()))
        # Units in the queue, units that wait for an attempt, leases of workers, puts that are open.
        self.ready: set[int] = set()
        self.waiting: set[int] = set()
        self.held: dict[int, tuple[int, Lease]] = {}
        self.open: dict[psycopg.Connection[Any], set[int]] = {}

    def connect(self, autocommit: bool = True) -> psycopg.Connection[Any]:
        return self.stack.enter_context(
            psycopg.connect(self.dsn, autocommit=autocommit, options="-csearch_path=stepwell")
        )

    def teardown(self) -> None:
        self.stack.close()

    @initialize(kind=st.sampled_from(["reader", "writer"]))
    def begin(self, kind: str) -> None:
        db = self.connect()
        second = Engine(db).one("select fn_tenant_set('second')")
        self.tenants = [Engine(db), Engine(db, second)]
        self.db = db
        for tenant in self.tenants:
            declared = json.dumps([{"name": name, **RETRY} for name in OPERATIONS])
            db.execute("select fn_operation_register(%s, %s::jsonb)", (tenant.tenant_id, declared))
        pin(self.connect(autocommit=False), kind)
        for tenant in self.tenants:
            for name in OPERATIONS:
                for rank in (0, -1):
                    bury(tenant, name, 500, rank=rank)
        self.engines = [Engine(self.connect()) for _ in range(WORKERS)]
        self.sessions = [engine.worker(f"w{at}") for at, engine in enumerate(self.engines)]
        for engine, session in zip(self.engines, self.sessions, strict=True):
            for _ in range(2):
                assert engine.claim(session) == []
            assert engine.one("select current_setting('stepwell.gaps', true)") == "on"

    def enqueue(
        self, db: psycopg.Connection[Any], tenant: int, name: str, count: int, priority: int
    ) -> set[int]:
        engine = Engine(db, self.tenants[tenant].tenant_id)
        return set(engine.enqueue(name, count, p_priority=priority))

    @rule(tenant=st.integers(0, 1), name=operations, count=counts, priority=ranks)
    def put(self, tenant: int, name: str, count: int, priority: int) -> None:
        self.ready |= self.enqueue(self.db, tenant, name, count, priority)

    @precondition(lambda self: len(self.open) < 3)
    @rule(tenant=st.integers(0, 1), name=operations, count=counts, priority=ranks)
    def put_slowly(self, tenant: int, name: str, count: int, priority: int) -> None:
        connection = self.connect(autocommit=False)
        self.open[connection] = self.enqueue(connection, tenant, name, count, priority)

    @precondition(lambda self: self.open)
    @rule(at=st.integers(0, 2), tenant=st.integers(0, 1), name=operations, count=counts)
    def put_more(self, at: int, tenant: int, name: str, count: int) -> None:
        connection = list(self.open)[at % len(self.open)]
        self.open[connection] |= self.enqueue(connection, tenant, name, count, 0)

    @precondition(lambda self: self.open)
    @rule(at=st.integers(0, 2), commits=st.sampled_from([True, True, False]))
    def end(self, at: int, commits: bool) -> None:
        connection = list(self.open)[at % len(self.open)]
        put = self.open.pop(connection)
        if commits:
            connection.commit()
            self.ready |= put
        else:
            connection.rollback()
        connection.close()

    @rule(tenant=st.integers(0, 1), name=operations, rank=st.sampled_from([0, -1]))
    def others_claim_much(self, tenant: int, name: str, rank: int) -> None:
        bury(self.tenants[tenant], name, 200, rank=rank)

    @rule(worker=workers, limit=limits)
    def claim(self, worker: int, limit: int) -> None:
        leases = self.engines[worker].claim(self.sessions[worker], limit)
        self.take(worker, leases, limit)

    @rule(worker=workers, limit=limits, name=operations, puts=st.booleans())
    def claim_and_roll_back(self, worker: int, limit: int, name: str, puts: bool) -> None:
        engine = self.engines[worker]
        with engine.db.transaction(force_rollback=True):
            if puts:
                engine.enqueue(name)
            got = {lease.unit_id for lease in engine.claim(self.sessions[worker], limit)}
            assert len(got) == min(limit, len(self.ready) + puts)

    @rule(worker=workers, limit=limits, name=operations, count=counts)
    def put_and_claim_at_once(self, worker: int, limit: int, name: str, count: int) -> None:
        engine = self.engines[worker]
        with engine.db.transaction():
            first = engine.claim(self.sessions[worker], limit)
            put = set(engine.enqueue(name, count))
            second = engine.claim(self.sessions[worker], limit)
        self.take(worker, first, limit)
        self.ready |= put
        self.take(worker, second, limit)

    @precondition(lambda self: self.held)
    @rule(
        worker=workers,
        outcome=st.sampled_from(["completed", "retry", "released"]),
        limit=st.sampled_from([0, 5]),
    )
    def report(self, worker: int, outcome: str, limit: int) -> None:
        """The older half of what a worker holds; what is tried again comes back with its old number."""
        mine = sorted(unit for unit, (owner, _) in self.held.items() if owner == worker)
        given = [self.held.pop(unit)[1] for unit in mine[: (len(mine) + 1) // 2]]
        body = None if outcome == "completed" else {**FAILED, "after_seconds": 0}
        rows = self.engines[worker].report(
            self.sessions[worker], *((lease, outcome, body) for lease in given), claim_limit=limit
        )
        assert all(row.row_kind == "lease" for row in rows)
        if outcome == "released":
            self.ready |= {lease.unit_id for lease in given}
        self.take(worker, rows, limit)
        if outcome == "retry":
            self.waiting |= {lease.unit_id for lease in given}

    @precondition(lambda self: self.waiting)
    @rule()
    def retry(self) -> None:
        """What is due now comes back; the rest waits for the next time."""
        self.tenants[0].timers()
        rows = self.db.execute(
            "select unit_id from job_ready where unit_id = any (%s)", (list(self.waiting),)
        )
        back = {unit for (unit,) in rows}
        self.waiting -= back
        self.ready |= back

    def take(self, worker: int, leases: list[Lease], limit: int) -> None:
        got = {lease.unit_id for lease in leases}
        assert len(got) == len(leases)
        assert got <= self.ready, "it was claimed already, or is not in the queue"
        assert len(got) == min(limit, len(self.ready)), "a row was overlooked"
        self.ready -= got
        for lease in leases:
            self.held[lease.unit_id] = (worker, lease)


@pytest.mark.timeout(1200)
def test_each_row_is_claimed_once_under_a_pin(databases: Databases):
    Queue.databases = databases
    case = Queue.TestCase
    case.settings = sample(20, stateful_step_count=30)
    case().runTest()
