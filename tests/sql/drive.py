"""Drives the engine through its SQL functions only: receives small graphs, returns leases and states."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

Step = dict[str, Any]


@dataclass(frozen=True)
class Lease:
    row_kind: str
    tenant_id: int
    unit_id: int
    lease_no: int
    batch_id: int | None
    operation: str | None
    attempt: int | None
    max_attempts: int | None
    timeout_seconds: float | None
    step_id: str | None
    input: Any
    bound_input: Any
    wake: Any
    checkpoints: Any
    trace_id: str | None
    correlation_id: str | None
    deadline_at: Any


def operation(step_id: str, **more: Any) -> Step:
    return {"id": step_id, "kind": "operation", "operation": more.pop("operation", step_id), **more}


def wait(step_id: str, event: str, **more: Any) -> Step:
    return {"id": step_id, "kind": "wait", "event": event, **more}


def human(step_id: str, **more: Any) -> Step:
    return {"id": step_id, "kind": "human", **more}


def subworkflow(step_id: str, workflow: str, **more: Any) -> Step:
    return {"id": step_id, "kind": "subworkflow", "workflow": workflow, **more}


class Engine:
    """One connection, one tenant."""

    def __init__(self, db: psycopg.Connection, tenant_id: int = 1) -> None:
        self.db = db
        self.tenant_id = tenant_id

    def one(self, query: str, parameters: Sequence[Any] = ()) -> Any:
        """First column of the first row."""
        row = self.db.execute(query, parameters).fetchone()
        return None if row is None else row[0]

    def person(self, *names: str) -> None:
        """Adds people without roles; the roles of a person who exists stay."""
        for name in names:
            self.db.execute("select stepwell.fn_person_set(%s, %s)", (self.tenant_id, name))

    def publish(
        self, name: str, *steps: Step, edges: Sequence[tuple[str, str]] | None = None, **graph: Any
    ) -> int:
        """Publishes the steps in this order. Without `edges` each step follows the one before it."""
        numbers = {step["id"]: at for at, step in enumerate(steps, start=1)}
        pairs = list(pairwise(numbers)) if edges is None else edges
        document = {
            "format": 2,
            "name": name,
            "steps": [{"no": at, **step} for at, step in enumerate(steps, start=1)],
            "edges": [{"from": numbers[a], "to": numbers[b]} for a, b in pairs],
            **graph,
        }
        version: int = self.one(
            "select version_no from fn_workflow_publish(%s, %s, 'test')",
            (self.tenant_id, Jsonb(document)),
        )
        return version

    def start(self, workflow: str, given: Any = None, ref: str | None = None) -> int:
        run_id: int = self.one(
            "select run_id from fn_run_start(%s, %s, %s::jsonb[], %s, p_actor => 'test')",
            (self.tenant_id, workflow, [Jsonb(given or {})], None if ref is None else [ref]),
        )
        return run_id

    def enqueue(self, operation: str, count: int = 1, **named: Any) -> list[int]:
        names = "".join(f", {name} => %s" for name in named)
        rows = self.db.execute(
            f"select job_id from fn_job_enqueue(%s, %s, %s::jsonb[]{names})",
            (self.tenant_id, operation, [Jsonb({"n": at}) for at in range(count)], *named.values()),
        )
        return [job_id for (job_id,) in rows]

    def worker(
        self,
        name: str = "worker",
        classes: Sequence[str] = ("default",),
        lease_seconds: int = 3600,
        serves: Sequence[str] | None = None,
    ) -> int:
        """The key of its session; without `serves` it claims every operation of its classes."""
        session_key: int = self.one(
            "select fn_worker_register(%s, %s, 100, %s, '{}', %s::text[])",
            (name, list(classes), lease_seconds, None if serves is None else list(serves)),
        )
        return session_key

    def beat(self, session_key: int, *held: Lease) -> list[str]:
        """A good heartbeat; returns the reasons of what is lost, and what the worker is told."""
        rows = self.db.execute(
            "select reason from fn_worker_heartbeat(%s, %s::int[], %s::bigint[], %s::int[], 0)",
            (
                session_key,
                [lease.tenant_id for lease in held],
                [lease.unit_id for lease in held],
                [lease.lease_no for lease in held],
            ),
        )
        return [reason for (reason,) in rows]

    def session_id(self, session_key: int) -> int:
        """The number of the session with this key."""
        found: int = self.one("select _session_id_of(%s)", (session_key,))
        return found

    def claim(self, session_key: int, limit: int = 100) -> list[Lease]:
        rows = self.db.execute("select * from fn_job_claim(%s, %s)", (session_key, limit)).fetchall()
        return sorted((Lease(*row) for row in rows), key=lambda lease: lease.unit_id)

    def report(
        self, session_key: int, *outcomes: tuple[Lease, str, Any], claim_limit: int = 0
    ) -> list[Lease]:
        """Reports (lease, outcome, body) each; returns the refusals, new leases and ended watched runs."""
        rows = self.db.execute(
            "select * from fn_job_report(%s, %s::int[], %s::bigint[], %s::int[], %s::text[], %s::text[], %s)",
            (
                session_key,
                [lease.tenant_id for lease, _, _ in outcomes],
                [lease.unit_id for lease, _, _ in outcomes],
                [lease.lease_no for lease, _, _ in outcomes],
                [outcome for _, outcome, _ in outcomes],
                [None if body is None else json.dumps(body) for _, _, body in outcomes],
                claim_limit,
            ),
        ).fetchall()
        # The others are for the log of a worker: what failed, and runs that nobody watches.
        found = [Lease(*row) for row in rows]
        return [
            row
            for row in found
            if row.row_kind in ("lease", "refused") or (row.row_kind == "ended" and row.lease_no == 1)
        ]

    def complete(self, session_key: int, *leases: Lease, output: Any = None) -> list[Lease]:
        return self.report(session_key, *((lease, "completed", output) for lease in leases))

    def evaluate(self, session_key: int, lease: Lease) -> dict[str, Any]:
        """Evaluates the costly expressions of a leased step."""
        found: dict[str, Any] = self.one(
            "select fn_expression_evaluate(%s, %s, %s, %s)",
            (session_key, lease.tenant_id, lease.unit_id, lease.lease_no),
        )
        return found

    def outcome(self, session_key: int, lease: Lease, output: Any = None) -> tuple[Lease, str, Any]:
        """What a worker reports for a lease whose handler returns this output."""
        bound = lease.bound_input
        if lease.operation == "stepwell.evaluate":
            return lease, "evaluated", self.evaluate(session_key, lease)
        if isinstance(bound, list):
            bound = self.evaluate(session_key, lease).get("problem")
        if isinstance(bound, str):
            error = {"type": "ExpressionError", "message": bound}
            return lease, "dead", {"failure_class": "expression_error", "error": error}
        return lease, "completed", output

    def kill(self, session_key: int, *leases: Lease) -> list[Lease]:
        """Reports each lease as dead: no further attempt follows."""
        error = {"error": {"type": "Dead", "message": "it is dead"}}
        return self.report(session_key, *((lease, "dead", error) for lease in leases))

    def drain(self, session_key: int, limit: int = 1000) -> int:
        """Completes all that can be claimed until nothing is left; returns how many leases that were."""
        done = 0
        while leases := self.claim(session_key):
            self.complete(session_key, *leases, output={"ok": True})
            done += len(leases)
            assert done <= limit, f"more than {limit} jobs were claimed: the queue never becomes empty"
        return done

    def timers(self) -> int:
        fired: int = self.one("select fired_count from fn_timers_fire()")
        return fired

    def unit(self, run_id: int, step_id: str) -> int:
        unit_id: int = self.one(
            "select step_run_id from step_run where tenant_id = %s and run_id = %s and step_id = %s",
            (self.tenant_id, run_id, step_id),
        )
        return unit_id

    def state(self, unit_id: int) -> str:
        code: str = self.one(
            "select state_code from work_unit where tenant_id = %s and unit_id = %s",
            (self.tenant_id, unit_id),
        )
        return code

    def run_state(self, run_id: int) -> str:
        return self.state(run_id << 20)

    def states(self, run_id: int) -> dict[str, str]:
        rows = self.db.execute(
            "select step_id, state_code from step_run where tenant_id = %s and run_id = %s order by step_no",
            (self.tenant_id, run_id),
        )
        return dict(rows.fetchall())

    def events(self, unit_id: int) -> list[str]:
        rows = self.db.execute(
            "select event_type from event_log where tenant_id = %s and unit_id = %s order by event_id",
            (self.tenant_id, unit_id),
        )
        return [event_type for (event_type,) in rows]

    def why(self, unit_id: int) -> tuple[str, str, str, str]:
        row = self.db.execute(
            "select code, sentence_en, sentence_vi, who from fn_why_not_running(%s, %s)",
            (unit_id, self.tenant_id),
        ).fetchone()
        assert row is not None
        return row  # type: ignore[return-value]

    def faults(self) -> dict[str, str]:
        """Invariants that do not hold, with their detail."""
        rows = self.db.execute("select invariant, detail from fn_invariants_check() where not ok")
        return dict(rows.fetchall())
