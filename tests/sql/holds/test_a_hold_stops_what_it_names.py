"""A hold stops what it names, by every way to a lease, and nothing else; released, everything goes on."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, operation, subworkflow
from tests.sql.holds.conftest import Holding
from tests.sql.people.asking import People, refused


def taken(leases: list[Lease]) -> list[str]:
    return sorted(str(lease.operation) for lease in leases)


def world(engine: Engine) -> int:
    """Two workflows, one of them with a sub-workflow, a job, and a session that serves them all."""
    engine.publish("inner", operation("call"))
    engine.publish("outer", subworkflow("sub", "inner"), operation("after"))
    engine.publish("plain", operation("post"))
    engine.person("ada", "ben")
    for workflow, actor in (("outer", "ben"), ("plain", "ada")):
        engine.one(
            "select run_id from fn_run_start(1, %s, %s::jsonb[], null, p_actor => %s)",
            (workflow, [Jsonb({})], actor),
        )
    engine.enqueue("mail", p_actor="ada")
    return engine.worker()


@pytest.mark.parametrize(
    ("kind", "value", "goes_on"),
    [
        ("operation", "post", ["call", "mail"]),
        ("workflow", "plain", ["call", "mail"]),
        # What runs below a run of the workflow is held too.
        ("workflow", "outer", ["mail", "post"]),
        ("workflow", "inner", ["mail", "post"]),
        ("tenant", "default", []),
        # The runs and jobs that somebody started.
        ("person", "ada", ["call"]),
    ],
)
def test_a_claim_gives_out_nothing_that_is_held(
    engine: Engine, holding: Holding, kind: str, value: str, goes_on: list[str]
):
    session = world(engine)
    hold = holding.open(kind, value)
    assert taken(engine.claim(session)) == goes_on
    # What comes into the queue while the hold is open is met by the claim.
    engine.start("plain")
    engine.start("outer")
    engine.enqueue("mail")
    later = taken(engine.claim(session))
    assert set(later) <= {"call", "mail", "post"}
    if kind != "person":
        assert set(later) == set(goes_on)
    assert engine.faults() == {}
    holding.release(hold)
    rest = taken(engine.claim(session))
    assert sorted([*goes_on, *later, *rest]) == ["call", "call", "mail", "mail", "post", "post"]
    holding.end()
    assert engine.one("select count(*) from job_held") == 0
    assert engine.faults() == {}


def test_a_tenant_without_a_hold_goes_on(engine: Engine, holding: Holding):
    other = Engine(
        engine.db, engine.one("insert into tenant (tenant_code) values ('other') returning tenant_id")
    )
    holding.open("tenant", "default")
    engine.enqueue("op")
    other.enqueue("op")
    assert [lease.tenant_id for lease in engine.claim(engine.worker())] == [other.tenant_id]


def test_the_claim_of_single_units_respects_a_hold(engine: Engine, holding: Holding):
    engine.enqueue("mail", 3)
    engine.enqueue("post")
    holding.open("operation", "mail")
    rows = engine.db.execute(
        "select operation_name from fn_job_claim_each(%s, 10)", (engine.worker(),)
    ).fetchall()
    assert rows == [("post",)]


def test_what_is_released_by_a_report_is_not_leased_directly(engine: Engine, holding: Holding):
    engine.publish("w", operation("a"), operation("b"))
    engine.start("w")
    session = engine.worker()
    (first,) = engine.claim(session)
    hold = holding.open("operation", "b")
    assert engine.report(session, (first, "completed", None), claim_limit=10) == []
    assert engine.claim(session) == []
    holding.release(hold)
    assert taken(engine.claim(session)) == ["b"]
    assert engine.faults() == {}


def test_a_run_that_is_started_here_is_held(engine: Engine, holding: Holding):
    engine.publish("w", operation("a"))
    session = engine.worker()
    holding.open("workflow", "w")
    rows = engine.db.execute(
        "select row_kind from fn_run_start_here(%s, 10, 1, 'w', %s::jsonb[])", (session, [Jsonb({})])
    ).fetchall()
    assert rows == [("started",)]
    assert engine.claim(session) == []
    assert engine.faults() == {}


def test_a_retry_that_is_due_stays_held(engine: Engine, holding: Holding, clock):
    engine.publish("w", operation("a"), operation("b"))
    run_id = engine.start("w")
    session = engine.worker(lease_seconds=36_000)
    (lease,) = engine.claim(session)
    hold = holding.open("operation", "a")
    engine.report(
        session, (lease, "failed", {"error": {"type": "X", "message": "no"}, "failure_class": "connection"})
    )
    clock.advance(hours=1)
    engine.timers()
    assert engine.claim(session) == []
    assert engine.state(engine.unit(run_id, "a")) == "failed"
    assert engine.faults() == {}
    holding.release(hold)
    (again,) = engine.claim(session)
    assert again.attempt == 2
    assert engine.complete(session, again) == []
    assert engine.faults() == {}


def test_held_work_leaves_its_slot_to_the_share_that_goes_on(engine: Engine, holding: Holding):
    jobs = engine.enqueue("op", 40, p_concurrency_key="k", p_max_concurrency=2)
    session = engine.worker()
    hold = holding.open("operation", "op")
    assert engine.claim(session) == []
    assert engine.faults() == {}
    holding.release(hold, 50)
    done: list[int] = []
    for _ in range(80):
        holding.carry()
        leases = engine.claim(session)
        assert len(leases) <= 2
        done += [lease.unit_id for lease in leases]
        engine.complete(session, *leases)
        assert engine.faults() == {}
    share = [job for job in jobs if engine.one("select _hold_bucket(%s, %s >> 20)", (hold, job)) < 50]
    assert 0 < len(share) < 40
    assert sorted(done) == sorted(share)
    holding.release(hold)
    for _ in range(40):
        holding.carry()
        leases = engine.claim(session)
        done += [lease.unit_id for lease in leases]
        engine.complete(session, *leases)
    assert sorted(done) == sorted(jobs)
    assert engine.faults() == {}


def test_shares_are_stable_and_a_larger_one_has_the_smaller(engine: Engine, holding: Holding):
    engine.publish("w", operation("a"))
    runs = [engine.start("w") for _ in range(60)]
    session = engine.worker()
    hold = holding.open("workflow", "w")
    assert engine.claim(session, 1000) == []
    gone: dict[int, set[int]] = {}
    for share in (10, 50, 100):
        holding.release(hold, share)
        gone[share] = {lease.unit_id >> 20 for lease in engine.claim(session, 1000)}
    buckets = {run: engine.one("select _hold_bucket(%s, %s)", (hold, run)) for run in runs}
    assert gone[10] == {run for run, bucket in buckets.items() if bucket < 10}
    assert gone[50] == {run for run, bucket in buckets.items() if 10 <= bucket < 50}
    assert gone[10] | gone[50] | gone[100] == set(runs)
    assert engine.one(
        "select array_agg(distinct _hold_bucket(7, q)) from generate_series(1, 5000) as q"
    ) == list(range(100))


def test_what_is_cancelled_or_paused_while_it_is_held(engine: Engine, holding: Holding):
    engine.person("ada")
    engine.publish("w", operation("a"))
    cancelled, paused, plain = (engine.start("w") for _ in range(3))
    session = engine.worker()
    hold = holding.open("workflow", "w")
    engine.one("select fn_run_cancel(1, %s, 'cli:ops')", (cancelled,))
    engine.one("select fn_run_pause(1, %s, 'cli:ops')", (paused,))
    assert engine.faults() == {}
    holding.release(hold)
    assert [lease.unit_id >> 20 for lease in engine.claim(session)] == [plain]
    engine.one("select fn_run_resume(1, %s, 'cli:ops')", (paused,))
    assert [lease.unit_id >> 20 for lease in engine.claim(session)] == [paused]
    holding.end()
    assert engine.faults() == {}


def test_two_holds_stop_what_either_names(engine: Engine, holding: Holding):
    engine.enqueue("op")
    session = engine.worker()
    first, second = holding.open("operation", "op"), holding.open("tenant", "default")
    assert engine.claim(session) == []
    holding.release(first)
    assert engine.claim(session) == []
    assert engine.one("select hold_id from _hold_of(1, (select unit_id from job_held))") == second
    holding.release(second)
    assert taken(engine.claim(session)) == ["op"]
    holding.end()
    assert engine.faults() == {}


def test_a_hold_is_opened_and_released_once(engine: Engine, holding: Holding):
    engine.enqueue("op", 2)
    hold = holding.open("operation", "op", "first reason")
    again = engine.one("select fn_hold_open(1, 'operation', 'op', 'another', 'cli:ops')")
    assert again == {"hold_id": str(hold), "is_new": False}
    holding.release(hold, 10)
    holding.release(hold, 10)
    holding.release(hold, 50)
    with refused("SW003", "50", "larger share"):
        holding.release(hold, 10)
    holding.release(hold)
    holding.release(hold)
    holding.end()
    told = engine.db.execute(
        "select event_type from event_log where run_id = %s order by event_id", (hold,)
    ).fetchall()
    assert [kind for (kind,) in told] == [
        "hold.opened", "hold.graded", "hold.graded", "hold.released", "hold.ended",
    ]  # fmt: skip
    # A new hold of the same operation is another one.
    assert holding.open("operation", "op") > hold


@pytest.mark.parametrize(
    ("kind", "value", "reason", "sqlstate", "word"),
    [
        ("planet", "mars", "r", "SW001", "scope_kind"),
        ("operation", " ", "r", "SW001", "scope_value"),
        ("operation", "pots", "r", "SW002", "operation pots does not exist"),
        ("workflow", "pots", "r", "SW002", "workflow pots does not exist"),
        ("tenant", "other", "r", "SW002", "tenant other does not exist"),
        ("person", "nobody", "r", "SW002", "person nobody does not exist"),
        ("operation", "post", "  ", "SW001", "reason"),
    ],
)
def test_a_wrong_hold_is_refused(
    engine: Engine, holding: Holding, kind: str, value: str, reason: str, sqlstate: str, word: str
):
    engine.enqueue("post")
    with refused(sqlstate, word):
        holding.open(kind, value, reason)


def test_a_wrong_release_is_refused(engine: Engine, holding: Holding):
    engine.enqueue("post")
    hold = holding.open("operation", "post")
    for share in (0, 20, None):
        with refused("SW001", "10, 50 and 100"):
            engine.one("select fn_hold_release(1, %s, %s, 'r', 'cli:ops')", (hold, share))
    with refused("SW001", "reason"):
        holding.release(hold, reason="")
    with refused("SW002", "hold 99999"):
        holding.release(99999)


def test_the_reach_is_shown_before_a_hold_is_opened(engine: Engine, holding: Holding):
    session = world(engine)
    engine.claim(session, 1)
    before = engine.one("select count(*) from event_log")
    reach = engine.one("select fn_hold_reach(1, 'tenant', 'default')")
    assert (reach["jobs"], reach["runs"], reach["working"], reach["is_more"]) == (1, 3, 1, False)
    assert engine.one("select fn_hold_reach(1, 'operation', 'post')")["operations"] == ["post"]
    assert engine.one("select count(*) from event_log") == before
    assert engine.one("select count(*) from incident_hold") == 0


def test_who_may_open_and_release(engine: Engine, people: People, holding: Holding):
    engine.enqueue("op")
    people.add("rev", "reviewer")
    people.add("op", "operator")
    people.add("boss", "admin")

    def bound(name: str, call: str, *values: object) -> object:
        token = engine.one("select token from fn_token_create(1, %s, 'test', 3600)", (name,))
        with engine.db.transaction():
            engine.db.execute("select fn_session_bind(%s)", (token,))
            return engine.one(call, values)

    opening = "select fn_hold_open(1, 'operation', 'op', 'r', %s)"
    releasing = "select fn_hold_release(1, %s, 100, 'r', %s)"
    with pytest.raises(psycopg.Error, match=r"hold\.open"):
        bound("ada", opening, "ada")
    made = bound("rev", opening, "rev")
    assert isinstance(made, dict)
    hold = int(made["hold_id"])
    for name in ("ada", "rev"):
        with pytest.raises(psycopg.Error, match=r"hold\.release"):
            bound(name, releasing, hold, name)
    bound("op", releasing, hold, "op")
    made = bound("boss", opening, "boss")
    assert isinstance(made, dict)
    assert made["is_new"] is True
    with pytest.raises(psycopg.Error, match="cannot act as"):
        bound("boss", releasing, int(made["hold_id"]), "rev")
