"""Every arrow of the two state diagrams of document 003 §2 is made, and read in the words of the document."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, operation
from tests.support.clock import Clock
from tests.support.deciding import deciding
from tests.worker.acting import put_in_force, rule

ACTION = {"connector": "c", "operation": "o", "target": "t", "call": "c.o#1", "fields": {}}
LATER = {"error": {"type": "TimeoutError"}, "delay_seconds": 5}


class Stage:
    """A run of one step, and what happens to it; `path` has the words of run and step after each event."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.engine, self.clock = engine, clock
        engine.person("ben")
        engine.publish("w", operation("a", retry={"max_attempts": 2}))
        self.run_id = engine.start("w")
        self.session = engine.worker(lease_seconds=36_000)
        self.path: list[tuple[str, str]] = []
        self.look()

    def look(self) -> None:
        run = self.engine.one("select status from runtime_run where run_id = %s", (self.run_id,))
        step = self.engine.one("select status from runtime_step where run_id = %s", (self.run_id,))
        self.path.append((run, step))

    def lease(self) -> Lease:
        (lease,) = self.engine.claim(self.session)
        self.look()
        return lease

    def report(self, lease: Lease, outcome: str, body: object) -> None:
        assert self.engine.report(self.session, (lease, outcome, body)) == []
        self.look()

    def act(self, lease: Lease) -> dict[str, object]:
        said: dict[str, object] = self.engine.one(
            "select fn_action_propose(%s, 1, %s, %s, %s)",
            (self.session, lease.unit_id, lease.lease_no, Jsonb(ACTION)),
        )
        return said

    def asked(self) -> int:
        """The step acts, and waits for the approval of its action."""
        put_in_force(self.engine.db, rule("ask", "needs_approval", expires_seconds=3600))
        lease = self.lease()
        said = self.act(lease)
        assert said["answer"] == "wait"
        approval = said["approval_id"]
        event = f"approval.decided.{approval}"
        asks = {"event": event, "facet": "waiting_human", "approval_id": approval}
        self.report(lease, "waiting", asks)
        assert isinstance(approval, int)
        return approval

    def decide(self, approval: int, decision: str) -> None:
        self.engine.one(deciding(decision, "ben", "because"), (approval,))
        self.look()

    def cancel(self) -> None:
        self.engine.one("select fn_run_cancel(1, %s, 'ben')", (self.run_id,))
        self.look()


def succeeds(stage: Stage) -> None:
    stage.report(stage.lease(), "completed", {"output": 1})


def is_approved(stage: Stage) -> None:
    stage.decide(stage.asked(), "approve")
    lease = stage.lease()
    said = stage.act(lease)
    assert said["answer"] == "go"
    settle = "select fn_action_settle(%s, 1, %s, %s, %s, 'confirmed')"
    stage.engine.one(settle, (stage.session, lease.unit_id, lease.lease_no, said["receipt_id"]))
    stage.report(lease, "completed", {"output": 1})


def is_rejected(stage: Stage) -> None:
    stage.decide(stage.asked(), "reject")


def expires(stage: Stage) -> None:
    stage.asked()
    stage.clock.advance(hours=2)
    stage.engine.timers()
    stage.look()


def is_tried_again(stage: Stage) -> None:
    stage.report(stage.lease(), "failed", LATER)
    stage.clock.advance(seconds=6)
    stage.engine.timers()
    stage.look()
    stage.report(stage.lease(), "failed", LATER)


def is_denied(stage: Stage) -> None:
    put_in_force(stage.engine.db, rule("never", "deny"))
    lease = stage.lease()
    assert stage.act(lease)["answer"] == "deny"
    stage.report(lease, "failed", {"error": {"type": "PolicyDenied"}})


def fails_for_good(stage: Stage) -> None:
    stage.report(stage.lease(), "failed", {"error": {"type": "ValidationError"}})


def is_cancelled_in_the_queue(stage: Stage) -> None:
    stage.cancel()


def loses_its_worker(stage: Stage) -> None:
    lease = stage.lease()
    stage.engine.db.execute("update worker_session set expires_at = stepwell.now()")
    stage.clock.advance(seconds=1)
    assert stage.engine.one("select fn_leases_recover()") == 1
    stage.look()
    stage.session = stage.engine.worker("second", lease_seconds=36_000)
    stage.engine.db.execute("update timer set due_at = stepwell.now()")
    stage.engine.timers()
    again = stage.lease()
    assert again.lease_no == lease.lease_no + 1
    stage.report(again, "completed", {})


def is_cancelled_at_work(stage: Stage) -> None:
    stage.lease()
    stage.cancel()


QUEUED, RUNNING = ("queued", "ready"), ("running", "running")
WAITS, DIED = ("waiting_approval", "waiting_approval"), ("failed_terminal", "failed_terminal")
DONE, GONE = ("succeeded", "succeeded"), ("canceled", "canceled")
BUSY = ("failed_retryable", "failed_retryable")
PATHS: dict[Callable[[Stage], None], list[tuple[str, str]]] = {
    succeeds: [QUEUED, RUNNING, DONE],
    # Approved: the run runs again, and the step is ready: it is scheduled again.
    is_approved: [QUEUED, RUNNING, WAITS, ("running", "ready"), RUNNING, DONE],
    is_rejected: [QUEUED, RUNNING, WAITS, DIED],
    expires: [QUEUED, RUNNING, WAITS, DIED],
    # The document has no arrow from there: the step is due again, and says so until it is leased.
    is_tried_again: [QUEUED, RUNNING, BUSY, BUSY, RUNNING, DIED],
    is_denied: [QUEUED, RUNNING, DIED],
    fails_for_good: [QUEUED, RUNNING, DIED],
    # §3.1 and §3.2: a lease that expires makes the step ready; the run goes on.
    loses_its_worker: [QUEUED, RUNNING, ("running", "ready"), RUNNING, DONE],
    is_cancelled_in_the_queue: [QUEUED, GONE],
    is_cancelled_at_work: [QUEUED, RUNNING, GONE],
}


@pytest.mark.requirement("RT-02", "RT-06", "RT-08", "RT-17")
@pytest.mark.parametrize("happens", PATHS, ids=lambda one: one.__name__)
def test_a_run_and_its_step_go_the_way_of_the_diagrams(
    engine: Engine, clock: Clock, happens: Callable[[Stage], None]
):
    stage = Stage(engine, clock)
    happens(stage)
    assert stage.path == PATHS[happens]
    assert engine.faults() == {}
