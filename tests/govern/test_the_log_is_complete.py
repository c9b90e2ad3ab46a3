"""A log that nobody changed may still lack something: `audit verify` counts what began, and finds gaps."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from stepwell.govern.audit_complete import ENDS
from stepwell.govern.audit_verdict import Verdict
from tests.govern.sample_run import make_sample_run
from tests.govern.sealing import check, seal
from tests.sql.drive import Engine, operation

ENDED_BY_HAND = {"cannot_complete", "failed", "confirmed", "void"}


@pytest.fixture
def unsealed(db: psycopg.Connection) -> psycopg.Connection:
    """A database with a run of everything; nothing is sealed, so what is missing was never sealed."""
    make_sample_run(db)
    db.execute("set session_replication_role = replica")
    return db


def problems(db: psycopg.Connection) -> list[str]:
    seal(db)
    return [str(one) for one in check(db).problems]


def test_what_began_has_ended_or_is_open(unsealed: psycopg.Connection):
    seal(unsealed)
    verdict: Verdict = check(unsealed)
    assert verdict.problems == []
    lives = {
        kind: (life.began_count, life.ended_count, life.open_count) for kind, life in verdict.lives.items()
    }
    assert lives == {
        "approval": (3, 3, 0), "proposal": (1, 1, 0), "receipt": (4, 3, 1), "step": (7, 6, 1),
        "workflow": (2, 1, 1),
    }  # fmt: skip
    assert [one.split()[0] + one.split()[2] for one in verdict.open_units] == [
        "receipt(unconfirmed)", "step(ready)", "workflow(in_progress)",
    ]  # fmt: skip
    assert verdict.verdict_effects == {"allow": 4, "needs_approval": 2, "deny": 1}
    counts = (verdict.approval_count, verdict.vote_count, verdict.verdict_count, verdict.receipt_count)
    assert counts == (3, 4, 7, 4)


@pytest.mark.parametrize(
    ("removed", "said"),
    [
        ("event_type = 'step.started'", "a change of its unit between ready and this one"),
        ("event_type = 'workflow.started'", "a change of its unit between its beginning and this one"),
        ("event_type = 'action.judged'", "no verdict of the log allowed this effect"),
        ("event_type like 'receipt.%'", "the log has no receipt of the effect that it allowed"),
        ("event_type = 'approval.requested'", "the log has no approval that it asked for"),
        ("event_type = 'approval.vote_recorded'", "the log has another vote, or none"),
    ],
)
def test_an_event_that_was_never_sealed_leaves_a_gap(unsealed: psycopg.Connection, removed: str, said: str):
    """Somebody deletes events before they are sealed: no hash is wrong, but the other half is alone."""
    unsealed.execute(f"delete from event_log where {removed}".encode())
    assert any(said in one for one in problems(unsealed))


def test_an_earlier_transaction_may_change_a_unit_later(dsn: str, db: psycopg.Connection):
    """The order of the log is that of transactions; a unit changed in the order of event_id."""
    engine = Engine(db)
    engine.publish("w", operation("a"))
    with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as early:
        early.execute("select pg_current_xact_id()")
        run_id = engine.start("w")
        worker = Engine(early)
        session = worker.worker()
        (lease,) = worker.claim(session)
    changes: list[Any] = db.execute(
        "select to_state from event_log where unit_id = %s and to_state is not null order by tx, event_id",
        (lease.unit_id,),
    ).fetchall()
    assert changes == [("in_progress",), ("ready",)]
    seal(db)
    verdict = check(db)
    assert (verdict.problems, engine.states(run_id)["a"]) == ([], "in_progress")
    assert verdict.open_units[0].endswith("(in_progress)")


def test_the_ends_are_those_of_the_registry(db: psycopg.Connection):
    """A state that the registry calls terminal ends a unit; after the others, only a person continues."""
    scopes = {"workflow": "workflow_run"}
    rows = db.execute(
        "select m.scope, array_agg(d.state_code) from state_def as d inner join state_machine_def as m"
        " on d.state_machine_id = m.state_machine_id where d.is_terminal group by m.scope"
    ).fetchall()
    terminal = dict(rows)
    for kind, ends in ENDS.items():
        assert set(terminal[scopes.get(kind, kind)]) <= set(ends)
        assert set(ends) - set(terminal[scopes.get(kind, kind)]) <= {*ENDED_BY_HAND, "skipped"}
