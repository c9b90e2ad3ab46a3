"""Where a sentence of a document is kept in another way on purpose: each difference as it is written down."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People
from tests.support.clock import Clock

DOOR = (
    "select fn_state_transition_validate(%s, %s, %s, %s, %s, 'rpc', 'step_claim', '{\"audit_ref\": \"a\"}')"
)


@pytest.mark.requirement("SM-13")
def test_a_step_that_does_not_wait_keeps_its_state_when_it_is_escalated(engine: Engine, clock: Clock):
    """000 §4.5 says waiting_human with the chain; a step that nobody took is ready."""
    people = People(engine)
    people.add("ben", "office", "operator")
    engine.publish("w", human("sign", role="office", escalation=[{"after": 60, "tell": "ben"}]))
    unit = engine.unit(engine.start("w"), "sign")
    clock.advance(seconds=61)
    engine.timers()
    shown = "select state_code, waiting_facet, escalation_chain_id is not null from step_run"
    assert engine.db.execute(f"{shown} where step_run_id = %s", (unit,)).fetchone() == ("ready", None, True)
    assert engine.faults() == {}


@pytest.mark.requirement("SM-13")
@pytest.mark.parametrize("facet", ["waiting_dependency", "waiting_external", "waiting_time_gate"])
def test_an_escalated_wait_for_something_else_keeps_its_facet(engine: Engine, clock: Clock, facet: str):
    """000 §4.5 says waiting_human with the chain; who is told does not end this wait."""
    people = People(engine)
    people.add("ada", "office")
    people.add("ben", "office", "operator")
    engine.publish("w", human("sign", role="office", escalation=[{"after": 60, "tell": "ben"}]))
    unit = engine.unit(engine.start("w"), "sign")
    people.claim(unit, "ada")
    people.wait(unit, "ada", [facet])
    clock.advance(seconds=61)
    engine.timers()
    shown = "select state_code, waiting_facet, escalation_chain_id from step_run where step_run_id = %s"
    assert engine.db.execute(shown, (unit,)).fetchone() == ("waiting", facet, f"chain:{unit}")
    assert engine.faults() == {}


@pytest.mark.requirement("SM-09")
@pytest.mark.parametrize("outcome", ["blocked", "cannot_complete"])
def test_a_handler_has_no_outcome_for_t4_and_t12(engine: Engine, outcome: str):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    with pytest.raises(psycopg.Error, match="outcome"):
        engine.report(session, (lease, outcome, {}))
    assert engine.states(run_id) == {"a": "in_progress"}
    # A handler that gives up: T9 with the classification permanent, then T11, in one commit.
    engine.kill(session, lease)
    assert engine.events(lease.unit_id)[-2:] == ["step.failed", "step.escalated"]
    commits = "select count(distinct tx) from event_log where event_type in ('step.failed', 'step.escalated')"
    assert engine.one(commits) == 1
    assert engine.states(run_id) == {"a": "cannot_complete"}


@pytest.mark.requirement("SM-09")
def test_t2_asks_a_person_for_no_executor_and_a_worker_for_no_person(engine: Engine):
    engine.publish("w", human("sign"), operation("call"), edges=[])
    engine.person("ada")
    run_id = engine.start("w")
    sign, call = engine.unit(run_id, "sign"), engine.unit(run_id, "call")
    assert engine.one("select executor_class_ref from step_run where step_run_id = %s", (sign,)) is None
    engine.one("select fn_step_claim(1, %s, 'ada')", (sign,))
    engine.claim(engine.worker())
    assert engine.one("select pic_id from step_run where step_run_id = %s", (call,)) is None
    assert engine.states(run_id) == {"sign": "in_progress", "call": "in_progress"}


@pytest.mark.requirement("RT-13")
def test_work_with_a_concurrency_key_of_its_own_does_not_count_for_its_workspace(engine: Engine):
    """One key counts for each unit: its own is used in place of the limit of its workspace."""
    engine.db.execute("select fn_workspace_set(1, 'slow', '{\"max_concurrency\": 1}')")
    engine.enqueue("plain", 3, p_workspace="slow")
    engine.enqueue("keyed", 3, p_workspace="slow", p_concurrency_key="k", p_max_concurrency=2)
    leased = [lease.operation for lease in engine.claim(engine.worker())]
    assert sorted(leased) == ["keyed", "keyed", "plain"]
    assert engine.faults() == {}


@pytest.mark.requirement("SM-04")
def test_a_unit_is_named_by_a_number_that_has_its_run_in_it(engine: Engine):
    engine.publish("w", human("a"), human("b"), edges=[])
    run_id = engine.start("w")
    units = [unit for (unit,) in engine.db.execute("select step_run_id from step_run order by 1")]
    assert units == [(run_id << 20) + 1, (run_id << 20) + 2]
    answer = engine.one(DOOR, (units[0], "step", "ready", "in_progress", "pic_human"))
    assert answer["transition_id"] == "step.T2"
    with pytest.raises(psycopg.Error):
        engine.one(
            DOOR, ("12e0b0b0-9761-16ed-0000-000000000000", "step", "ready", "in_progress", "pic_human")
        )
