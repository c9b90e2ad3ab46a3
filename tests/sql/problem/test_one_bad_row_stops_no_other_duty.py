"""When one receipt, replay, look or removal of the keeper fails, the others are done; a problem names it."""

from __future__ import annotations

import random
from collections.abc import Callable

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation
from tests.sql.problem.conftest import Poison
from tests.sql.problem.test_one_bad_row_stops_no_other import CODES, problems
from tests.support.clock import Clock
from tests.worker.acting import put_in_force, rule

Refuse = Callable[..., None]

SEEN = "select sum(seen_count)::int from governance_problem where category_code = 'set_aside'"
OPEN = "select subject from governance_problem where category_code = %s and closed_at is null order by 1"


@pytest.fixture
def refuse(db: psycopg.Connection) -> Refuse:
    """`refuse("delete", "timer", "old.unit_id = 7")` makes such a change fail; `refuse()` ends that."""
    made: list[tuple[str, str]] = []

    def act(event: str = "", table: str = "", condition: str = "", code: str = "22012") -> None:
        while made:
            name, of = made.pop()
            db.execute(f"drop trigger {name} on stepwell.{of}".encode())
        if not event:
            return
        db.execute(
            "create or replace function public.refuse() returns trigger language plpgsql as"
            f" $$ begin raise exception using errcode = '{code}', message = 'refused'; end $$".encode()
        )
        db.execute(
            f"create trigger refused before {event} on stepwell.{table} for each row"
            f" when ({condition}) execute function public.refuse()".encode()
        )
        made.append(("refused", table))

    return act


def open_subjects(engine: Engine, category: str) -> list[str]:
    return [subject for (subject,) in engine.db.execute(OPEN, (category,))]


def settle(engine: Engine) -> list[tuple[str, str]]:
    engine.one("select fn_problems_settle()")
    return problems(engine)


def intended(engine: Engine, count: int) -> list[int]:
    """Receipts of one step that completed before their effects were settled."""
    put_in_force(engine.db, rule("free", "allow"))
    engine.publish("w", operation("a"))
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    for number in range(count):
        action = {
            "connector": "c",
            "operation": "o",
            "target": str(number),
            "call": f"{number}#1",
            "fields": {},
        }
        said = engine.one(
            "select fn_action_propose(%s, 1, %s, %s, %s)",
            (session, lease.unit_id, lease.lease_no, Jsonb(action)),
        )
        assert said["answer"] == "go", said
    engine.complete(session, lease)
    rows = engine.db.execute("select receipt_id from action_receipt order by receipt_id")
    return [receipt_id for (receipt_id,) in rows]


@pytest.mark.parametrize("code", CODES)
def test_a_receipt_that_cannot_be_recovered_stops_no_other(
    engine: Engine, clock: Clock, poison: Poison, code: str
):
    receipts = intended(engine, 5)
    poison(receipts[2], code=code)
    assert engine.one("select fn_receipts_recover()") == 4
    assert [engine.state(receipt) for receipt in receipts].count("unconfirmed") == 4
    assert problems(engine) == [("receipts", str(receipts[2]))]
    # It is not tried again before its time, and its problem stays open until then.
    assert engine.one("select fn_receipts_recover()") == 0
    assert (engine.one(SEEN), settle(engine)) == (1, [("receipts", str(receipts[2]))])
    poison()
    clock.advance(seconds=31)
    assert engine.one("select fn_receipts_recover()") == 1
    assert settle(engine) == []
    assert engine.faults() == {}


def test_a_receipt_that_another_transaction_has_locked_is_recovered_later(engine: Engine, dsn: str):
    receipts = intended(engine, 3)
    engine.db.execute("set lock_timeout = '2s'")
    with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as other:
        other.execute("select from work_unit where unit_id = %s for update", (receipts[0],))
        assert engine.one("select fn_receipts_recover()") == 2
        other.rollback()
    assert engine.one("select fn_receipts_recover()") == 1
    assert problems(engine) == []


