"""What people do with steps over HTTP: every call of docs/people.md, by the person whose token it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, human

FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    engine = Engine(db)
    engine.publish("case", human("sign", role="office", form=FORM))
    return engine


@pytest.fixture
def ada(http: httpx.Client, engine: Engine, token: Callable[..., str]) -> Callable[..., httpx.Response]:
    """Calls of ada, who has the role of the step."""
    return _calls(http, token("ada", "person", "office", "operator"))


@pytest.fixture
def ben(http: httpx.Client, engine: Engine, token: Callable[..., str]) -> Callable[..., httpx.Response]:
    return _calls(http, token("ben", "person", "office"))


def _calls(http: httpx.Client, token: str) -> Callable[..., httpx.Response]:
    def call(path: str, body: Any = None, method: str = "POST") -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return http.request(method, f"/api/v1{path}", json=body, headers=headers)

    return call


def test_a_step_is_claimed_and_completed_by_whose_token_it_is(
    engine: Engine, ada: Callable[..., httpx.Response], ben: Callable[..., httpx.Response]
):
    step = engine.unit(engine.start("case"), "sign")
    (mine,) = [one for one in ada("/inbox", method="GET").json() if one["step_run_id"] == str(step)]
    assert (mine["step_run_id"], mine["form"]) == (str(step), FORM)
    claimed = ada(f"/steps/{step}/claim")
    assert (claimed.json()["step"]["pic"], claimed.json()["step"]["state_code"]) == ("ada", "in_progress")
    stolen = ben(f"/steps/{step}/complete", {"output": {"ok": True}})
    assert stolen.status_code == 409, stolen.text
    wrong = ada(f"/steps/{step}/complete", {"output": {"ok": "yes"}})
    assert wrong.status_code == 422
    assert "ok" in wrong.text
    done = ada(f"/steps/{step}/complete", {"output": {"ok": True}})
    assert done.json()["step"]["state_code"] == "completed"
    actor = engine.one("select actor from event_log where unit_id = %s and to_state = 'completed'", (step,))
    assert actor == "api:ada"


def test_the_calls_of_a_step_move_it_and_bring_it_back(
    engine: Engine, ada: Callable[..., httpx.Response], ben: Callable[..., httpx.Response]
):
    step = engine.unit(engine.start("case"), "sign")

    def state(answer: httpx.Response) -> str:
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()["step"]["state_code"])

    ada(f"/steps/{step}/claim")
    assert state(ada(f"/steps/{step}/wait", {"facets": ["waiting_external"]})) == "waiting"
    assert state(ada(f"/steps/{step}/resume", {"resolution_ref": "mail 7"})) == "in_progress"
    assert state(ada(f"/steps/{step}/block", {"reason": "missing_approval"})) == "blocked"
    assert state(ada(f"/steps/{step}/unblock", {"resolution_ref": "granted"})) == "in_progress"
    delegated = ada(f"/steps/{step}/delegate", {"to": "ben", "reason": "holiday"})
    assert delegated.json()["step"]["pic"] == "ben"
    assert state(ben(f"/steps/{step}/comments", {"body": "on it"})) == "in_progress"
    (comment,) = ben(f"/steps/{step}/comments", method="GET").json()
    assert (comment["body"], comment["written_by"]) == ("on it", "api:ben")
    released = ben(f"/steps/{step}/release", {})
    assert released.json()["step"]["pic"] is None
    assigned = ada(f"/steps/{step}/assign", {"person": "ben"})
    assert assigned.json()["step"]["pic"] == "ben", assigned.text
    moved = ada(f"/steps/{step}/deadline", {"deadline_at": "2099-01-01T00:00:00Z", "reason": "agreed"})
    assert moved.json()["step"]["deadline_at"].startswith("2099-01-01")


def test_a_step_is_escalated_and_declared_impossible(
    engine: Engine, ada: Callable[..., httpx.Response], ben: Callable[..., httpx.Response]
):
    chain = [{"after": 3600, "tell": "ben"}]
    engine.publish("chain", human("sign", role="office", escalation=chain))
    step = engine.unit(engine.start("chain"), "sign")
    ada(f"/steps/{step}/claim")
    told = ada(f"/steps/{step}/escalate", {"reason": "nobody answers"})
    assert told.status_code == 200, told.text
    shown = told.json()["step"]
    assert (told.json()["answer"]["level"], shown["escalation_level"], shown["escalated_to"]) == (1, 1, "ben")
    assert ada(f"/steps/{step}/escalate", {}).status_code == 409, "the chain has one level"
    ada(f"/steps/{step}/block", {"reason": "missing_approval", "detail": "no answer"})
    # ben was told by the chain, and so oversees the step.
    red = ben(f"/steps/{step}/escalate-block", {"reason": "it stops the line"})
    assert red.status_code == 200, red.text
    assert (red.json()["step"]["state_code"], red.json()["step"]["blocked_severity"]) == ("blocked", "red")
    ada(f"/steps/{step}/unblock", {"resolution_ref": "granted"})
    ended = ada(f"/steps/{step}/cannot-complete", {"evidence_ref": "mail 8", "reason": "the part is lost"})
    assert ended.status_code == 200, ended.text
    assert ended.json()["step"]["state_code"] == "cannot_complete"
    assert engine.faults() == {}


def test_a_completed_step_is_reopened_with_the_approval_of_another_person(
    engine: Engine, ada: Callable[..., httpx.Response], ben: Callable[..., httpx.Response]
):
    engine.publish("two", human("sign", role="office", form=FORM), human("file", role="office"))
    run_id = engine.start("two")
    step = engine.unit(run_id, "sign")
    ada(f"/steps/{step}/claim")
    ada(f"/steps/{step}/complete", {"output": {"ok": True}})
    (affected,) = ada(f"/steps/{step}/correction", method="GET").json()
    assert (affected["relation"], affected["step_id"], affected["can_reopen"]) == ("after", "file", False)
    asked = ada("/approvals", {"action": "reopen", "unit_id": step, "reason": "a wrong number"})
    assert asked.status_code == 201, asked.text
    approval = asked.json()
    wanted = {"reason": "data_error", "approval_id": int(approval["approval_id"])}
    early = ada(f"/steps/{step}/reopen", wanted)
    assert early.status_code == 409, early.text
    vote = {"decision": "approve", "shown_digest": approval["shown_digest"]}
    assert ben(f"/approvals/{approval['approval_id']}/decisions", vote).status_code == 200
    reopened = ada(f"/steps/{step}/reopen", {**wanted, "give_to": "ben"})
    assert reopened.status_code == 200, reopened.text
    assert (reopened.json()["step"]["state_code"], reopened.json()["step"]["pic"]) == ("in_progress", "ben")
    assert ben(f"/steps/{step}/complete", {"output": {"ok": False}}).status_code == 200
    assert engine.faults() == {}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("wait", {"facets": []}, "body.facets"),
        ("resume", {}, "body.resolution_ref"),
        ("deadline", {"deadline_at": "2099-01-01T00:00:00"}, "body.deadline_at"),
        ("complete", {"output": []}, "body.output"),
        ("comments", {"body": ""}, "body.body"),
        ("reopen", {"reason": "data_error"}, "body.approval_id"),
    ],
)
def test_a_wrong_call_names_its_field_and_changes_nothing(
    engine: Engine, ada: Callable[..., httpx.Response], path: str, body: Any, field: str
):
    step = engine.unit(engine.start("case"), "sign")
    before = engine.one("select max(event_id) from event_log")
    answer = ada(f"/steps/{step}/{path}", body)
    assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
    assert engine.one("select max(event_id) from event_log") == before


def test_a_step_that_does_not_exist_is_not_found(ada: Callable[..., httpx.Response]):
    assert ada("/steps/999/claim").status_code == 404
    assert ada("/steps/999", method="GET").status_code == 404
