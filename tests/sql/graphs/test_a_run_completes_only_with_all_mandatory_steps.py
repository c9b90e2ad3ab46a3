"""A run completes if every mandatory step completed or was skipped. A mandatory step that was cancelled fails
the run, whoever cancelled it, unless a Conditional caught the cancellation.
"""

from __future__ import annotations

import pytest

from stepwell.define import Conditional, Map, Operation, Parallel, Sequential, Step
from tests.migration.conftest import MIGRATIONS
from tests.sql.drive import Engine
from tests.sql.graphs.publishing import leases, start

op = Operation


def optional(name: str) -> Operation:
    return Operation(name, mandatory=False)


CAUGHT = Conditional("b", op("t"), op("e"))
ENDS: dict[str, tuple[Step, str]] = {
    "an optional step after an optional one": (Sequential(optional("a"), optional("b")), "completed"),
    "a mandatory step after an optional one": (Sequential(optional("a"), op("b")), "failed"),
    "a mandatory step far behind": (Sequential(optional("a"), optional("b"), op("c")), "failed"),
    "a boundary that catches the cancelled step": (Sequential(optional("a"), op("b"), CAUGHT), "completed"),
    "a cancelled step beside the boundary": (
        Sequential(optional("a"), Parallel(op("c"), Sequential(op("b"), CAUGHT))),
        "failed",
    ),
    "an optional map around a mandatory step": (
        Map("$.input.items", Sequential(optional("a"), op("b")), id="all", mandatory=False),
        "completed",
    ),
    "a mandatory map around a mandatory step": (
        Map("$.input.items", Sequential(optional("a"), op("b")), id="all"),
        "failed",
    ),
    "a map around optional steps": (
        Map("$.input.items", Sequential(optional("a"), optional("b")), id="all"),
        "completed",
    ),
}


@pytest.mark.requirement("SM-15")
@pytest.mark.parametrize("case", ENDS)
def test_a_mandatory_step_behind_a_failed_optional_one(engine: Engine, case: str):
    root, end = ENDS[case]
    run_id = start(engine, root, {"items": [1]})
    session = engine.worker()
    engine.kill(session, *(lease for name, lease in leases(engine, session).items() if name == "a"))
    engine.drain(session)
    assert engine.run_state(run_id) == end
    assert engine.faults() == {}


@pytest.mark.requirement("SM-15")
@pytest.mark.parametrize(("mandatory", "end"), [(True, "failed"), (False, "completed")])
def test_a_step_that_a_person_cancels(engine: Engine, mandatory: bool, end: str):
    run_id = start(engine, Parallel(Operation("a", mandatory=mandatory), op("b")))
    engine.person("ada")
    engine.one("select fn_job_cancel(1, %s, 'ada', 'not needed')", (engine.unit(run_id, "a"),))
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == end
    assert engine.faults() == {}


@pytest.mark.requirement("SM-15")
def test_the_failed_run_names_the_step_that_failed_and_completes_after_a_retry(engine: Engine):
    run_id = start(engine, Sequential(optional("a"), op("b")))
    session = engine.worker()
    engine.kill(session, leases(engine, session)["a"])
    assert engine.run_state(run_id) == "failed"
    last = engine.one(
        "select array[event_type, to_state] from event_log where unit_id = %s order by event_id desc limit 1",
        (run_id << 20,),
    )
    assert last == ["workflow.failed", "failed"]
    engine.person("ada")
    engine.one("select fn_job_retry(1, %s, 'ada', 'fixed the cause')", (engine.unit(run_id, "a"),))
    engine.drain(session)
    assert engine.states(run_id) == {"a": "completed", "b": "completed"}
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def failed_again(engine: Engine) -> int:
    """a fails and is caught, b is cancelled because of it; then a is retried, and fails once more."""
    run_id = start(engine, Sequential(op("a"), op("b"), CAUGHT, op("z")))
    session = engine.worker()
    engine.kill(session, leases(engine, session)["a"])
    engine.complete(session, leases(engine, session)["e"])
    engine.person("ada")
    engine.one("select fn_job_retry(1, %s, 'ada', 'fixed the cause')", (engine.unit(run_id, "a"),))
    leased = leases(engine, session)
    engine.kill(session, leased["a"])
    engine.complete(session, leased["z"])
    return run_id


@pytest.mark.requirement("SM-15")
def test_a_caught_cancellation_that_is_taken_back_counts_again(engine: Engine):
    run_id = failed_again(engine)
    # The decision stays: nothing catches the second failure.
    assert engine.states(run_id) == {
        "a": "cannot_complete", "b": "cancelled", "if.t": "completed", "t": "skipped", "e": "completed",
        "z": "completed",
    }  # fmt: skip
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-15")
def test_a_live_run_of_an_older_release_keeps_what_its_boundary_caught(engine: Engine):
    run_id = start(engine, Sequential(op("a"), op("b"), CAUGHT))
    session = engine.worker()
    engine.kill(session, leases(engine, session)["a"])
    # An older release marked only the failure, not the step that was cancelled because of it.
    engine.db.execute("update work_unit set failure_caught = false where state_code = 'cancelled'")
    (migration,) = MIGRATIONS.glob("*_cancelled_steps_that_were_caught.sql")
    engine.db.execute(migration.read_bytes())
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}