def replayed(engine: Engine, count: int) -> list[tuple[int, int]]:
    """(request, unit) of dead jobs that were replayed and completed."""
    engine.person("ada")
    session = engine.worker()
    job_ids = engine.enqueue("op", count)
    engine.kill(session, *engine.claim(session))
    for job_id in job_ids:
        engine.one("select fn_job_retry(1, %s, 'ada')", (job_id,))
    engine.drain(session)
    return engine.db.execute(
        "select replay_request_id, unit_id from dlq_replay_request order by 1"
    ).fetchall()


@pytest.mark.parametrize("code", CODES)
def test_a_replay_that_cannot_be_settled_stops_no_other(
    engine: Engine, clock: Clock, refuse: Refuse, code: str
):
    requests = replayed(engine, 5)
    bad, unit_id = requests[3]
    refuse("update", "dlq_replay_request", f"new.replay_request_id = {bad}", code)
    assert engine.one("select fn_replays_settle()") == 4
    assert problems(engine) == [("replays", str(bad))]
    assert engine.one("select unit_id from governance_problem where duty = 'replays'") == unit_id
    assert engine.one("select fn_replays_settle()") == 0
    assert (engine.one(SEEN), settle(engine)) == (1, [("replays", str(bad))])
    clock.advance(seconds=31)
    assert engine.one("select fn_replays_settle()") == 0
    assert (engine.one(SEEN), settle(engine)) == (2, [("replays", str(bad))])
    refuse()
    clock.advance(seconds=61)
    assert engine.one("select fn_replays_settle()") == 1
    assert settle(engine) == []
    assert engine.faults() == {}


def dead(engine: Engine, count: int) -> list[int]:
    session = engine.worker()
    job_ids = engine.enqueue("op", count)
    engine.kill(session, *engine.claim(session))
    return job_ids


@pytest.mark.parametrize("code", CODES)
def test_a_problem_that_cannot_be_opened_stops_no_other(
    engine: Engine, clock: Clock, refuse: Refuse, code: str
):
    job_ids = dead(engine, 4)
    bad = f"dead_letter:{job_ids[1]}"
    refuse(
        "insert",
        "governance_problem",
        f"new.category_code = 'dead_letter' and new.subject = '{job_ids[1]}'",
        code,
    )
    assert engine.one("select fn_problems_watch()") == 3
    assert open_subjects(engine, "dead_letter") == [str(job_ids[at]) for at in (0, 2, 3)]
    assert problems(engine) == [("problems", bad)]
    assert engine.one("select fn_problems_watch()") == 0
    assert (engine.one(SEEN), settle(engine)) == (1, [("problems", bad)])
    refuse()
    clock.advance(seconds=31)
    assert engine.one("select fn_problems_watch()") == 2
    assert problems(engine) == []
    assert len(open_subjects(engine, "dead_letter")) == 4


def test_a_part_of_the_look_that_fails_stops_no_other_part(engine: Engine, clock: Clock):
    engine.db.execute("insert into event_reader (tenant_id, reader_name) values (1, 'mail')")
    job_ids = dead(engine, 2)
    clock.advance(minutes=1)
    sound = engine.one("select pg_get_viewdef('vw_governance_event_lag'::regclass)").rstrip(";")
    engine.db.execute(
        f"create or replace view vw_governance_event_lag as select * from ({sound}) as v"
        " where 1 / (v.tenant_id - 1) = 0".encode()
    )
    # The worker is silent since the clock moved.
    assert engine.one("select fn_problems_watch()") == 3
    assert open_subjects(engine, "dead_letter") == [str(job_id) for job_id in job_ids]
    assert problems(engine) == [("problems", "event_lag")]
    assert engine.one("select fn_problems_watch()") == 0
    assert engine.one(SEEN) == 1
    engine.db.execute(f"create or replace view vw_governance_event_lag as {sound}".encode())
    clock.advance(seconds=31)
    assert engine.one("select fn_problems_watch()") == 2
    assert open_subjects(engine, "event_lag") == ["mail"]
    assert problems(engine) == []


