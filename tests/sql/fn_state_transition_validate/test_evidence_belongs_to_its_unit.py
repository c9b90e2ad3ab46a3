"""Evidence that a transition names must exist and belong to its unit."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation
from tests.support.deciding import deciding

REFUSED = "transition_refused_by_guard:"


@pytest.fixture(autouse=True)
def approvals_required(engine: Engine) -> None:
    engine.person("ada", "ben")
    engine.db.execute(
        "update dot_config set config_value = 'true' where config_key like 'approval.required.%'"
    )


def ask(engine: Engine, unit_id: int, guard: str, machine: str, evidence: dict[str, Any]) -> dict[str, Any]:
    """Asks for the transition with this guard, as the registry declares it, with made-up evidence."""
    rule = engine.db.execute(
        """select d.from_state, d.to_state, d.actor_class, d.trigger_kind, coalesce(d.trigger_ref, 'x')
           from transition_def as d inner join work_unit as u on u.state_code = d.from_state
           where d.state_machine_id = %s and d.guard_ref = %s and u.unit_id = %s limit 1""",
        (machine, guard, unit_id),
    ).fetchone()
    assert rule is not None
    given = Jsonb({"audit_ref": "a", "actor_id": 1, **evidence})
    scope = machine.split(".")[0]
    answer: dict[str, Any] = engine.one(
        "select fn_state_transition_validate(%s, %s, %s, %s, %s, %s, %s, %s, true)",
        (unit_id, scope, *rule, given),
    )
    return answer


def approved(engine: Engine, action: str, unit_id: int) -> int:
    approval_id: int = engine.one("select fn_approval_request(1, %s, %s, 'ada', 'why')", (action, unit_id))
    assert engine.one(deciding("approve", "ben"), (approval_id,)) == "approved"
    return approval_id


@pytest.mark.requirement("SM-22")
def test_an_approval_of_one_job_replays_no_other(engine: Engine):
    first, second = (engine.enqueue("op")[0] for _ in range(2))
    session = engine.worker()
    engine.kill(session, *engine.claim(session, 2))
    made = engine.one("select fn_job_retry(1, %s, 'ada', 'fixed')", (first,))
    request_id = engine.one("select replay_request_id from dlq_replay_request where unit_id = %s", (first,))
    engine.one(deciding("approve", "ben"), (made["approval_id"],))
    assert engine.state(first) == "ready"
    evidence = {"approval_id": made["approval_id"], "replay_request_id": request_id}
    answer = ask(engine, second, "replay_approved", "job.1", evidence)
    assert REFUSED + "replay_approved" in answer["problems"]


@pytest.mark.requirement("SM-22")
def test_an_approval_of_one_step_replays_no_other_step_of_its_run(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    run_id = engine.start("w")
    first, second = engine.unit(run_id, "a"), engine.unit(run_id, "b")
    session = engine.worker()
    engine.kill(session, *engine.claim(session, 2))
    made = engine.one("select fn_job_retry(1, %s, 'ada', 'fixed')", (first,))
    request_id = engine.one("select replay_request_id from dlq_replay_request where unit_id = %s", (first,))
    engine.one(deciding("approve", "ben"), (made["approval_id"],))
    assert (engine.state(first), engine.state(second)) == ("ready", "cannot_complete")
    evidence = {"approval_id": made["approval_id"], "replay_request_id": request_id}
    answer = ask(engine, second, "replay_approved", "step.1", evidence)
    assert REFUSED + "replay_approved" in answer["problems"]


@pytest.mark.requirement("SM-12", "SM-22")
@pytest.mark.parametrize(
    "whose", ["invented record", "approval of another run", "approval that does not exist"]
)
def test_a_step_is_opened_again_only_with_its_own_evidence(engine: Engine, whose: str):
    engine.publish("w", human("sign"))
    step, other = (engine.unit(engine.start("w"), "sign") for _ in range(2))
    engine.db.execute(
        "update work_unit set state_code = 'completed' where unit_id in (%s, %s)", (step, other)
    )
    approval_id = {
        "invented record": lambda: approved(engine, "reopen", step),
        "approval of another run": lambda: approved(engine, "reopen", other),
        "approval that does not exist": lambda: 4711 << 20,
    }[whose]()
    evidence = {"approval_id": approval_id, "prior_audit_id": 4711, "correction_reason": "data_error"}
    answer = ask(engine, step, "reopen_approved", "step.1", evidence)
    assert REFUSED + "reopen_approved" in answer["problems"]


@pytest.mark.requirement("SM-22")
def test_an_approval_to_cancel_one_run_cancels_no_other(engine: Engine):
    engine.publish("w", human("sign"))
    one, two = (engine.start("w") << 20 for _ in range(2))
    evidence = {"approval_id": approved(engine, "workflow_cancel", one)}
    assert ask(engine, one, "cancel_authorised", "workflow_run.1", evidence)["problems"] == []
    answer = ask(engine, two, "cancel_authorised", "workflow_run.1", evidence)
    assert answer["problems"] == [REFUSED + "cancel_authorised"]


def test_every_approval_expires(engine: Engine):
    (job_id,) = engine.enqueue("op")
    engine.one("select fn_approval_request(1, 'check', %s, 'ada', 'why')", (job_id,))
    assert engine.one("select count(*) from approval_detail where expires_at is null") == 0
    with pytest.raises(Exception, match="expires_at"):
        engine.db.execute("update approval_detail set expires_at = null")
