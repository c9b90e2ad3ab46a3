"""Dead letters over HTTP: by cause, inspected, rehearsed, proposed and stopped."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, operation
from tests.support.deciding import deciding


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    """Five dead jobs with one cause, one dead step with another."""
    made = Engine(db)
    made.person("ada", "ben")
    made.publish("w", operation("post"), operation("after"))
    made.start("w")
    made.enqueue("mail", 5)
    session = made.worker()
    for at, lease in enumerate(made.claim(session)):
        cause = "period 10 is closed" if lease.step_id else f"order {at} has no address"
        made.report(session, (lease, "dead", {"error": {"type": "Refused", "message": cause}}))
    return made


def got(api: httpx.Client, path: str, **params: Any) -> Any:
    answer = api.get(f"/api/v1{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.requirement("GV-06")
def test_letters_are_chosen_by_cause_and_inspected(api: httpx.Client, engine: Engine):
    causes = got(api, "/dead-letters/causes")
    assert [(one["cause"], one["letter_count"]) for one in causes] == [
        ("order # has no address", 5), ("period # is closed", 1),
    ]  # fmt: skip
    page = got(api, "/dead-letters", cause="order # has no address")
    assert len(page["items"]) == 5
    assert got(api, "/dead-letters", workflow="w")["items"][0]["step_id"] == "post"
    letter = got(api, f"/dead-letters/{page['items'][0]['job_id']}")
    assert (letter["attempt"], letter["max_attempts"] >= 1, len(letter["failures"])) == (1, True, 1)
    assert "n" in letter["payload"]
    told = got(api, "/dead-letters/rehearsal", workflow="w")
    assert (told["letters"], told["runs"], told["steps_behind"], told["quorum"]) == (1, 1, 1, 1)


@pytest.mark.requirement("GV-06")
def test_a_replay_is_proposed_approved_and_followed(api: httpx.Client, engine: Engine):
    wish = {"filter": {"operation": "mail"}, "reason": "the addresses are there now", "stages": [2]}
    engine.db.execute(
        "update dot_config set config_value = 'true' where config_key = 'approval.required.replay'"
    )
    answer = api.post("/api/v1/replays", json=wish)
    assert answer.status_code == 201, answer.text
    plan = answer.json()
    assert (plan["letters"], plan["quorum"], plan["state"]) == (5, 1, "submitted")
    # Its letters are asked for: a second plan with one of them is refused.
    refused = api.post("/api/v1/replays", json={"reason": "again"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:stepwell:problem:conflict")
    engine.one(deciding("approve", "ben"), (int(plan["approval_id"]),))
    assert engine.one("select fn_replay_plans_carry()") == 2
    shown = got(api, f"/replays/{plan['plan_id']}")
    assert (shown["plan_state"], [stage["scheduled"] for stage in shown["progress"]]) == ("running", [2, 0])
    stopped = api.post(f"/api/v1/replays/{plan['plan_id']}/stop", json={"reason": "wrong ones"})
    assert (stopped.status_code, stopped.json()["plan_state"]) == (200, "stopped"), stopped.text
    requests = got(api, f"/replays/{plan['plan_id']}/requests", limit=3)
    states = [(one["proposal_state"], one["replay_state"]) for one in requests["items"]]
    assert states == [("merged", "scheduled"), ("merged", "scheduled"), ("rejected", None)]
    assert requests["next"] is not None
    assert got(api, "/replays")["items"][0]["ended_because"] == "wrong ones"