def test_what_a_failing_part_could_not_see_is_found_later(engine: Engine, clock: Clock, refuse: Refuse):
    """The look remembers how far it looked; it does not pass what it could not open."""
    engine.one("select fn_problems_watch()")
    engine.one("select fn_event_reject_note(1, 'nobody.registered_it', 0, '{}')")
    refuse("insert", "governance_problem", "new.category_code = 'schema_violation'")
    for _ in range(4):
        clock.advance(minutes=30)
        engine.one("select fn_problems_watch()")
        assert problems(engine) == [("problems", "schema_violation:nobody.registered_it")]
    refuse()
    clock.advance(hours=1)
    engine.one("select fn_problems_watch()")
    assert open_subjects(engine, "schema_violation") == ["nobody.registered_it"]
    assert problems(engine) == []


def orphans(engine: Engine, clock: Clock, count: int) -> list[int]:
    engine.publish("w", operation("a"))
    run_ids = [engine.start("w") for _ in range(count)]
    engine.db.execute("delete from job_ready")
    clock.advance(minutes=2)
    return run_ids


def test_a_run_that_cannot_be_asked_stops_no_other(engine: Engine, clock: Clock, refuse: Refuse):
    run_ids = orphans(engine, clock, 3)
    bad = f"orphan_workflow:{run_ids[0]}"
    refuse(
        "insert",
        "governance_problem",
        f"new.category_code = 'orphan_workflow' and new.subject = '{run_ids[0]}'",
    )
    assert engine.one("select fn_problems_watch()") == 2
    assert problems(engine) == [("problems", bad)]
    assert engine.one("select fn_problems_watch()") == 0
    assert engine.one(SEEN) == 1
    refuse()
    clock.advance(seconds=31)
    engine.one("select fn_problems_watch()")
    assert open_subjects(engine, "orphan_workflow") == [str(run_id) for run_id in run_ids]
    assert problems(engine) == []


@pytest.mark.parametrize("code", CODES)
def test_a_problem_that_cannot_be_closed_stops_no_other(
    engine: Engine, clock: Clock, refuse: Refuse, code: str
):
    job_ids = dead(engine, 4)
    engine.one("select fn_problems_watch()")
    engine.db.execute("update job_dead_letter set resolved_at = stepwell.now(), resolution = 'discarded'")
    problem_id = engine.one(
        "select problem_id from governance_problem where subject = %s", (str(job_ids[2]),)
    )
    refuse(
        "update", "governance_problem", f"new.problem_id = {problem_id} and new.closed_at is not null", code
    )
    assert engine.one("select fn_problems_watch()") == 3
    assert open_subjects(engine, "dead_letter") == [str(job_ids[2])]
    assert problems(engine) == [("problems", f"close:{problem_id}")]
    assert engine.one("select fn_problems_watch()") == 0
    assert engine.one(SEEN) == 1
    refuse()
    clock.advance(seconds=31)
    engine.one("select fn_problems_watch()")
    assert open_subjects(engine, "dead_letter") == []
    assert problems(engine) == []


def swept(engine: Engine) -> dict[str, int]:
    rows = engine.db.execute("select swept, removed_count from fn_retention_sweep() where removed_count > 0")
    return dict(rows.fetchall())


def old_work(engine: Engine, clock: Clock) -> tuple[list[int], list[int]]:
    """(runs, jobs) that ended so long ago that retention removes them."""
    engine.publish("w", operation("a"))
    run_ids = [engine.start("w") for _ in range(4)]
    job_ids = engine.enqueue("op", 4)
    engine.drain(engine.worker())
    clock.advance(days=91)
    engine.one("select fn_partitions_ensure()")
    return run_ids, job_ids


