"""What a caller claims proves nothing: an actor that a worker names, evidence, and who is to be asked."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import refused
from tests.sql.redaction import test_no_parameter_keeps_a_secret as attack
from tests.sql.redaction.stages import STAGES
from tests.sql.walls import matrix
from tests.support.clock import Clock
from tests.support.deciding import deciding

given = attack.given
CANCEL = "select stepwell.fn_run_cancel(1, %s, 'ada', null, %s)"


@pytest.fixture
def run_id(engine: Engine) -> int:
    """A run in a database where a cancel needs an approval."""
    engine.db.execute("delete from dot_config where config_key like 'approval.required.%'")
    for name in ("ada", "ben"):
        engine.db.execute("select fn_person_set(1, %s, '{operator}')", (name,))
    engine.publish("w", operation("a"), human("sign", role="office"))
    return engine.start("w")


def granted(engine: Engine, subject: int, action: str = "workflow_cancel", **more: Any) -> int:
    names = "".join(f", {name} => %s" for name in more)
    asked: int = engine.one(
        f"select fn_approval_request(1, %s, %s, 'ada'{names})", (action, subject, *more.values())
    )
    engine.db.execute(deciding("approve", "ben"), (asked,))
    return asked


def cancels(engine: Engine, text: str, run_id: int, evidence: dict[str, Any]) -> None:
    with engine.db.transaction():
        engine.db.execute("set local role stepwell_api")
        engine.db.execute("select stepwell.fn_session_bind(%s)", (text,))
        engine.db.execute(CANCEL, (run_id, Jsonb(evidence)))
        engine.db.execute("reset role")


@pytest.mark.requirement("RT-12")
def test_a_worker_names_nobody_in_any_function(engine: Engine, given: dict[str, Any]):
    tried = set()
    for found in matrix.functions(engine.db):
        if "stepwell_worker" not in found.roles or "p_actor" not in dict(found.arguments):
            continue
        tried.add(found.name)
        for claim in ("ben", "cli:Ben", "slack:ben"):
            with refused("SW007", "a worker cannot act as"), engine.db.transaction():
                stage = STAGES[found.name](engine) if found.name in STAGES else {}
                engine.db.execute("set local role stepwell_worker")
                attack.call(engine.db, found, given, stage, p_actor=claim)
        with engine.db.transaction(force_rollback=True):
            stage = STAGES[found.name](engine) if found.name in STAGES else {}
            engine.db.execute("set local role stepwell_worker")
            attack.call(engine.db, found, given, stage, p_actor="client")
    assert tried >= {"fn_run_start", "fn_job_enqueue", "fn_workflow_publish", "fn_signal"}


@pytest.mark.requirement("SM-22")
def test_a_bound_caller_invents_no_reference_to_an_audit(engine: Engine, run_id: int):
    text = token(engine.db, 1, "ada", ("operator",))
    evidence = {"approval_id": granted(engine, run_id << 20), "audit_ref": "principal:999", "actor": "ben"}
    cancels(engine, text, run_id, evidence)
    told = engine.db.execute(
        "select actor, audit_ref from event_log where event_type = 'workflow.cancelled'"
    ).fetchall()
    assert told == [("ada", "actor:ada")]


@pytest.mark.requirement("SM-22")
@pytest.mark.parametrize(
    "wrong", ["step", "other run", "other action", "expired", "invented", "list", "text"]
)
def test_a_run_is_cancelled_only_by_an_approval_of_its_own_that_has_not_expired(
    engine: Engine, run_id: int, clock: Clock, wrong: str
):
    text = token(engine.db, 1, "ada", ("operator",), seconds=9_999_999)
    subject = run_id << 20
    named: Any = {
        "step": lambda: granted(engine, engine.unit(run_id, "sign")),
        "other run": lambda: granted(engine, engine.start("w") << 20),
        "other action": lambda: granted(engine, subject, "reopen"),
        "expired": lambda: granted(engine, subject, p_expires_seconds=60),
        "invented": lambda: 77,
        "list": lambda: [granted(engine, subject)],
        "text": lambda: "1 or 1",
    }[wrong]()
    if wrong == "expired":
        clock.advance(seconds=61)
    with refused("SW004", "a granted approval of the action workflow_cancel is required"):
        cancels(engine, text, run_id, {"approval_id": named})
    cancels(engine, text, run_id, {"approval_id": granted(engine, subject)})
    assert engine.run_state(run_id) == "cancelled"


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize("chosen", ["p_role => 'office'", "p_approvers => '{ben}'"])
def test_who_asks_does_not_choose_another_role_than_the_settings(
    db: psycopg.Connection, engine: Engine, run_id: int, chosen: str
):
    text = token(db, 1, "ada", ("operator",))
    db.execute("update dot_config set config_value = '\"lead\"' where config_key = 'approval.role.low'")
    ask = f"select stepwell.fn_approval_request(1, 'reopen', %s, 'ada', {chosen})"
    with refused("SW007", "only the role lead"), as_role(db, "stepwell_api", text):
        db.execute(ask, (run_id << 20,))
    db.execute("select fn_person_set(1, 'ben', '{lead}')")
    with as_role(db, "stepwell_api", text):
        db.execute(ask.replace("office", "lead"), (run_id << 20,))
