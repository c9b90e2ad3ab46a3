"""A report needs the session, the number and the time of its lease, whatever its outcome is: a late writer
changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.sql.drive import Engine, Lease, operation
from tests.support.clock import Clock

ERROR = {"error": {"type": "ValueError", "message": "no"}}
OUTCOMES: dict[str, Any] = {
    "completed": {"n": 1},
    "failed": ERROR,
    "retry": ERROR | {"delay_seconds": 0},
    "dead": ERROR,
    "waiting": {"event": "paid", "seconds": 60},
    "sleep": {"seconds": 60},
    "released": None,
    "oversized": 10_000_000,
}
EVERYTHING = """
    select md5(string_agg(x::text, '|' order by x::text)) from (
        select u::text as x from work_unit as u union all select e::text from event_log as e
        union all select p::text from run_progress as p union all select r::text from job_ready as r
        union all select o::text from unit_output as o union all select f::text from unit_failure as f
        union all select t::text from timer as t union all select w::text from event_wait as w
        union all select d::text from job_dead_letter as d) as s
"""


def late_lease(engine: Engine, clock: Clock, how: str) -> tuple[int, Lease]:
    """The session that reports, and the lease that is not valid or not its own."""
    session = engine.worker(lease_seconds=60)
    (lease,) = engine.claim(session)
    match how:
        case "another session":
            return engine.worker("thief"), lease
        case "another number":
            return session, replace(lease, lease_no=lease.lease_no + 1)
        case "an earlier number":
            engine.report(session, (lease, "released", None))
            assert [again.lease_no for again in engine.claim(session)] == [lease.lease_no + 1]
            return session, lease
        case "an expired session":
            clock.advance(seconds=61)
            return session, lease
        case _:
            engine.db.execute("select fn_worker_close(%s)", (session,))
            return session, lease


@pytest.mark.requirement("LN-05")
@pytest.mark.parametrize("contract", [{}, {"postcondition": "$.output.n == 1"}], ids=["plain", "contract"])
@pytest.mark.parametrize(
    "how",
    ["another session", "another number", "an earlier number", "an expired session", "a closed session"],
)
def test_a_late_writer_changes_nothing(engine: Engine, clock: Clock, how: str, contract: dict[str, str]):
    engine.publish("w", operation("a", retry={"max_attempts": 3}, **contract), operation("b"))
    engine.start("w")
    session, lease = late_lease(engine, clock, how)
    before = engine.one(EVERYTHING)
    for outcome, body in OUTCOMES.items():
        answer = engine.report(session, (lease, outcome, body))
        assert [(outcome, row.row_kind) for row in answer] == [(outcome, "refused")]
        assert (outcome, engine.one(EVERYTHING)) == (outcome, before)
    assert engine.faults() == {}
