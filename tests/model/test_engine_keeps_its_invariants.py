"""Any sequence of start, claim, report, expire, signal, cancel, pause, retry and crash keeps the invariants.

A stateful machine of Hypothesis drives the SQL core on its own database. The workflows are few and small and
have every kind of step, so that its rules run in many orders. After every rule fn_invariants_check is called.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import stepwell as sw
from stepwell.define import freeze
from tests.support.databases import Databases
from tests.support.sample import sample

LEASE_SECONDS = 30
OUTCOMES = ["completed"] * 4 + ["failed", "retry", "dead", "waiting", "sleep", "released"]
REPORT = "select * from stepwell.fn_job_report(%s, %s::int[], %s::bigint[], %s::int[], %s, %s::text[], %s)"

op = sw.Operation
WORKFLOWS = [
    sw.Workflow("line", sw.Sequential(op("a"), op("b"), op("c"))),
    sw.Workflow(
        "fan",
        sw.Sequential(op("a"), sw.Parallel(op("b"), op("c"), op("d"), max_concurrency=2), op("e")),
    ),
    sw.Workflow(
        "choice",
        sw.Sequential(
            op("a"),
            sw.Conditional('$.steps.a.status == "completed"', then=op("b"), otherwise=op("c")),
            op("d"),
        ),
    ),
    sw.Workflow("wait", sw.Sequential(op("a"), sw.Wait("go", timeout="1h"), op("b"))),
    sw.Workflow(
        "items",
        sw.Sequential(
            op("a"),
            sw.Map("$.input.items", sw.Sequential(op("b"), op("c")), id="m", max_concurrency=2),
            op("d"),
        ),
    ),
    sw.Workflow("nest", sw.Sequential(op("a"), sw.SubWorkflow("line"), op("b"))),
]
RETRY = {"max_attempts": 2, "initial_seconds": 5, "max_seconds": 5}


class Engine(RuleBasedStateMachine):
    """One database, some workers, some runs."""

    databases: Databases
    template: str

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        dsn = self._stack.enter_context(self.databases.fresh(self.template))
        self.db = self._stack.enter_context(psycopg.connect(dsn, autocommit=True))
        self.runs: list[int] = []
        # Session → its leases. A late report can come from a session that expired.
        self.leases: dict[int, list[tuple[Any, ...]]] = {}
        self.event_count = 0
        # No real time passes: else a lease expires on a slow machine, and the example goes another way.
        self.call("select stepwell.fn_clock_stop(null)")

    def teardown(self) -> None:
        self._stack.close()

    def call(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self.db.execute(query, parameters).fetchall()

    @initialize(remembers_gaps=st.booleans())
    def publish(self, remembers_gaps: bool) -> None:
        if remembers_gaps:
            # As a session does that had to walk far over dead rows of the queue.
            self.call("select stepwell._gaps_begin()")
        operations = [{"name": name, **RETRY} for name in "abcde"]
        self.call("select stepwell.fn_operation_register(1, %s::jsonb)", json.dumps(operations))
        for workflow in WORKFLOWS:
            graph = freeze(workflow)
            self.call(
                "select * from stepwell.fn_workflow_publish(1, %s::jsonb, 'model')",
                graph.canonical.decode(),
            )

    @rule(
        workflow=st.sampled_from(WORKFLOWS),
        count=st.integers(0, 3),
        key=st.none() | st.sampled_from("xyz"),
    )
    def start(self, workflow: sw.Workflow, count: int, key: str | None) -> None:
        rows = self.call(
            "select run_id, is_new from stepwell.fn_run_start(1, %s, array[%s::jsonb], %s)",
            workflow.name, json.dumps({"items": list(range(count))}), None if key is None else [key],
        )  # fmt: skip
        if rows[0][1]:
            self.runs.append(rows[0][0])
        else:
            assert rows[0][0] in self.runs

    @rule(count=st.integers(1, 3))
    def enqueue(self, count: int) -> None:
        self.call(
            "select * from stepwell.fn_job_enqueue(1, 'a', array_fill('{}'::jsonb, array[%s]),"
            " p_concurrency_key => 'k', p_max_concurrency => 2)",
            count,
        )

    @rule()
    def open_worker(self) -> None:
        if len(self.leases) < 3:
            session = self.call(
                "select stepwell.fn_worker_register('model', '{default}', 10, %s)", LEASE_SECONDS
            )[0][0]
            self.leases[session] = []

    @precondition(lambda self: self.leases)
    @rule(pick=st.integers(0, 9), limit=st.integers(1, 4))
    def claim(self, pick: int, limit: int) -> None:
        session = self._session(pick)
        rows = self._try("select * from stepwell.fn_job_claim(%s, %s)", session, limit)
        if rows is None:
            # The session has expired: a worker would open a new one.
            del self.leases[session]
        else:
            self.leases[session] += rows

    @precondition(lambda self: any(self.leases.values()))
    @rule(
        pick=st.integers(0, 9),
        outcome=st.sampled_from(OUTCOMES),
        size=st.integers(1, 4),
        claims=st.integers(0, 2),
    )
    def report(self, pick: int, outcome: str, size: int, claims: int) -> None:
        session = self._session(pick)
        batch = sorted(self.leases[session][:size], key=lambda row: row[2])
        if not batch:
            return
        body = {
            "completed": None,
            "waiting": '{"event": "go", "seconds": 60}',
            "sleep": '{"seconds": 60, "checkpoint": "sleep:1"}',
        }.get(outcome, '{"error": {"type": "Boom", "message": "model"}}')
        self.leases[session] = self.leases[session][size:]
        rows = self.call(
            REPORT, session, [row[1] for row in batch], [row[2] for row in batch], [row[3] for row in batch],
            [outcome] * len(batch), [body] * len(batch), claims,
        )  # fmt: skip
        self.leases[session] += [row for row in rows if row[0] == "lease"]

    @rule(seconds=st.sampled_from([1, 10, LEASE_SECONDS + 1, 120, 4000]))
    def pass_time(self, seconds: int) -> None:
        self.call(
            "update stepwell.clock_shift set shift = shift + %s returning 1", timedelta(seconds=seconds)
        )

    @rule()
    def keep(self) -> None:
        self.call("select stepwell.fn_leases_recover()")
        self.call("select * from stepwell.fn_timers_fire()")

    @precondition(lambda self: self.leases)
    @rule(pick=st.integers(0, 9))
    def beat(self, pick: int) -> None:
        session = self._session(pick)
        leases = self.leases[session]
        lost = self._try(
            "select * from stepwell.fn_worker_heartbeat(%s, %s::int[], %s::bigint[], %s::int[], %s)",
            session, [row[1] for row in leases], [row[2] for row in leases], [row[3] for row in leases], 0,
        )  # fmt: skip
        if lost is None:
            del self.leases[session]
            return
        gone = {(row[0], row[1]) for row in lost}
        self.leases[session] = [row for row in leases if (row[2], row[3]) not in gone]

    @precondition(lambda self: self.leases)
    @rule(pick=st.integers(0, 9))
    def stop_worker(self, pick: int) -> None:
        session = self._session(pick)
        self.call("select stepwell.fn_worker_close(%s)", session)
        # A report of a closed session must change nothing.
        leases = self.leases.pop(session)
        if leases:
            rows = self.call(
                REPORT, session, [row[1] for row in leases], [row[2] for row in leases],
                [row[3] for row in leases], ["completed"] * len(leases), [None] * len(leases), 0,
            )  # fmt: skip
            assert [row[0] for row in rows] == ["refused"] * len(leases)

    @precondition(lambda self: self.runs)
    @rule(pick=st.integers(0, 9), fresh=st.booleans())
    def signal(self, pick: int, fresh: bool) -> None:
        self.event_count += fresh or not self.event_count
        self._try(
            "select * from stepwell.fn_signal(1, %s, 'go', '{}', %s)", self._run(pick), f"e{self.event_count}"
        )

    @precondition(lambda self: self.runs)
    @rule(pick=st.integers(0, 9), act=st.sampled_from(["cancel", "pause", "resume", "retry", "resume"]))
    def control(self, pick: int, act: str) -> None:
        self._try(f"select stepwell.fn_run_{act}(1, %s, 'model')", self._run(pick))

    @invariant()
    def holds(self) -> None:
        broken = self.call("select invariant, detail from stepwell.fn_invariants_check() where not ok")
        assert not broken, broken

    def _session(self, pick: int) -> int:
        # In the order in which they were opened: their keys are random.
        return list(self.leases)[pick % len(self.leases)]

    def _run(self, pick: int) -> int:
        return self.runs[pick % len(self.runs)]

    def _try(self, query: str, *parameters: Any) -> list[tuple[Any, ...]] | None:
        """Makes a call; returns None if it is refused with one of our SQLSTATEs."""
        try:
            return self.call(query, *parameters)
        except psycopg.Error as error:
            if not (error.sqlstate or "").startswith("SW"):
                raise
            return None


@pytest.mark.requirement("LN-05", "LN-03", "LN-09", "SM-15")
@pytest.mark.timeout(900)
def test_any_sequence_of_calls_keeps_the_invariants(databases: Databases, template: str) -> None:
    Engine.databases, Engine.template = databases, template
    case = Engine.TestCase()
    case.settings = sample(25, stateful_step_count=30)
    case.runTest()
