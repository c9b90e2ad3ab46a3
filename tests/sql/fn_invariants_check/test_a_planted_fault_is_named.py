"""The check of the invariants names each planted fault, and finds none in a correct engine."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, human, operation, subworkflow, wait
from tests.sql.integrity.test_invariants_are_watched_in_slices import look


@pytest.fixture
def busy(engine: Engine) -> Engine:
    """Units of every sort: running, waiting, queued, with a timer, ended, human, in a sub-workflow."""
    engine.publish("chain", operation("a"), operation("b", retry={"max_attempts": 3}), operation("c"))
    engine.publish("parcel", wait("parcel", "came", timeout_seconds=100), operation("after"))
    engine.publish("desk", human("sign"), operation("file"))
    engine.publish("outer", subworkflow("call", "chain"), operation("last"))
    engine.publish(
        "narrow", *(operation(f"n{at}", group=1) for at in range(4)), edges=[],
        groups=[{"no": 1, "max_concurrency": 2}],
    )  # fmt: skip
    for workflow in ("chain", "parcel", "desk", "outer", "narrow", "chain"):
        engine.start(workflow)
    engine.enqueue("job", 5, p_concurrency_key="k", p_max_concurrency=2)
    session = engine.worker()
    leases = engine.claim(session, 8)
    engine.complete(session, *leases[:3], output=1)
    engine.report(session, (leases[3], "failed", {"error": {"type": "E"}, "delay_seconds": 100}))
    engine.report(session, (leases[4], "sleep", {"seconds": 100}))
    return engine


def test_a_correct_engine_has_no_fault(busy: Engine):
    rows = busy.db.execute("select invariant, ok, detail from fn_invariants_check()").fetchall()
    assert len(rows) == 8
    assert [row for row in rows if not row[1]] == []


@pytest.mark.parametrize(
    ("fault", "invariant", "words"),
    [
        ("delete from worker_lease", "leases_are_single_and_alive", "whose claims do not name it"),
        ("update worker_session set closed_at = stepwell.now()", "leases_are_single_and_alive", "has ended"),
        (
            "update work_unit set lease_session_id = 1 where state_code = 'waiting'",
            "leases_are_single_and_alive",
            "waiting and leased",
        ),
        (
            """update work_unit set lease_session_id = null where unit_id = (
                   select min(unit_id) from work_unit where lease_session_id is not null)""",
            "leases_are_single_and_alive",
            "without a lease",
        ),
        ("delete from job_ready", "every_open_unit_is_explained", "nothing can change that"),
        ("delete from timer", "every_open_unit_is_explained", "nothing can change that"),
        ("delete from event_wait", "every_open_unit_is_explained", "nothing can change that"),
        (
            "update work_unit set state_code = 'completed' where state_code = 'ready'",
            "states_are_the_fold_of_events",
            "its last event",
        ),
        (
            """insert into event_log (tenant_id, at, run_id, unit_id, event_type, from_state, to_state,
                   actor_class) select tenant_id, stepwell.now(), unit_id >> 20, unit_id, 'step.ready',
                   'blocked', state_code, 'system' from work_unit where state_code = 'waiting' limit 1""",
            "states_are_the_fold_of_events",
            "begins at blocked",
        ),
        ("update run_progress set open_count = 9", "counters_equal_a_recount", "open_count: counted 9"),
        ("update run_progress set red_count = 3", "counters_equal_a_recount", "red_count: counted 3"),
        (
            "update run_progress set rollup_state_code = 'red'",
            "counters_equal_a_recount",
            "its counters say",
        ),
        (
            "update work_unit set pending_count = 7 where state_code = 'not_started'",
            "pending_counts_equal_unfinished_predecessors",
            "waits for 7",
        ),
        (
            "update work_unit set state_code = 'failed' where scope = 'workflow_run'",
            "nothing_is_left_of_what_has_ended",
            "its run is failed",
        ),
        ("update concurrency_slot set used_count = 0", "slots_equal_their_holders", "0 slots in use"),
    ],
)
def test_each_fault_is_named(busy: Engine, fault: str, invariant: str, words: str):
    busy.db.execute(fault)
    assert words in busy.faults().get(invariant, "nothing found")
    # The slices find the same.
    found = look(busy, 2)
    assert [one for one in found if one["invariant"] == invariant and words in one["fault"]]


def test_many_faults_are_counted_and_only_the_first_are_listed(engine: Engine):
    engine.enqueue("job", 30)
    engine.db.execute("delete from job_ready")
    assert engine.faults()["every_open_unit_is_explained"].endswith("; and 20 more")
