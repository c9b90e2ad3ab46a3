"""The system cancels an open approval when its step, run or block no longer needs it (A4)."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People, refused
from tests.support.deciding import deciding


def ask(engine: Engine, action: str, unit: int) -> int:
    found: int = engine.one("select fn_approval_request(1, %s, %s, 'ada')", (action, unit))
    return found


def last(engine: Engine, approval: int) -> tuple[str, str, str]:
    row = engine.db.execute(
        """select u.state_code, e.event_type, e.actor_class from work_unit as u
           inner join event_log as e on u.unit_id = e.unit_id
           where u.unit_id = %s order by e.event_id desc limit 1""",
        (approval,),
    ).fetchone()
    assert row is not None
    return row  # type: ignore[return-value]


CANCELLED = ("cancelled", "approval.cancelled", "system")
OPEN = ("requested", "approval.requested", "pic_human")


@pytest.fixture
def unit(engine: Engine, people: People) -> int:
    engine.publish("w", human("sign", role="office"), operation("after"))
    found = engine.unit(engine.start("w"), "sign")
    people.claim(found, "ada")
    return found


def test_an_approval_for_a_step_is_cancelled_when_the_step_ends(engine: Engine, people: People, unit: int):
    step, run = ask(engine, "spend", unit), ask(engine, "workflow_cancel", (unit >> 20) << 20)
    people.wait(unit, "ada", ["waiting_human"])
    people.resume(unit, "ada", "mail:1")
    assert (last(engine, step), last(engine, run)) == (OPEN, OPEN)
    people.complete(unit, "ada")
    assert (last(engine, step), last(engine, run)) == (CANCELLED, OPEN)
    engine.drain(engine.worker())
    assert engine.run_state(unit >> 20) == "completed"
    assert last(engine, run) == CANCELLED
    row = "select decided_by, decided_at is not null from approval_detail where approval_id = %s"
    assert engine.db.execute(row, (run,)).fetchone() == ("engine", True)
    assert engine.one("select count(*) from timer where unit_id = any(%s)", ([step, run],)) == 0
    assert engine.one("select needs_attention from run_progress") is False
    with refused("SW003", "decided"):
        engine.one(deciding("approve", "ben"), (step,))
    assert engine.faults() == {}


def test_an_approval_to_cancel_belongs_to_the_run_even_if_it_names_a_step(
    engine: Engine, people: People, unit: int
):
    people.complete(unit, "ada")
    asked = ask(engine, "workflow_cancel", unit)
    assert last(engine, asked) == OPEN
    engine.drain(engine.worker())
    assert last(engine, asked) == CANCELLED
    with refused("SW003", "has completed and cannot be cancelled"):
        ask(engine, "workflow_cancel", (unit >> 20) << 20)
    assert engine.faults() == {}


def test_a_failed_run_can_be_cancelled_and_its_approvals_end(engine: Engine, people: People):
    engine.publish("m", operation("a"))
    run_id, session = engine.start("m"), engine.worker()
    before = ask(engine, "workflow_cancel", run_id << 20)
    engine.kill(session, *engine.claim(session))
    assert engine.run_state(run_id) == "failed"
    after = ask(engine, "workflow_cancel", run_id << 20)
    assert (last(engine, before), last(engine, after)) == (CANCELLED, OPEN)
    engine.one("select fn_run_cancel(1, %s, 'cli:ben')", (run_id,))
    assert (engine.run_state(run_id), last(engine, after)) == ("cancelled", CANCELLED)
    assert engine.faults() == {}


def test_cancelling_the_run_cancels_every_open_approval(engine: Engine, people: People, unit: int):
    people.complete(unit, "ada")
    asked = [
        ask(engine, "reopen", unit),
        ask(engine, "reopen", (unit >> 20) << 20),
        ask(engine, "spend", unit + 1),
    ]
    engine.one("select fn_run_cancel(1, %s, 'cli:r')", (unit >> 20,))
    assert [last(engine, approval) for approval in asked] == [CANCELLED] * 3
    assert engine.faults() == {}


def test_an_approval_to_reopen_stays_open_until_the_step_is_reopened(
    engine: Engine, people: People, unit: int
):
    people.complete(unit, "ada")
    first, second = ask(engine, "reopen", unit), ask(engine, "reopen", unit)
    engine.drain(engine.worker())
    assert engine.run_state(unit >> 20) == "completed"
    assert (last(engine, first), last(engine, second)) == (OPEN, OPEN)
    engine.one(deciding("approve", "ben"), (first,))
    people.reopen_for_correction(unit, "ben", "data_error", first)
    assert last(engine, second) == CANCELLED
    assert engine.faults() == {}


def test_an_approval_to_replay_is_cancelled_when_the_step_is_reopened(engine: Engine, people: People):
    engine.db.execute(
        "update dot_config set config_value = 'true' where config_key = 'approval.required.replay'"
    )
    engine.publish("m", operation("a"))
    run_id = engine.start("m")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    unit = engine.unit(run_id, "a")
    replay = engine.one("select fn_job_retry(1, %s, 'cli:ada')", (unit,))["approval_id"]
    reopen = ask(engine, "reopen", unit)
    engine.one(deciding("approve", "ben"), (reopen,))
    people.reopen_for_correction(unit, "ben", "data_error", reopen)
    assert last(engine, replay) == CANCELLED
    assert engine.one("select proposal_state from dlq_replay_request") == "rejected"
    assert engine.faults() == {}


def test_an_approval_to_escalate_is_cancelled_when_the_block_ends(engine: Engine, people: People, unit: int):
    people.block(unit, "ada", "other")
    asked = ask(engine, "block_escalate", unit)
    people.unblock(unit, "ada", "found:1")
    assert last(engine, asked) == CANCELLED
    assert engine.faults() == {}


def test_an_approval_for_a_step_that_had_already_ended_stays_open(engine: Engine, people: People, unit: int):
    people.complete(unit, "ada")
    asked = ask(engine, "publish_result", unit)
    engine.drain(engine.worker())
    assert engine.run_state(unit >> 20) == "completed"
    assert last(engine, asked) == OPEN
