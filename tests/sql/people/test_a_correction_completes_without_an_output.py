"""A corrected step that completes without an output: null is its output, not that of its first completion."""

from __future__ import annotations

import pytest

from stepwell.define import Conditional, Operation, Parallel, Sequential
from tests.sql.drive import Engine, operation
from tests.sql.graphs.publishing import leases, start
from tests.sql.people.asking import People
from tests.sql.people.test_a_step_is_reopened_for_correction import approval, row


@pytest.mark.requirement("SM-12")
def test_a_second_completion_without_an_output_hides_the_first_one(engine: Engine, people: People):
    """The step says null then, what follows it reads null, and its next correction records null."""
    steps = Parallel(Operation("check"), Operation("slow"))
    test = Conditional("exists($.steps.check.output.n)", Operation("pay"), Operation("refuse"))
    run_id = start(engine, Sequential(steps, test))
    session = engine.worker()
    unit = engine.unit(run_id, "check")
    leased = leases(engine, session)
    engine.complete(session, leased["check"], output={"n": 1})
    people.reopen_for_correction(unit, "ben", "data_error", approval(engine, unit))
    again = leases(engine, session)["check"]
    engine.complete(session, leased["slow"])
    # Its report decides the conditional.
    engine.complete(session, again)
    assert row(engine, unit)[::2] == ("completed", None)
    assert engine.states(run_id)["pay"] == "skipped"
    assert engine.states(run_id)["refuse"] == "ready"
    people.reopen_for_correction(unit, "ben", "data_error", approval(engine, unit))
    kept = "select array_agg(output order by prior_audit_id) from step_run_prior_audit"
    assert engine.one(kept) == [{"n": 1}, None]
    assert engine.faults() == {}


@pytest.mark.requirement("SM-12")
def test_a_step_that_waits_for_a_correction_reads_its_empty_output(engine: Engine, people: People):
    engine.publish("w", operation("check"), operation("after", inputs={"all": "$.steps.check.output"}))
    session = engine.worker()
    run_id = engine.start("w")
    unit = engine.unit(run_id, "check")
    engine.complete(session, *engine.claim(session), output={"n": 1})
    engine.drain(session)
    people.reopen_for_correction(unit, "ben", "data_error", approval(engine, unit), "reopen")
    (again,) = engine.claim(session)
    (after,) = engine.report(session, (again, "completed", None), claim_limit=1)
    assert after.bound_input == {"all": None}
