"""The resources beside runs and steps: each is listed, shown and changed over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, operation

YAML = """
workflow: mail.send
steps:
  - id: write
    operation: write
"""
POLICY = """
rules:
  - name: small-refunds
    priority: 10
    match: {connector: bank}
    effect: allow
    reason: refunds are small
cases:
  - name: a refund
    action: {connector: bank, operation: refund, target: "bank://x", fields: {amount: 5}}
    expect: {effect: allow}
"""


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    engine = Engine(db)
    engine.publish("line", operation("a"), operation("b"))
    return engine


def got(api: httpx.Client, path: str, **params: Any) -> Any:
    answer = api.get(f"/api/v1{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_workflows_and_their_versions_are_shown_and_published(api: httpx.Client, engine: Engine):
    made = api.post("/api/v1/workflows", json={"yaml": YAML})
    assert (made.status_code, made.json()) == (201, {"version_no": 1, "is_new": True}), made.text
    assert api.post("/api/v1/workflows", json={"yaml": YAML}).json()["is_new"] is False
    names = [one["name"] for one in got(api, "/workflows")["items"]]
    assert names == ["line", "mail.send"]
    first = got(api, "/workflows", limit=1)
    assert [one["name"] for one in got(api, "/workflows", limit=1, cursor=first["next"])["items"]] == [
        "mail.send"
    ]
    assert [one["version_no"] for one in got(api, "/workflows/line/versions")["items"]] == [1]
    graph = got(api, "/workflows/line/versions/1")["document"]
    assert [step["id"] for step in graph["steps"]] == ["a", "b"]
    written = got(api, "/workflows/mail.send/versions/1")["document"]
    again = api.post("/api/v1/workflows", json={"graph": written})
    assert (again.status_code, again.json()["is_new"]) == (201, False), again.text
    capped = api.put("/api/v1/workflows/line/caps", json={"max_concurrency": 3})
    assert capped.json()["max_concurrency"] == 3
    missing = api.get("/api/v1/workflows/lin")
    assert (missing.status_code, "line" in missing.json()["hint"]) == (404, True)


@pytest.mark.parametrize(
    "body", [{}, {"yaml": "workflow: x", "graph": {}}, {"yaml": "steps: ["}, {"graph": {"format": 9}}]
)
def test_a_wrong_workflow_is_refused_with_its_problems(api: httpx.Client, body: dict[str, Any]):
    answer = api.post("/api/v1/workflows", json=body)
    assert answer.status_code == 422, answer.text


def test_jobs_are_enqueued_cancelled_and_retried(api: httpx.Client, engine: Engine):
    asked = {"operation": "a", "payload": {"n": 1}, "key": "k"}
    job = api.post("/api/v1/jobs", json=asked).json()
    assert api.post("/api/v1/jobs", json=asked).json() == {"job_id": job["job_id"], "is_new": False}
    assert got(api, f"/jobs/{job['job_id']}")["idempotency_key"] == "k"
    assert [one["job_id"] for one in got(api, "/jobs")["items"]] == [job["job_id"]]
    cancelled = api.post(f"/api/v1/jobs/{job['job_id']}/cancel", json={"reason": "not needed"})
    assert cancelled.json() == {"state_code": "cancelled"}
    assert got(api, f"/jobs/{job['job_id']}/result")["state_code"] == "cancelled"
    assert api.post(f"/api/v1/jobs/{job['job_id']}/retry", json={}).status_code == 409
    wrong = api.post("/api/v1/jobs", json={"operation": "a", "rate_limit": "often"})
    assert wrong.status_code == 422


def test_a_dead_step_is_retried_with_its_run_and_a_dead_job_by_itself(api: httpx.Client, engine: Engine):
    run_id = engine.start("line")
    (job_id,) = engine.enqueue("a", p_max_attempts=1)
    worker = engine.worker()
    engine.kill(worker, *engine.claim(worker))
    assert (got(api, f"/runs/{run_id}")["state_code"], got(api, f"/jobs/{job_id}")["status"]) == (
        "failed", "dead_letter",
    )  # fmt: skip
    retried = api.post(f"/api/v1/runs/{run_id}/retry", json={"reason": "the line is back"})
    assert retried.status_code == 200, retried.text
    assert got(api, f"/runs/{run_id}")["state_code"] == "in_progress"
    assert api.post(f"/api/v1/runs/{run_id}/retry", json={}).status_code == 409, "nothing is dead"
    retried = api.post(f"/api/v1/jobs/{job_id}/retry", json={"reason": "the line is back"})
    assert (retried.status_code, retried.json()["answer"]["state"]) == (200, "replayed"), retried.text
    engine.drain(worker)
    assert got(api, f"/runs/{run_id}")["state_code"] == "completed"
    assert got(api, f"/jobs/{job_id}/result") == {"state_code": "completed", "output": {"ok": True}}
    assert engine.faults() == {}


def test_the_tenant_its_workspaces_and_roles_are_shown(api: httpx.Client, engine: Engine):
    tenant = got(api, "/tenant")
    assert (tenant["name"], tenant["weight"] >= 1, tenant["max_concurrency"]) == ("default", True, None)
    assert got(api, "/workspaces")["items"] == []
    assert api.put("/api/v1/workspaces/nights", json={"max_concurrency": 2}).status_code == 200
    (workspace,) = got(api, "/workspaces")["items"]
    assert (workspace["name"], workspace["max_concurrency"]) == ("nights", 2)
    engine.db.execute("select fn_person_set(1, 'ada', array['operator'])")
    roles = {one["name"]: one for one in got(api, "/roles")["items"]}
    assert {"run.cancel", "payload.read"} <= set(roles["operator"]["verbs"])
    assert (roles["operator"]["account_count"], roles["admin"]["account_count"]) == (1, 1)


def test_a_version_shows_the_schema_of_its_input(api: httpx.Client, engine: Engine):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    engine.publish("line", operation("a"), input=schema)
    assert got(api, "/workflows/line")["input_schema"] == schema
    assert [one["input_schema"] for one in got(api, "/workflows/line/versions")["items"]] == [schema, None]
    assert got(api, "/workflows/line/versions/2")["input_schema"] == schema
    assert got(api, "/workflows/line/versions/1")["input_schema"] is None


def test_dead_letters_have_every_attempt(api: httpx.Client, engine: Engine):
    worker = engine.worker()
    for _ in range(3):
        engine.enqueue("a", p_max_attempts=1)
    for lease in engine.claim(worker):
        engine.report(worker, (lease, "failed", {"class": "timeout", "message": "no answer"}))
    page = got(api, "/dead-letters", limit=2)
    rest = got(api, "/dead-letters", limit=2, cursor=page["next"])
    letters = page["items"] + rest["items"]
    assert len({one["job_id"] for one in letters}) == 3
    assert rest["next"] is None
    shown = got(api, f"/dead-letters/{letters[0]['job_id']}")
    assert len(shown["failures"]) == 1
    assert {name: shown[name] for name in letters[0]} == letters[0] | {"failures": shown["failures"]}
    assert api.get("/api/v1/dead-letters/999").status_code == 404


def test_schedules_are_made_paused_and_deleted(api: httpx.Client, engine: Engine):
    change = {"workflow": "line", "cron": "0 3 * * *", "time_zone": "Asia/Ho_Chi_Minh"}
    made = api.put("/api/v1/schedules/nightly", json=change)
    assert made.status_code == 200, made.text
    assert len(got(api, "/schedules/nightly/times", count=3)) == 3
    assert api.post("/api/v1/schedules/nightly/pause").json()["is_paused"] is True
    assert api.post("/api/v1/schedules/nightly/resume").json()["is_paused"] is False
    assert [one["name"] for one in got(api, "/schedules")] == ["nightly"]
    assert api.delete("/api/v1/schedules/nightly").status_code == 204
    assert api.get("/api/v1/schedules/nightly").status_code == 404
    for wrong in ({**change, "cron": "now"}, {**change, "time_zone": "Moon"}):
        assert api.put("/api/v1/schedules/nightly", json=wrong).status_code == 422


def test_a_policy_is_checked_tried_explained_and_proposed(api: httpx.Client):
    assert api.post("/api/v1/policies/check", json={"text": POLICY}).json() == {
        "rule_count": 1,
        "case_count": 1,
    }
    (case,) = api.post("/api/v1/policies/test", json={"text": POLICY}).json()
    assert (case["ok"], case["verdict"]["effect"]) == (True, "allow")
    action = {"connector": "mail", "operation": "send", "target": "mailto:a@b", "fields": {}}
    explained = api.post("/api/v1/policies/explain", json={"action": action, "text": POLICY}).json()
    assert (explained["verdict"]["effect"], explained["answers"][0]["answer"]) == ("deny", "false")
    assert api.get("/api/v1/policies/active").status_code == 404
    proposed = api.post("/api/v1/policies", json={"text": POLICY, "reason": "refunds"})
    assert proposed.status_code == 201, proposed.text
    (version,) = got(api, "/policies")["items"]
    assert (version["version_no"], version["proposed_by"]) == (1, "api:billing")
    wrong = api.post("/api/v1/policies/check", json={"text": "rules:\n  - name: x\n    effect: perhaps\n"})
    assert wrong.status_code == 422
    assert "effect" in wrong.text
    assert got(api, "/verdicts")["items"] == []


def test_content_has_versions(api: httpx.Client):
    for body, version in (("one", 1), ("two", 2), ("two", 2)):
        written = api.put("/api/v1/content/guide", json={"body": body, "labels": {"en": "Guide"}})
        assert written.json()["version_no"] == version, written.text
    assert got(api, "/content/guide")["body"] == "two"
    assert got(api, "/content/guide/versions/1")["body"] == "one"
    assert [one["version_no"] for one in got(api, "/content/guide/versions")] == [2, 1]
    assert api.get("/api/v1/content/none").status_code == 404


def test_workers_and_queues_are_shown(api: httpx.Client, engine: Engine):
    engine.worker("orders:host-1:1:a")
    engine.enqueue("a", 3)
    (worker,) = got(api, "/workers")["items"]
    assert (worker["worker_name"], worker["executors"], worker["status"]) == (
        "orders:host-1:1:a", ["default"], "alive",
    )  # fmt: skip
    queue = next(one for one in got(api, "/queues") if one["executor"] == "default")
    assert (queue["ready_count"], queue["worker_count"]) == (3, 1)


def test_the_log_is_read_page_by_page(api: httpx.Client, engine: Engine):
    run_id = engine.start("line")
    engine.drain(engine.worker())
    seen: list[str] = []
    cursor = None
    while True:
        page = got(api, "/events", run=run_id, limit=5, **({} if cursor is None else {"cursor": cursor}))
        seen += [event["event_id"] for event in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    written = engine.one("select count(*) from event_log where tenant_id = 1 and run_id = %s", (run_id,))
    assert len(seen) == len(set(seen)) == written
    (ended,) = got(api, "/events", run=run_id, type=["workflow.completed", "workflow.failed"])["items"]
    assert ended["run_id"] == str(run_id)


def test_the_bundle_of_a_run_is_asked_for_when_it_has_ended(api: httpx.Client, engine: Engine):
    run_id = engine.start("line")
    early = api.post(f"/api/v1/runs/{run_id}/evidence")
    assert early.status_code == 409
    engine.drain(engine.worker())
    assert api.post(f"/api/v1/runs/{run_id}/evidence").status_code == 202
    assert engine.one("select count(*) from evidence_due where run_id = %s", (run_id,)) == 1
    assert got(api, f"/runs/{run_id}/evidence") == []
    assert api.get(f"/api/v1/runs/{run_id}/evidence/bundle").status_code == 404
    assert api.get("/api/v1/runs/999/evidence").status_code == 404


def test_a_file_that_is_no_bundle_has_findings(api: httpx.Client):
    answer = api.post("/api/v1/evidence/verify", content=b"not a bundle")
    assert (answer.status_code, answer.json()["is_recorded"]) == (200, False), answer.text
    assert answer.json()["findings"]


def test_the_registry_and_its_vocabularies_are_shown(api: httpx.Client):
    assert {"machines", "texts", "colours"} <= set(got(api, "/registry/machines"))
    vocabularies = {one["name"]: one["words"] for one in got(api, "/registry/vocabularies")}
    reason = next(one for one in vocabularies["block_reason"] if one["code"] == "missing_access")
    assert (reason["label_en"], reason["label_vi"]) == ("An access right is missing", "Thiếu quyền truy cập")


def test_a_few_letters_find_runs_workflows_and_people(api: httpx.Client, engine: Engine):
    run_id = engine.start("line", ref="WO-48213")
    engine.start("line", ref="WO-50000")
    engine.person("linda")

    def found(text: str) -> list[tuple[str, str]]:
        return [(one["kind"], one["id"]) for one in got(api, "/search", text=text)]

    assert found(str(run_id))[0] == ("run", str(run_id))
    assert found("WO-48213") == [("run", str(run_id))]
    assert len(found("WO-")) == 2
    assert {("workflow", "line"), ("person", "linda")} <= set(found("lin"))
    assert api.put(f"/api/v1/runs/{run_id}/labels", json={"set": {"customer": "Acme: x"}}).is_success
    assert found("customer:Acme: x") == found("customer: Acme: x") == [("run", str(run_id))]
    assert found("customer:Acme") == found("order:Acme: x") == []
    assert found("100%") == []
    assert api.get("/api/v1/search", params={"text": ""}).status_code == 422


def test_problems_are_listed_and_closed(api: httpx.Client, engine: Engine):
    engine.db.execute("select fn_duty_set_aside(1, 'schedule', 'nightly', '22012', 'division by zero')")
    (problem,) = got(api, "/problems")["items"]
    closed = api.post(f"/api/v1/problems/{problem['problem_id']}/close", json={"reason": "mended"})
    assert closed.json()["closed_by"] == "api:billing", closed.text
    assert got(api, "/problems")["items"] == []
    assert len(got(api, "/problems", closed=True)["items"]) == 1


def test_receipts_of_another_number_are_not_found(api: httpx.Client):
    assert got(api, "/receipts")["items"] == []
    assert api.get("/api/v1/receipts/7").status_code == 404
    assert api.post("/api/v1/receipts/7/reverse", json={}).status_code == 404
    assert api.post("/api/v1/receipts/7/settle", json={"outcome": "void", "reason": "x"}).status_code == 404


def test_nobody_publishes_with_the_rights_of_a_reader(http: httpx.Client, token: Callable[..., str]):
    headers = {"Authorization": f"Bearer {token('ada', 'person', 'clerk')}"}
    assert http.post("/api/v1/workflows", json={"yaml": YAML}, headers=headers).status_code == 403
