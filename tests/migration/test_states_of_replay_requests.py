"""Replay requests of an earlier release: the proposal and what became of it are two columns afterwards."""

from __future__ import annotations

import psycopg

from stepwell.store.schema import migrate, routines, sql_files
from tests.sql.drive import Engine
from tests.support.deciding import deciding

NUMBER = 106
# (state of the release before, plan, outcome) → (state of the proposal, what became of it)
MEANT = {
    ("submitted", None, None): ("submitted", None),
    ("submitted", "submitted", None): ("submitted", None),
    ("submitted", "running", None): ("approved", None),
    ("scheduled", None, None): ("merged", "scheduled"),
    ("completed", "running", '{"state": "completed"}'): ("merged", "completed"),
    ("failed", "stopped", '{"state": "cannot_complete"}'): ("merged", "failed"),
    ("failed", "stopped", '{"state": "refused", "reason": "x"}'): ("approved", "failed"),
    ("rejected", "stopped", '{"reason": "its plan was stopped"}'): ("rejected", None),
}


def asked(db: psycopg.Connection, number: int, state: str, plan: str | None, outcome: str | None) -> None:
    """A request of the release before, with an approval and perhaps a plan of its own."""
    db.execute(
        "insert into stepwell.approval_detail (tenant_id, approval_id, action, subject_unit_id,"
        " requested_by, requested_at, expires_at) values (1, %s, 'replay', 1, 'ada', now(), 'infinity')",
        (number,),
    )
    if plan is not None:
        db.execute(
            "insert into stepwell.dlq_replay_plan (tenant_id, plan_id, approval_id, plan_state,"
            " letter_filter, letter_count, stages, reach, requested_by, requested_at, ended_at)"
            " values (1, %s, %s, %s, '{}', 1, '{1}', '{}', 'ada', now(), %s)",
            (number, number, plan, None if plan in ("submitted", "running") else "2026-01-01"),
        )
    db.execute(
        "insert into stepwell.dlq_replay_request (tenant_id, unit_id, approval_id, proposal_state,"
        " idempotency_key, requested_by, requested_at, plan_id, outcome_jsonb)"
        " values (1, %s, %s, %s, %s, 'ada', now(), %s, %s)",
        (number, number, state, f"replay:{number}", None if plan is None else number, outcome),
    )


def test_a_state_of_an_earlier_release_becomes_two(old_dsn: str):
    with psycopg.connect(old_dsn) as db:
        row = db.execute("select max(migration_no) from stepwell.schema_migration").fetchone()
        assert row is not None
        later = [file for file in sql_files.load().migrations if file.number > row[0]]
        db.execute("set search_path = stepwell, public")
        for file in later:
            if file.number == NUMBER:
                for number, (state, plan, outcome) in enumerate(MEANT, start=1):
                    asked(db, 10**15 + number, state, plan, outcome)
            if file.number <= NUMBER:
                routines.apply_file(db, file)
        found = db.execute(
            "select proposal_state, replay_state from dlq_replay_request where unit_id > 10 ^ 15"
            " order by unit_id"
        ).fetchall()
        assert found == list(MEANT.values())


def test_a_job_beside_live_runs_is_replayed_after_the_migration(old_dsn: str):
    migrate.migrate(old_dsn)
    with psycopg.connect(old_dsn, autocommit=True, options="-csearch_path=stepwell") as db:
        engine = Engine(db)
        assert engine.one("select count(*) from work_unit where scope = 'workflow_run'") > 0
        engine.person("ada", "ben")
        db.execute(
            "update dot_config set config_value = 'true' where config_key = 'approval.required.replay'"
        )
        session = engine.worker("new-worker", serves=["mail"])
        (job,) = engine.enqueue("mail")
        engine.kill(session, *engine.claim(session))
        approval = engine.one("select fn_job_retry(1, %s, 'ada')", (job,))["approval_id"]
        states = "select (proposal_state, replay_state)::text from dlq_replay_request where unit_id = %s"
        assert engine.one(states, (job,)) == "(submitted,)"
        engine.one(deciding("approve", "ben"), (approval,))
        assert engine.one(states, (job,)) == "(merged,scheduled)"
        engine.drain(session)
        engine.one("select fn_replays_settle()")
        assert engine.one(states, (job,)) == "(merged,completed)"
        assert engine.faults() == {}
