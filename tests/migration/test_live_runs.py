"""A database of an earlier release, with units in every state, is migrated, and its runs continue.

The name of the dump gives the last migration of its release. It has runs that wait for a person, an event, a
retry, a sub-workflow and the items of a map; steps leased to a live worker; jobs in the queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

import stepwell as sw
from stepwell.define import freeze
from stepwell.store.schema import migrate, verify
from tests.sql.binding import as_role, token
from tests.sql.drive import Engine


@pytest.fixture
def engine(old_dsn: str) -> Iterator[Engine]:
    migrate.migrate(old_dsn)
    with psycopg.connect(old_dsn, autocommit=True, options="-csearch_path=stepwell") as connection:
        yield Engine(connection)


def leases_of_the_old_worker(engine: Engine) -> tuple[int, list[tuple[int, int]]]:
    """The session of the old worker, and (unit, lease number) of its leases from before the migration."""
    # A live worker sends heartbeats: extend the session, which began when the dump was made.
    session: int = engine.one(
        "update worker_session set expires_at = stepwell.now() + interval '1 hour'"
        " where worker_name = 'old-worker' returning session_id"
    )
    units = engine.db.execute(
        "select unit_id, lease_no from work_unit where lease_session_id = %s order by unit_id", (session,)
    ).fetchall()
    return session, units


def test_the_migrated_database_equals_a_new_one(old_dsn: str):
    migrate.migrate(old_dsn)
    assert verify.verify(old_dsn).drifts == ()


def test_every_run_continues_to_its_end(engine: Engine):
    assert engine.faults() == {}
    session, leases = leases_of_the_old_worker(engine)
    assert leases
    # The old worker reports leases that were granted before the migration.
    rows = engine.db.execute(
        "select row_kind"
        " from fn_job_report(%s, %s::int[], %s::bigint[], %s::int[], %s::text[], %s::text[], 0)",
        (
            session,
            [1] * len(leases),
            [unit for unit, _ in leases],
            [lease for _, lease in leases],
            ["completed"] * len(leases),
            ['{"ok": true}'] * len(leases),
        ),
    ).fetchall()
    assert rows == []
    for (run_id,) in engine.db.execute("select distinct run_id from event_wait").fetchall():
        engine.db.execute("select fn_signal(1, %s, 'paid', '{}', %s)", (run_id, f"paid-{run_id}"))
    for unit, state in engine.db.execute(
        "select step_run_id, state_code from step_run where step_kind = 'human'"
    ).fetchall():
        if state == "ready":
            engine.db.execute("select fn_step_claim(1, %s, 'ada')", (unit,))
        engine.db.execute("select fn_step_complete(1, %s, 'ada', '{}')", (unit,))
    engine.drain(engine.worker("new-worker"))
    assert set(engine.db.execute("select state_code from workflow_run").fetchall()) == {("completed",)}
    assert engine.faults() == {}


def test_a_workflow_published_again_keeps_its_version(engine: Engine):
    """Format 1 of a graph had the words `nodes` and `decision`, and its hash was computed by the client. Then
    a test that reads an output caught failures; now it does not, so that is another version."""
    step = sw.Operation
    again = sw.Workflow(
        "branch",
        sw.Sequential(
            step("step", id="check"),
            sw.Conditional(
                "$.steps.check.output.ok == true",
                then=step("step", id="yes"),
                otherwise=step("step", id="no"),
            ),
            step("step", id="end"),
        ),
    )
    new = freeze(again)
    old = replace(new, steps=tuple(replace(step, catches=None) for step in new.steps))
    rows = [
        engine.db.execute(
            "select version_no, is_new from fn_workflow_publish(1, %s, 'test')", (graph.canonical.decode(),)
        ).fetchone()
        for graph in (old, new)
    ]
    assert rows == [(1, False), (2, True)]


def test_people_become_principals_with_the_same_ids(old_dsn: str):
    with psycopg.connect(old_dsn, autocommit=True, options="-csearch_path=stepwell") as db:
        query = "select person_id, person_name from person order by person_id"
        people = db.execute(query).fetchall()
        roles = db.execute("select person_id, role_name from person_role order by 1, 2").fetchall()
        assert people
        migrate.migrate(old_dsn)
        assert db.execute(query).fetchall() == people
        assert db.execute("select person_id, role_name from person_role order by 1, 2").fetchall() == roles
        found = db.execute(
            "select principal_id, principal_name from principal where kind = 'person' order by 1"
        )
        assert found.fetchall() == people
        # A new person gets an id of its own.
        (new,) = db.execute("select fn_person_set(1, 'somebody-new')").fetchone()  # type: ignore[misc]
        assert new > max(person_id for person_id, _ in people)


def test_a_step_of_a_run_from_before_is_hidden_by_the_first_row_of_permission(engine: Engine):
    """Without rows everybody sees what they saw; a row holds for runs under way, and the engine goes on."""
    db = engine.db
    titles = db.execute(
        "select count(*) from workflow_version where title is distinct from graph ->> 'title'"
    )
    assert titles.fetchone() == (0,)
    unit, name, step = db.execute(
        "select s.step_run_id, w.workflow_name, s.step_id from step_run as s"
        " inner join run_detail as r on s.run_id = r.run_id"
        " inner join workflow_registry as w on r.workflow_id = w.workflow_id"
        " where s.state_code = 'in_progress' and s.step_kind = 'operation'"
        " order by s.step_run_id limit 1"
    ).fetchone()  # type: ignore[misc]
    shown = "select count(*) from work_unit where unit_id = %s"
    reader = token(db, 1, "clerk", ["operator"])
    with as_role(db, "stepwell_api", reader):
        assert db.execute(shown, (unit,)).fetchone() == (1,)
    db.execute("select fn_step_permission_set(1, %s, %s, '{finance}')", (name, step))
    for roles, count in ((["operator"], 0), (["operator", "finance"], 1), (["admin"], 1)):
        with as_role(db, "stepwell_api", token(db, 1, "clerk", roles)):
            assert db.execute(shown, (unit,)).fetchone() == (count,), roles
    engine.drain(engine.worker("new-worker"))
    assert engine.faults() == {}
