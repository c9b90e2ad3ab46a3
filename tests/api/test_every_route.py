"""Every route, as nobody, with the wrong role, from another tenant, with an ended token, with a used key.

The routes come from the application itself: a new one is called here without a change of this file. A new
parameter of a path needs a line in `seeds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.api.routes import OPEN, Operation, made, operations, routes
from tests.api.seeds_of_workers import SAID
from tests.sql.drive import Engine, human, operation
from tests.sql.job_graphs.graphing import emit, job, register
from tests.support.clock import Clock

MARK = "only-tenant-one"

# Together they have every verb.
ALL = ["admin", "MOT_template_generator"]
KEY_REUSED = "urn:stepwell:problem:key-reused"
YAML = "workflow: mail.send\nsteps:\n  - id: write\n    operation: write\n"
POLICY = """
rules:
  - {name: small, priority: 10, match: {connector: bank}, effect: allow, reason: refunds are small}
cases:
  - name: a refund
    action: {connector: bank, operation: refund, target: "bank://x", fields: {amount: 5}}
    expect: {effect: allow}
"""
# Bodies of writes whose example names what the seeds do not have.
FITTING: dict[str, dict[str, Any]] = {
    "POST /api/v1/runs": {"workflow": "w"},
    "POST /api/v1/runs/batch": {"workflow": "w", "inputs": [{}, {}]},
    "POST /api/v1/workflows": {"yaml": YAML},
    "PUT /api/v1/schedules/{name}": {"workflow": "w", "cron": "0 3 * * *"},
    "POST /api/v1/policies": {"text": POLICY, "reason": "refunds"},
    "POST /api/v1/policies/check": {"text": POLICY},
    "POST /api/v1/policies/test": {"text": POLICY},
    "POST /api/v1/graphs": {"template_id": "parcels"},
    "POST /api/v1/holds": {"scope_kind": "operation", "scope_value": "a", "reason": "r"},
}
# Writes that the seeds below do not let succeed: a test of their resource sees them succeed.
NOT_HERE = {
    *(f"POST /api/v1/workers/{{session_id}}/{call}" for call in ("freeze", "unfreeze", "drain", "undrain")),
    *(f"POST /api/v1/executors/{{executor}}/{call}" for call in ("freeze", "unfreeze")),
    "POST /api/v1/summaries",
    "DELETE /api/v1/event-routes/{name}",
    "DELETE /api/v1/schedules/{name}",
    "DELETE /api/v1/triggers/{name}",
    "DELETE /api/v1/views/{view_id}",
    "POST /api/v1/approvals/{approval_id}/decisions",
    "POST /api/v1/approvals/{approval_id}/withdraw",
    "POST /api/v1/graphs/{workflow_id}/retry",
    "POST /api/v1/jobs/{job_id}/retry",
    "POST /api/v1/problems/{problem_id}/close",
    "POST /api/v1/receipts/{receipt_id}/reverse",
    "POST /api/v1/receipts/{receipt_id}/settle",
    "POST /api/v1/replays",
    "POST /api/v1/replays/{plan_id}/stop",
    "POST /api/v1/runs/{run_id}/evidence",
    "POST /api/v1/runs/{run_id}/retry",
    "POST /api/v1/schedules/{name}/pause",
    "POST /api/v1/schedules/{name}/resume",
    "POST /api/v1/steps/{step_run_id}/assign",
    "POST /api/v1/steps/{step_run_id}/block",
    "POST /api/v1/steps/{step_run_id}/cannot-complete",
    "POST /api/v1/steps/{step_run_id}/claim",
    "POST /api/v1/steps/{step_run_id}/comments",
    "POST /api/v1/steps/{step_run_id}/complete",
    "POST /api/v1/steps/{step_run_id}/deadline",
    "POST /api/v1/steps/{step_run_id}/delegate",
    "POST /api/v1/steps/{step_run_id}/escalate",
    "POST /api/v1/steps/{step_run_id}/escalate-block",
    "POST /api/v1/steps/{step_run_id}/release",
    "POST /api/v1/steps/{step_run_id}/reopen",
    "POST /api/v1/steps/{step_run_id}/resume",
    "POST /api/v1/steps/{step_run_id}/unblock",
    "POST /api/v1/steps/{step_run_id}/wait",
    "PUT /api/v1/session/password",
    "PUT /api/v1/triggers/{name}",
    "PUT /api/v1/views/{view_id}",
}

# Parameters of paths that name what all tenants have: each tenant is answered with its own rows.
OF_NO_TENANT = {"category", "executor"}


@pytest.fixture
def seeds(db: psycopg.Connection) -> dict[str, str]:
    return seeded(db)


def seeded(db: psycopg.Connection, tenant_id: int = 1) -> dict[str, str]:
    """A value for each parameter of a path: things of a tenant, with the mark in what only a reader sees."""
    engine = Engine(db, tenant_id)
    engine.publish("w", operation("a"), human("sign", role="office"), title=MARK)
    db.execute("select fn_person_set(%s, %s, array['office'])", (tenant_id, f"{MARK}-ada"))
    run_id = engine.start("w", {"note": MARK})
    unit_id = engine.unit(run_id, "a")
    approval_id = engine.one(
        "select fn_approval_request(%s, 'stop', %s, %s, %s)", (tenant_id, run_id << 20, f"{MARK}-ada", MARK)
    )
    job_id = engine.enqueue("a", p_keys=[f"{MARK}-job"])[0]
    db.execute("select fn_content_write(%s, %s, %s, 'test')", (tenant_id, "guide", MARK))
    token_id = engine.one(
        "select token_id from fn_token_create(%s, %s, %s, 3600)", (tenant_id, f"{MARK}-ada", MARK)
    )
    engine.one("select fn_workspace_set(%s, 'nights')", (tenant_id,))
    register(engine, "parcels", job("a"), description=MARK)
    workflow_id = emit(engine, "parcels", p_correlation_id=MARK)["workflow_id"]
    cut = engine.one("select fn_iu_op_merge(%s, '{guide,none}', 'both', 'test')", (tenant_id,))
    held = "select fn_hold_open(%s, 'connector', 'books', %s, 'cli:ops')"
    hold_id = engine.one(held, (tenant_id, MARK))["hold_id"]
    return {
        "executor": "default",
        "summary_id": str(engine.one(SAID, (tenant_id, f"{MARK}-ada", MARK, tenant_id))),
        "hold_id": hold_id,
        "cut_request_id": str(cut["cut_request_id"]),
        "template_id": "parcels",
        "workflow_id": str(workflow_id),
        "run_id": str(run_id),
        "unit_id": str(unit_id),
        "step_id": "sign",
        **dict.fromkeys(("problem_id", "version_no", "no", "view_id"), "1"),
        "step_run_id": str(engine.unit(run_id, "sign")),
        "approval_id": str(approval_id),
        "category": "overdue_step",
        "job_id": str(job_id),
        "receipt_id": str(unit_id),
        "plan_id": str(job_id),
        "name": "w",
        "code": "guide",
        "layout_hash": "0" * 64,
        "person": f"{MARK}-ada",
        "token_id": str(token_id),
        "session_id": str(token_id),
        "workspace": "nights",
    }


def narrowed(db: psycopg.Connection, *verbs: str, tenant_id: int = 1, name: str = "narrow") -> dict[str, str]:
    """The headers of an administrator with a token for these verbs only; without verbs, for all."""
    db.execute("select fn_principal_set(%s, 'service', %s, %s)", (tenant_id, name, ALL))
    made = "select token from fn_token_create(%s, %s, 'test', 3600, %s)"
    row = db.execute(made, (tenant_id, name, list(verbs) or None)).fetchone()
    assert row is not None
    return {"Authorization": f"Bearer {row[0]}"}


def fitting(one: Operation, seeds: dict[str, str]) -> dict[str, Any]:
    """A request that the seeds let succeed, where that is possible."""
    request = one.request(seeds, made().openapi())
    if one.name == "POST /api/v1/approvals":
        return request | {"json": {"action": "stop", "unit_id": int(seeds["step_run_id"])}}
    return request | ({"json": FITTING[one.name]} if one.name in FITTING else {})


def asked(http: httpx.Client, one: Operation, seeds: dict[str, str], **headers: str) -> httpx.Response:
    return http.request(**fitting(one, seeds), headers=headers)


def shows(answer: httpx.Response, seeds: dict[str, str]) -> bool:
    """Whether an answer has something of tenant 1; a problem may repeat a name of its own request."""
    own = "" if answer.is_success else seeds["person"]
    return MARK in (answer.text.replace(own, "") if own else answer.text)


def test_every_route_is_an_operation_or_known_to_be_open():
    found = {f"{method} {path}" for method, path, _ in routes(made())}
    assert found == {one.name for one in operations()} | set(OPEN)


def test_nobody_is_told_to_sign_in(http: httpx.Client, seeds: dict[str, str]):
    for one in operations():
        answer = asked(http, one, seeds)
        assert (answer.status_code, answer.json()["type"]) == (401, "urn:stepwell:problem:not-signed-in"), one
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert not shows(answer, seeds)


def test_an_invented_token_is_refused(http: httpx.Client, seeds: dict[str, str]):
    for one in operations():
        answer = asked(http, one, seeds, Authorization=f"Bearer sw_{'0' * 64}")
        assert (answer.status_code, shows(answer, seeds)) == (401, False), one.name


def test_an_ended_token_is_refused_even_if_the_server_knows_it(
    http: httpx.Client, db: psycopg.Connection, seeds: dict[str, str], clock: Clock
):
    headers = narrowed(db)
    assert http.get("/api/v1/approvals", headers=headers).status_code == 200
    clock.advance(hours=2)
    for one in operations():
        answer = asked(http, one, seeds, **headers)
        assert (answer.status_code, shows(answer, seeds)) == (401, False), one.name


def test_a_token_without_the_verb_is_refused_and_the_log_tells_it(
    http: httpx.Client, db: psycopg.Connection, seeds: dict[str, str]
):
    # A verb that no route of this loop has.
    others = {verb: narrowed(db, "read" if verb != "read" else "run.start") for verb in verbs()}
    for one in operations():
        if one.verb is not None:
            answer = asked(http, one, seeds, **others[one.verb])
            assert (answer.status_code, shows(answer, seeds)) == (403, False), (one.name, answer.text)
            assert one.verb in answer.json()["detail"], one.name
    noted = db.execute(
        "select sum((payload ->> 'count')::int), count(distinct payload ->> 'call') from event_log"
        " where event_type = 'call.refused' and actor = 'narrow'"
    ).fetchone()
    with_verb = [one for one in operations() if one.verb is not None]
    assert noted is not None
    assert noted[0] <= len(with_verb)
    assert noted[1] >= min(30, len(with_verb))


def verbs() -> set[str]:
    return {one.verb for one in operations() if one.verb is not None}


def test_another_tenant_sees_and_changes_nothing(
    http: httpx.Client, db: psycopg.Connection, seeds: dict[str, str]
):
    (tenant_id,) = db.execute("select fn_tenant_set('two', '{}')").fetchone()  # type: ignore[misc]
    headers = narrowed(db, tenant_id=tenant_id)
    before = _of_tenant(db)
    # Reads first: what this tenant writes under the same names, it may read.
    for one in sorted(operations(), key=lambda one: not one.is_read):
        answer = asked(http, one, seeds, **headers)
        assert answer.status_code < 500, (one.name, answer.text)
        assert not shows(answer, seeds), (one.name, answer.text)
        if one.is_read and {name["name"] for name in one.parameters("path")} - OF_NO_TENANT:
            assert answer.status_code in (404, 422), (one.name, answer.text)
    assert _of_tenant(db) == before


def _of_tenant(db: psycopg.Connection, tenant_id: int = 1) -> object:
    query = "select count(*), max(event_id) from event_log where tenant_id = %s"
    return db.execute(query, (tenant_id,)).fetchone()


def test_a_repeat_with_the_same_key_is_answered_the_same(http: httpx.Client, db: psycopg.Connection):
    """Each operation that writes has a tenant of its own, so that none finds what another one did."""
    writing = [one for one in operations() if not one.is_read]
    refused = {one.name for one in writing if not _is_repeated(http, db, one)}
    assert refused == NOT_HERE


def _is_repeated(http: httpx.Client, db: psycopg.Connection, one: Operation) -> bool:
    """Sends the operation twice; whether it succeeded, and so the first answer was stored and repeated."""
    code = f"t{operations().index(one)}"
    (tenant_id,) = db.execute("select fn_tenant_set(%s, '{}')", (code,)).fetchone()  # type: ignore[misc]
    seeds = seeded(db, tenant_id)
    headers = narrowed(db, tenant_id=tenant_id) | {"Idempotency-Key": "k-1"}
    first = asked(http, one, seeds, **headers)
    assert first.status_code < 500, (one.name, first.text)
    after_first = _of_tenant(db, tenant_id)
    again = asked(http, one, seeds, **headers)
    assert again.status_code == first.status_code, one.name
    if not first.is_success or one.document.get("x-stepwell-takes-secret"):
        assert "Idempotency-Replayed" not in again.headers, one.name
        return first.is_success
    assert again.headers["Idempotency-Replayed"] == "true", one.name
    assert again.headers["Stepwell-Position"] == first.headers["Stepwell-Position"]
    shown_once = one.document.get("x-stepwell-shown-once", [])
    kept = first.json() if first.content else None
    if shown_once:
        kept |= dict.fromkeys(shown_once)
    assert (again.json() if again.content else None) == kept, one.name
    assert _of_tenant(db, tenant_id) == after_first, f"the repeat of {one.name} wrote something"
    request = fitting(one, seeds)
    for other in (
        {"params": {**request["params"], "another": "request"}},
        {"json": {**request.get("json", {}), "another": "body"}},
    ):
        reused = http.request(**{**request, **other}, headers=headers)
        assert (reused.status_code, reused.json()["type"]) == (422, KEY_REUSED), (one.name, reused.text)
    assert _of_tenant(db, tenant_id) == after_first, f"a reused key of {one.name} wrote something"
    return True


def test_a_field_that_no_body_has_is_refused_with_what_is_accepted(
    http: httpx.Client, db: psycopg.Connection, seeds: dict[str, str]
):
    headers, before = narrowed(db), _of_tenant(db)
    for one in operations():
        if one.is_read:
            continue
        request = one.request(seeds, made().openapi())
        for body, place, accepted in misspelled(one, request.get("json")):
            answer = http.request(**{**request, "json": body}, headers=headers)
            found = answer.json()
            assert answer.status_code == 422, (one.name, answer.text)
            told = {error["field"]: error["detail"] for error in found["errors"]}
            assert place in told, (one.name, answer.text)
            assert all(name in told[place] for name in accepted), (one.name, told[place])
    assert _of_tenant(db) == before


def misspelled(one: Operation, example: object) -> Iterator[tuple[object, str, list[str]]]:
    """Bodies with a field too many: at the top, and in each object of the schema below it."""
    document = made().openapi()
    content = one.document.get("requestBody", {}).get("content", {})
    if not content:
        yield {"colour_of_it": 1}, "body.colour_of_it", ["takes no body"]
    elif "application/json" in content:
        assert isinstance(example, dict), one.name
        schema = resolved(content["application/json"]["schema"], document)
        yield {**example, "colour_of_it": 1}, "body.colour_of_it", list(schema["properties"])
        for name, field in schema["properties"].items():
            inner = resolved(field, document)
            if "properties" in inner:
                below = {**example, name: {**example.get(name, {}), "colour_of_it": 1}}
                yield below, f"body.{name}.colour_of_it", list(inner["properties"])


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    for choice in schema.get("anyOf", []):
        if "$ref" in choice:
            schema = choice
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def test_every_object_in_a_body_refuses_other_fields():
    document = made().openapi()
    found = []
    for path, methods in document["paths"].items():
        for method, operation_document in methods.items():
            content = operation_document.get("requestBody", {}).get("content", {})
            if "application/json" in content and f"{method.upper()} {path}" not in OF_OTHERS:
                found += [(path, one) for one in objects(content["application/json"]["schema"], document)]
    assert [(path, one["title"]) for path, one in found if one.get("additionalProperties") is not False] == []
    assert len(found) > 40


# The body is that of another system.
OF_OTHERS = {"POST /api/v1/hooks/{address}", "POST /api/v1/slack/callback"}


def objects(
    schema: dict[str, Any], document: dict[str, Any], seen: frozenset[str] = frozenset()
) -> Iterator[dict[str, Any]]:
    """The objects with declared fields in a schema, at every depth."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name in seen:
        return
    if name:
        schema, seen = document["components"]["schemas"][name], seen | {name}
    if "properties" in schema:
        yield schema
    items = [schema["items"]] if "items" in schema else []
    for part in (*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *items):
        yield from objects(part, document, seen)


