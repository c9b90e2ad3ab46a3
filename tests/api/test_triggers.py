"""Signed requests of other systems: they start a run, or send an event, once."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, operation, wait
from tests.support.clock import Clock

BODY = {"incident": {"sys_id": "INC-7", "urgency": 1}}


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    engine = Engine(db)
    engine.publish("triage", operation("look"))
    engine.publish("order", wait("pickup", "carrier.picked_up"))
    db.execute("select fn_principal_set(1, 'service', 'servicenow', array['operator'])")
    return engine


@pytest.fixture
def made(api: httpx.Client, engine: Engine) -> Callable[..., dict[str, str]]:
    def make(name: str = "incidents", **settings: Any) -> dict[str, str]:
        asked = {"workflow": "triage", "acts_as": "servicenow", "ref_path": "$.incident.sys_id"} | settings
        answer = api.put(f"/api/v1/triggers/{name}", json=asked)
        assert answer.status_code == 200, answer.text
        found: dict[str, str] = answer.json()
        return found

    return make


def fire(
    api: httpx.Client,
    trigger: dict[str, str],
    body: bytes,
    at: int,
    *,
    secret: str | None = None,
    **headers: str,
) -> httpx.Response:
    signed = hmac.new((secret or trigger["secret"]).encode(), f"{at}.".encode() + body, hashlib.sha256)
    sent = {"Stepwell-Signature": f"t={at},v1={signed.hexdigest()}", **headers}
    # No token: the signature is the proof.
    return httpx.post(f"{api.base_url}/api/v1/hooks/{trigger['address']}", content=body, headers=sent)


@pytest.fixture
def now(db: psycopg.Connection) -> int:
    row = db.execute("select extract(epoch from stepwell.now())::bigint").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.requirement("RT-14")
def test_a_signed_request_starts_one_run(
    api: httpx.Client, engine: Engine, made: Callable[..., dict[str, str]], now: int
):
    trigger = made()
    body = json.dumps(BODY).encode()
    first = fire(api, trigger, body, now)
    assert (first.status_code, first.json()["is_new"]) == (202, True), first.text
    assert fire(api, trigger, body, now).json() == {"run_id": first.json()["run_id"], "is_new": False}
    run = api.get(f"/api/v1/runs/{first.json()['run_id']}").json()
    assert (run["trigger_type"], run["trigger_ref"], run["input"]) == ("http:incidents", "INC-7", BODY)
    assert run["started_by"] == "hook:servicenow"


def test_the_number_of_a_request_may_stand_in_a_header(
    api: httpx.Client, made: Callable[..., dict[str, str]], now: int
):
    trigger = made(ref_path=None, input_path="$.incident")
    started = [
        fire(api, trigger, json.dumps(BODY).encode(), now, **{"Stepwell-Delivery": number}).json()["run_id"]
        for number in ("d-1", "d-1", "d-2")
    ]
    assert (started[0] == started[1], started[1] != started[2]) == (True, True)
    assert api.get(f"/api/v1/runs/{started[0]}").json()["input"] == BODY["incident"]


def test_an_event_reaches_the_run_with_the_key(
    api: httpx.Client, engine: Engine, made: Callable[..., dict[str, str]], now: int
):
    run_id = engine.start("order", ref="A-1")
    trigger = made(
        "pickups", workflow="order", event_type="carrier.picked_up", key_path="$.order", ref_path="$.number"
    )
    body = json.dumps({"order": "A-1", "number": 7}).encode()
    assert fire(api, trigger, body, now).json() == {"run_id": str(run_id), "is_new": True}
    assert fire(api, trigger, body, now).json() == {"run_id": str(run_id), "is_new": False}
    assert api.get(f"/api/v1/runs/{run_id}").json()["state_code"] == "completed"
    missing = fire(api, trigger, json.dumps({"order": "B-9", "number": 8}).encode(), now)
    assert missing.status_code == 404


@pytest.mark.parametrize("fault", ["secret", "body", "time", "old", "future", "missing", "address"])
def test_a_request_with_a_wrong_proof_starts_nothing(
    api: httpx.Client, engine: Engine, made: Callable[..., dict[str, str]], now: int, fault: str
):
    trigger = made()
    body = json.dumps(BODY).encode()
    url = f"{api.base_url}/api/v1/hooks/{trigger['address']}"
    signed = hmac.new(trigger["secret"].encode(), f"{now}.".encode() + body, hashlib.sha256).hexdigest()
    match fault:
        case "secret":
            answer = fire(api, trigger, body, now, secret="another")
        case "body":
            answer = httpx.post(url, content=b"{}", headers={"Stepwell-Signature": f"t={now},v1={signed}"})
        case "time":
            answer = httpx.post(url, content=body, headers={"Stepwell-Signature": f"t={now + 1},v1={signed}"})
        case "old":
            answer = fire(api, trigger, body, now - 400)
        case "future":
            answer = fire(api, trigger, body, now + 400)
        case "missing":
            answer = httpx.post(url, content=body)
        case _:
            answer = fire(api, {**trigger, "address": "swt_" + "0" * 64}, body, now)
    expected = {"missing": 422, "address": 404}.get(fault, 403)
    assert answer.status_code == expected, answer.text
    assert engine.one("select count(*) from run_detail") == 0


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"nonsense", b'{"incident": {}}', b'{"incident":{"sys_id":"\xff"}}']
)
def test_a_body_that_cannot_be_used_is_refused(
    api: httpx.Client, engine: Engine, made: Callable[..., dict[str, str]], now: int, body: bytes
):
    answer = fire(api, made(), body, now)
    assert answer.status_code == 422, answer.text
    assert engine.one("select count(*) from run_detail") == 0


def test_a_trigger_stops_with_its_token_its_expiry_and_its_deletion(
    api: httpx.Client, db: psycopg.Connection, made: Callable[..., dict[str, str]], now: int, clock: Clock
):
    body = json.dumps(BODY).encode()
    revoked = made("revoked")
    db.execute("update access_token set revoked_at = now(), revoked_by = 'x' where label = 'trigger revoked'")
    assert fire(api, revoked, body, now).status_code == 401
    replaced = made("replaced")
    made("replaced")
    assert fire(api, replaced, body, now).status_code == 404
    deleted = made("deleted")
    assert api.delete("/api/v1/triggers/deleted").status_code == 204
    assert fire(api, deleted, body, now).status_code == 404
    expiring = made("expiring", expires_seconds=60)
    clock.advance(minutes=2)
    assert fire(api, expiring, body, now + 120).status_code == 401
    assert api.delete("/api/v1/triggers/none").status_code == 404


def test_address_and_secret_are_shown_once(api: httpx.Client, made: Callable[..., dict[str, str]]):
    trigger = made()
    listed = api.get("/api/v1/triggers")
    assert [one["trigger_name"] for one in listed.json()] == ["incidents"]
    assert trigger["secret"] not in listed.text
    assert trigger["address"] not in listed.text


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"workflow": "none"}, None),
        ({"acts_as": "nobody"}, None),
        ({"ref_path": "$.a[*]"}, "ref_path"),
        ({"event_type": "x"}, "key_path"),
        ({"expires_seconds": 0}, "body.expires_seconds"),
    ],
)
def test_a_wrong_trigger_names_its_field(
    api: httpx.Client, engine: Engine, settings: dict[str, Any], field: str | None
):
    asked = {"workflow": "triage", "acts_as": "servicenow"} | settings
    answer = api.put("/api/v1/triggers/incidents", json=asked)
    assert answer.status_code in (404, 422), answer.text
    if field is not None:
        assert answer.json()["field"] == field
    assert engine.one("select count(*) from http_trigger") == 0


def test_a_person_without_the_right_makes_no_trigger(
    http: httpx.Client, engine: Engine, token: Callable[..., str]
):
    headers = {"Authorization": f"Bearer {token('ada', 'person', 'operator')}"}
    asked = {"workflow": "triage", "acts_as": "servicenow"}
    assert http.put("/api/v1/triggers/incidents", json=asked, headers=headers).status_code == 403


def test_the_hash_is_that_of_the_standard(db: psycopg.Connection):
    for key, message in ((b"key", b"The quick brown fox"), (b"k" * 64, b""), (b"k" * 200, b"x" * 1000)):
        row = db.execute("select _hmac_sha256(%s, %s)", (key, message)).fetchone()
        assert row is not None
        assert bytes(row[0]) == hmac.new(key, message, hashlib.sha256).digest()


def limit(db: psycopg.Connection, name: str, value: str) -> None:
    db.execute("update dot_config set config_value = %s::jsonb where config_key = %s", (value, name))


def test_a_tenant_has_so_many_triggers_at_most(
    api: httpx.Client, db: psycopg.Connection, made: Callable[..., dict[str, str]]
):
    limit(db, "limits.triggers", "1")
    made("first")
    made("first")
    asked = {"workflow": "triage", "acts_as": "servicenow"}
    refused = api.put("/api/v1/triggers/second", json=asked)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:stepwell:problem:limit-exceeded")


def test_a_signature_is_accepted_as_long_as_the_limit_says(
    api: httpx.Client, db: psycopg.Connection, made: Callable[..., dict[str, str]], now: int
):
    trigger = made()
    limit(db, "limits.trigger_age_seconds", "30")
    body = json.dumps(BODY).encode()
    assert fire(api, trigger, body, now - 60).status_code == 403
    limit(db, "limits.trigger_age_seconds", "600")
    assert fire(api, trigger, body, now - 60).status_code == 202