@pytest.mark.parametrize("code", CODES)
def test_a_run_that_cannot_be_removed_stops_no_other(engine: Engine, clock: Clock, refuse: Refuse, code: str):
    run_ids, _ = old_work(engine, clock)
    bad = run_ids[1] << 20
    refuse("delete", "run_detail", f"old.run_id = {run_ids[1]}", code)
    removed = swept(engine)
    assert (removed["runs"], removed["jobs"]) == (3, 4)
    assert problems(engine) == [("retention", str(bad))]
    assert "runs" not in swept(engine)
    assert (engine.one(SEEN), settle(engine)) == (1, [("retention", str(bad))])
    refuse()
    clock.advance(hours=1)
    assert swept(engine)["runs"] == 1
    assert settle(engine) == []
    assert engine.faults() == {}


def test_a_job_that_cannot_be_removed_stops_no_other(engine: Engine, clock: Clock, refuse: Refuse):
    _, job_ids = old_work(engine, clock)
    refuse("delete", "job_detail", f"old.job_id = {job_ids[0]}")
    removed = swept(engine)
    assert (removed["runs"], removed["jobs"]) == (4, 3)
    assert problems(engine) == [("retention", str(job_ids[0]))]
    refuse()
    clock.advance(hours=1)
    assert swept(engine)["jobs"] == 1
    assert settle(engine) == []


def test_approvals_and_receipts_that_cannot_be_removed_stop_no_others(
    engine: Engine, clock: Clock, refuse: Refuse
):
    replayed(engine, 3)
    clock.advance(days=400)
    engine.one("select fn_partitions_ensure()")
    approvals = [each for (each,) in engine.db.execute("select approval_id from approval_detail order by 1")]
    refuse("delete", "approval_detail", f"old.approval_id = {approvals[0]}")
    assert swept(engine)["replays"] == 2
    assert problems(engine) == [("retention", str(approvals[0]))]
    refuse()
    clock.advance(hours=1)
    assert swept(engine)["replays"] == 1
    assert settle(engine) == []


def test_a_part_of_the_sweep_that_fails_stops_no_other(engine: Engine, clock: Clock, refuse: Refuse):
    session = engine.worker()
    engine.one("select fn_worker_close(%s)", (session,))
    old_work(engine, clock)
    refuse("delete", "worker_session", "true")
    removed = swept(engine)
    assert (removed["runs"], removed["jobs"], removed.get("worker_session")) == (4, 4, None)
    assert problems(engine) == [("retention", "worker_session")]
    assert settle(engine) == [("retention", "worker_session")]
    refuse()
    clock.advance(hours=1)
    assert swept(engine)["worker_session"] >= 1
    assert problems(engine) == []


def test_a_row_that_another_transaction_has_locked_stops_no_part_of_the_sweep(
    engine: Engine, clock: Clock, dsn: str
):
    session = engine.worker()
    engine.one("select fn_worker_close(%s)", (session,))
    old_work(engine, clock)
    engine.db.execute("set lock_timeout = '100ms'")
    with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as other:
        other.execute("select from worker_session for update")
        removed = swept(engine)
        assert (removed["runs"], removed["jobs"], removed.get("worker_session")) == (4, 4, None)
        other.rollback()
    assert problems(engine) == []
    assert swept(engine)["worker_session"] >= 1


@pytest.mark.parametrize("seed", range(3))
def test_exactly_the_bad_receipts_are_set_aside(engine: Engine, poison: Poison, seed: int):
    chance = random.Random(seed)
    receipts = intended(engine, chance.randint(2, 20))
    bad = chance.sample(receipts, chance.randint(1, len(receipts)))
    poison(*bad, code=chance.choice(CODES))
    assert engine.one("select fn_receipts_recover()") == len(receipts) - len(bad)
    assert {int(subject) for _, subject in problems(engine)} == set(bad)


@pytest.mark.parametrize("code", ["40001", "53100", "57014"])
def test_an_error_that_no_row_caused_ends_the_duty(engine: Engine, clock: Clock, refuse: Refuse, code: str):
    old_work(engine, clock)
    refuse("delete", "run_detail", "true", code)
    with pytest.raises(psycopg.Error) as caught:
        swept(engine)
    assert caught.value.sqlstate == code
    assert problems(engine) == []