def test_a_query_that_no_route_has_is_refused_with_what_is_accepted(
    http: httpx.Client, db: psycopg.Connection, seeds: dict[str, str]
):
    headers, before = narrowed(db), _of_tenant(db)
    for one in operations():
        request = one.request(seeds, made().openapi())
        request["params"] = {**request["params"], "colour_of_it": "1"}
        answer = http.request(**request, headers=headers)
        found = answer.json()
        assert (answer.status_code, found.get("field")) == (422, "query.colour_of_it"), (
            one.name,
            answer.text,
        )
        assert all(known["name"] in found["detail"] for known in one.parameters("query")), one.name
    assert _of_tenant(db) == before


def test_an_empty_object_is_no_body(api: httpx.Client, db: psycopg.Connection, seeds: dict[str, str]):
    path = f"/api/v1/runs/{seeds['run_id']}"
    for act, content in (("pause", b"{}"), ("resume", b""), ("pause", b"null"), ("resume", b" {} ")):
        answer = api.post(f"{path}/{act}", content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == 200, answer.text
    for content in (b"[]", b"nonsense", b'"x"', b"\xff"):
        answer = api.post(f"{path}/pause", content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["field"]) == (422, "body"), answer.text


@pytest.mark.parametrize("key", ["", "ü", "with space", "k" * 201])
def test_a_key_that_is_not_accepted_is_named(
    http: httpx.Client, token: Callable[..., str], seeds: dict[str, str], key: str
):
    one = next(one for one in operations() if not one.is_read)
    headers = {"Authorization": f"Bearer {token()}".encode(), "Idempotency-Key": key.encode()}
    answer = http.request(**one.request(seeds, made().openapi()), headers=headers)
    assert (answer.status_code, answer.json()["field"]) == (422, "header.Idempotency-Key")
