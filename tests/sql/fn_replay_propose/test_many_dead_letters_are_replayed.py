"""Many dead letters are replayed by one plan: rehearsed, approved, in stages, stopped at a failure."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, operation
from tests.support.clock import Clock
from tests.support.deciding import deciding
from tests.worker.acting import put_in_force, rule


def configured(engine: Engine, key: str, value: str) -> None:
    engine.db.execute("update dot_config set config_value = %s where config_key = %s", (value, key))


@pytest.fixture
def dead(engine: Engine) -> tuple[Engine, int]:
    """Twelve dead jobs of one operation, and a worker."""
    engine.person("ada", "ben", "cleo", "dan")
    engine.db.execute(
        "update dot_config set config_value = 'true' where config_key = 'approval.required.replay'"
    )
    session = engine.worker()
    return engine, session


def killed(engine: Engine, session: int, count: int, name: str = "post") -> list[int]:
    jobs = engine.enqueue(name, count)
    engine.kill(session, *engine.claim(session, 2000))
    return jobs


def proposed(engine: Engine, **given: Any) -> dict[str, Any]:
    filter_by = given or {"operation": "post"}
    found: dict[str, Any] = engine.one(
        "select fn_replay_propose(1, %s, 'ada', 'the period is open again')", (Jsonb(filter_by),)
    )
    return found


def approved(engine: Engine, plan: dict[str, Any], *people: str) -> None:
    for person in people:
        engine.one(deciding("approve", person), (int(plan["approval_id"]),))


def carried(engine: Engine) -> int:
    engine.one("select fn_replays_settle()")
    count: int = engine.one("select fn_replay_plans_carry()")
    return count


def plan_of(engine: Engine, plan: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = engine.one(
        "select to_jsonb(p) from v_replay_plan as p where plan_id = %s", (int(plan["plan_id"]),)
    )
    return found


@pytest.mark.requirement("GV-06")
def test_a_plan_waits_for_its_approval_and_goes_in_stages(dead: tuple[Engine, int]):
    engine, session = dead
    jobs = killed(engine, session, 15)
    plan = proposed(engine)
    assert (plan["letters"], plan["quorum"], plan["state"]) == (15, 1, "submitted")
    assert carried(engine) == 0
    approved(engine, plan, "ben")
    sizes = []
    while begun := carried(engine):
        sizes.append(begun)
        engine.drain(session)
    assert sizes == [1, 10, 4]
    assert carried(engine) == 0
    ended = plan_of(engine, plan)
    assert (ended["plan_state"], [one["completed"] for one in ended["progress"]]) == ("completed", sizes)
    assert {engine.state(job) for job in jobs} == {"completed"}
    # Each replay has its request, its approval and its key, and an outcome with its event.
    rows = engine.db.execute(
        "select proposal_state, replay_state, approval_id, outcome_jsonb ->> 'state', idempotency_key"
        " from v_replay_request"
    ).fetchall()
    assert {row[:4] for row in rows} == {("merged", "completed", int(plan["approval_id"]), "completed")}
    assert len({row[4] for row in rows}) == 15
    assert engine.one("select count(*) from event_log where event_type = 'dlq_replay.completed'") == 15
    assert engine.one("select count(*) from event_log where event_type = 'dlq_replay.stage_started'") == 3
    assert engine.faults() == {}


@pytest.mark.requirement("GV-06")
def test_a_failure_that_comes_back_stops_the_plan(dead: tuple[Engine, int]):
    engine, session = dead
    killed(engine, session, 30)
    plan = proposed(engine)
    approved(engine, plan, "ben")
    assert carried(engine) == 1
    engine.drain(session)
    assert carried(engine) == 10
    leases = engine.claim(session)
    engine.report(
        session, (leases[3], "failed", {"error": {"type": "E", "message": "closed"}, "delay_seconds": 1})
    )
    assert carried(engine) == 0
    stopped = plan_of(engine, plan)
    assert stopped["plan_state"] == "stopped"
    assert "closed" in stopped["ended_because"]
    assert [one["left_out"] for one in stopped["progress"]] == [0, 0, 19]
    # What was begun goes on; the others stay dead and can be asked for again.
    assert engine.one("select count(*) from job_dead_letter where resolved_at is null") == 19
    assert (
        engine.one(
            "select payload ->> 'left_count' from event_log where event_type = 'dlq_replay.plan_stopped'"
        )
        == "19"
    )
    assert proposed(engine)["letters"] == 19
    assert engine.faults() == {}


def test_a_large_plan_needs_two_people_also_where_no_approval_is_required(dead: tuple[Engine, int]):
    engine, session = dead
    engine.db.execute(
        "update dot_config set config_value = 'false' where config_key = 'approval.required.replay'"
    )
    engine.db.execute(
        "update dot_config set config_value = '20' where config_key = 'replay.two_person_count'"
    )
    killed(engine, session, 21)
    plan = proposed(engine)
    assert (plan["quorum"], plan["state"]) == (2, "submitted")
    approved(engine, plan, "ben")
    assert carried(engine) == 0
    approved(engine, plan, "cleo")
    assert carried(engine) == 1
    # A small one is granted by the setting.
    killed(engine, session, 2, "mail")
    engine.drain(session)
    assert proposed(engine, operation="mail")["state"] == "running"


def states(engine: Engine) -> list[tuple[str, str | None]]:
    """Proposal and replay of each request, in the order of the requests."""
    found = "select proposal_state, replay_state from dlq_replay_request order by replay_request_id"
    return [(proposal, replay) for proposal, replay in engine.db.execute(found)]


@pytest.mark.requirement("GV-10")
def test_a_request_has_the_states_of_a_proposal_and_beside_it_what_became_of_it(dead: tuple[Engine, int]):
    engine, session = dead
    killed(engine, session, 13)
    plan = proposed(engine)
    assert states(engine) == [("submitted", None)] * 13
    approved(engine, plan, "ben")
    assert states(engine) == [("approved", None)] * 13
    # What waits for its stage is asked for already.
    with pytest.raises(psycopg.Error, match="waits for its stage of plan") as caught:
        proposed(engine)
    assert caught.value.sqlstate == "SW003"
    assert engine.one("select count(*) from v_dead_letter where is_asked and replay_state = 'approved'") == 13
    carried(engine)
    assert states(engine) == [("merged", "scheduled"), *[("approved", None)] * 12]
    engine.drain(session)
    carried(engine)
    begun = [("merged", "completed"), *[("merged", "scheduled")] * 10]
    assert states(engine) == [*begun, *[("approved", None)] * 2]
    first, *others = engine.claim(session)
    engine.kill(session, first)
    engine.complete(session, *others)
    carried(engine)
    ended = [("merged", "completed"), ("merged", "failed"), *[("merged", "completed")] * 9]
    assert states(engine) == [*ended, *[("rejected", None)] * 2]
    second = proposed(engine)
    engine.one(deciding("reject", "ben", "not now"), (int(second["approval_id"]),))
    assert states(engine)[13:] == [("rejected", None)] * 3


@pytest.mark.requirement("GV-10")
def test_no_other_state_is_stored(dead: tuple[Engine, int]):
    engine, session = dead
    killed(engine, session, 1)
    proposed(engine)
    machine = "select array_agg(state_code) from state_def where state_machine_id = 'proposal.1'"
    known = {*engine.one(machine), "scheduled", "completed", "failed", "running", ""}
    accepted = set()
    for state in known:
        for replay in (None, "scheduled", "completed", "failed", "rejected"):
            try:
                engine.db.execute(
                    "update dlq_replay_request set proposal_state = %s, replay_state = %s", (state, replay)
                )
            except psycopg.errors.CheckViolation:
                continue
            accepted.add((state, replay))
    # Of the states of the document only what is granted has an outcome.
    document = ("draft", "submitted", "review", "approved", "rejected", "merged")
    assert accepted == {
        *((state, None) for state in document if state != "merged"),
        *(("merged", replay) for replay in ("scheduled", "completed", "failed")),
        ("approved", "failed"),
    }


@pytest.mark.requirement("GV-06")
def test_a_replay_without_a_granted_request_is_refused(dead: tuple[Engine, int]):
    engine, session = dead
    (job,) = killed(engine, session, 1)
    plan = proposed(engine)
    request = engine.one("select replay_request_id from dlq_replay_request")
    for evidence in (
        {"replay_request_id": request},
        {"approval_id": int(plan["approval_id"])},
        {"replay_request_id": request, "approval_id": int(plan["approval_id"])},
        {"replay_request_id": request + 1, "approval_id": int(plan["approval_id"])},
    ):
        with pytest.raises(psycopg.Error) as caught:
            engine.db.execute(
                "select _units_move(array[1], array[%s::bigint], 'ready', 'system', 'event',"
                " 'replay_approved', 'ada', array[%s::jsonb])",
                (job, Jsonb(evidence | {"audit_ref": "x"})),
            )
        assert caught.value.sqlstate == "SW004", evidence
    assert engine.state(job) == "cannot_complete"


def test_a_rejected_or_stopped_plan_replays_nothing_more(dead: tuple[Engine, int], clock: Clock):
    engine, session = dead
    killed(engine, session, 3)
    plan = proposed(engine)
    engine.one(deciding("reject", "ben", "not now"), (int(plan["approval_id"]),))
    assert plan_of(engine, plan)["plan_state"] == "rejected"
    plan = proposed(engine)
    clock.advance(days=60)
    engine.timers()
    assert plan_of(engine, plan)["plan_state"] == "rejected"
    plan = proposed(engine)
    approved(engine, plan, "ben")
    assert carried(engine) == 1
    engine.one("select fn_replay_stop(1, %s, 'dan', 'wrong letters')", (int(plan["plan_id"]),))
    engine.drain(engine.worker())
    assert carried(engine) == 0
    with pytest.raises(psycopg.Error) as caught:
        engine.one("select fn_replay_stop(1, %s, 'dan', 'again')", (int(plan["plan_id"]),))
    assert caught.value.sqlstate == "SW003"
    assert engine.faults() == {}


def test_who_was_retried_meanwhile_is_left_out(dead: tuple[Engine, int]):
    engine, session = dead
    engine.publish("w", operation("post"), operation("after"))
    runs = [engine.start("w") for _ in range(3)]
    engine.kill(session, *engine.claim(session))
    plan = proposed(engine, workflow="w")
    assert plan["letters"] == 3
    with pytest.raises(psycopg.Error) as caught:
        engine.one("select fn_run_retry(1, %s, 'dan')", (runs[1],))
    assert caught.value.sqlstate == "SW003"
    approved(engine, plan, "ben")
    assert carried(engine) == 1
    engine.drain(session)
    assert carried(engine) == 2
    engine.drain(session)
    assert carried(engine) == 0
    assert {engine.run_state(run) for run in runs} == {"completed"}
    assert engine.faults() == {}


def test_more_letters_than_the_limit_are_refused(dead: tuple[Engine, int]):  # limits.replay_letters
    engine, session = dead
    killed(engine, session, 11)
    configured(engine, "limits.replay_letters", "10")
    with pytest.raises(psycopg.Error, match="more than 10 dead letters") as caught:
        proposed(engine)
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SW006", "filter")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"operation": 3}, "operation"),
        ({"odd": "x"}, "filter"),
        ({"units": ["x"]}, "units"),
        ([], "filter"),
    ],
)
def test_a_wrong_filter_is_refused_by_name(engine: Engine, given: Any, field: str):
    with pytest.raises(psycopg.Error) as caught:
        engine.one("select fn_replay_rehearse(1, %s)", (Jsonb(given),))
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SW001", field)


def proposing(engine: Engine, session: int, lease: Lease, name: str, **more: Any) -> dict[str, Any]:
    asked = {"connector": "sap", "operation": name, "target": "/x", "call": f"{name}#1", "fields": {"sum": 1}}
    said: dict[str, Any] = engine.one(
        "select fn_action_propose(%s, 1, %s, %s, %s)",
        (session, lease.unit_id, lease.lease_no, Jsonb(asked | more)),
    )
    return said


def settled(engine: Engine, session: int, said: dict[str, Any], lease: Lease, outcome: str) -> None:
    engine.db.execute(
        "select fn_action_settle(%s, 1, %s, %s, %s, %s, '{}')",
        (session, lease.unit_id, lease.lease_no, said["receipt_id"], outcome),
    )


def test_a_rehearsal_says_what_each_effect_would_be(dead: tuple[Engine, int]):
    engine, session = dead
    put_in_force(
        engine.db,
        rule("asked", "needs_approval", '$.operation == "fi"', priority=1, tier="low"),
        rule("free", "allow"),
    )
    # A success of the same operation made four effects; the letter died after two of them.
    engine.enqueue("post")
    (good,) = engine.claim(session)
    for name in ("reserve", "mail", "move"):
        settled(engine, session, proposing(engine, session, good, name), good, "confirmed")
    engine.complete(session, good)
    engine.enqueue("post")
    (lease,) = engine.claim(session)
    settled(engine, session, proposing(engine, session, lease, "reserve"), lease, "confirmed")
    settled(
        engine, session, proposing(engine, session, lease, "mail", reversible=False), lease, "unconfirmed"
    )
    settled(engine, session, proposing(engine, session, lease, "fii", reversible=True), lease, "void")
    engine.kill(session, lease)
    before = engine.one("select count(*) from event_log")
    told = engine.one("select fn_replay_rehearse(1, '{}')")
    assert engine.one("select count(*) from event_log") == before
    answers = {row["operation"]: (row["answer"], row["is_expected"]) for row in told["rows"]}
    assert answers == {
        "reserve": ("cached", False), "mail": ("doubt", False), "fii": ("new", False), "move": ("new", True),
    }  # fmt: skip
    assert told["effects"] == {
        "cached": 1, "doubt": 1, "new": 2, "needs_approval": 0, "deny": 0, "unjudged": 0, "irreversible": 2,
    }  # fmt: skip
    assert (told["letters"], told["tenants"], told["quorum"]) == (1, 1, 1)
    put_in_force(engine.db, rule("asked", "needs_approval", tier="low"))
    told = engine.one("select fn_replay_rehearse(1, '{}')")
    assert {row["operation"]: row["answer"] for row in told["rows"]}["move"] == "needs_approval"
    configured(engine, "limits.replay_judged", "1")
    assert engine.one("select fn_replay_rehearse(1, '{}')")["effects"]["unjudged"] == 1
