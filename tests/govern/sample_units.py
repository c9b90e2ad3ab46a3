"""Makes units of every kind in many states: receives a connection with the people of the sample run."""

from __future__ import annotations

import psycopg

from tests.sql.drive import Engine, Lease, human, operation, subworkflow, wait
from tests.support.clock import Clock

HOUR = 3600


def make_units(db: psycopg.Connection, clock: Clock) -> None:
    """Late, blocked and waiting people, a Map, a sub-workflow, tasks, failures, leases, jobs in line."""
    engine = Engine(db)
    engine.publish("sign", human("sign", role="warehouse", deadline=HOUR), operation("after"))
    engine.publish(
        "each", {"id": "each", "kind": "map", "over": "$.input.items"}, operation("ship", scope=1),
        operation("last"), edges=[("each", "last")],
    )  # fmt: skip
    engine.publish("outer", subworkflow("inner", "sign"), operation("end"))
    engine.publish("hold", wait("hold", "paid"), operation("go"))
    engine.publish("tasks", human("pack", role="warehouse", tasks=[{"id": "look"}, {"id": "wrap"}]))
    engine.publish(
        "branch", {"id": "which", "kind": "conditional", "test": "$.input.big == true", "reads": []},
        operation("big", branch=1, group=1, timeout_seconds=5), edges=[("which", "big")],
        branches=[{"no": 1, "conditional": 1, "label": "then", "negated": False}],
        groups=[{"no": 1, "max_concurrency": 1}],
    )  # fmt: skip
    engine.publish("fails", operation("fail", retry={"max_attempts": 1}), operation("never"))
    late, missed, blocked = (engine.unit(engine.start("sign"), "sign") for _ in range(3))
    for unit in (late, blocked):
        db.execute("select fn_step_claim(1, %s, 'ada')", (unit,))
    db.execute("select fn_step_block(1, %s, 'ada', 'missing_iu')", (blocked,))
    clock.advance(hours=2)
    engine.timers()
    db.execute("select fn_step_complete(1, %s, 'ada', '{}')", (late,))
    assert engine.events(missed)[-1] == "step.deadline_missed"
    taken = engine.unit(engine.start("sign"), "sign")
    db.execute("select fn_step_claim(1, %s, 'bob')", (taken,))
    for workflow in ("outer", "hold", "tasks", "fails"):
        engine.start(workflow)
    engine.start("each", {"items": [1, 2, 3]})
    engine.enqueue("job.line", 3, p_concurrency_key="one", p_max_concurrency=1)
    for workspace in ("north", "south"):
        db.execute("select fn_workspace_set(1, %s)", (workspace,))
        engine.enqueue("job.line", 2, p_workspace=workspace, p_priority=3)
    _work(engine)


def _work(engine: Engine) -> None:
    """One item of the Map is completed, one is leased, one fails; a lease is lost; jobs wait in line."""
    session = engine.worker("sample")
    shipped: list[Lease] = []
    for lease in engine.claim(session):
        if lease.operation == "fail":
            engine.report(session, (lease, "failed", {"error": {"type": "Error", "message": "no"}}))
        elif lease.operation == "ship":
            shipped.append(lease)
        elif lease.operation != "job.line":
            engine.complete(session, lease, output={"ok": True})
    engine.complete(session, shipped[0], output={"ok": True})
    engine.report(session, (shipped[1], "failed", {"error": {"type": "Timeout", "message": "late"}}))
    lost = engine.worker("lost")
    engine.enqueue("job.lost", 1)
    engine.kill(lost, *engine.claim(lost))
