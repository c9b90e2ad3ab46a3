"""Workers over HTTP: listed with one sentence each, stopped; sentences of agents with their evidence."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine
from tests.support.clock import Clock


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    """One worker that did three jobs, and failed in one of them."""
    made = Engine(db)
    made.person("ada")
    session = made.worker("orders:host-1:7:ab", serves=["ship", "pay"])
    made.beat(session)
    made.enqueue("ship", 3)
    first, *others = made.claim(session)
    made.kill(session, first)
    made.complete(session, *others)
    made.one("select fn_summaries_write()")
    return made


def got(api: httpx.Client, path: str, **params: Any) -> Any:
    answer = api.get(f"/api/v1{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def sent(api: httpx.Client, path: str, body: dict[str, Any], status: int = 200) -> Any:
    answer = api.post(f"/api/v1{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.mark.requirement("GV-03")
def test_a_worker_is_shown_with_one_sentence_and_its_evidence(api: httpx.Client, engine: Engine):
    (worker,) = got(api, "/workers")["items"]
    assert (worker["worker_name"], worker["executors"], worker["operations"]) == (
        "orders:host-1:7:ab", ["default"], ["pay", "ship"],
    )  # fmt: skip
    assert worker["sentence_en"].startswith("Errors, 3 jobs / 1 errors / lag ")
    assert (worker["colour"], worker["silent_after_seconds"]) == ("yellow", 60)
    (summary,) = got(api, "/summaries", kind="worker", subject=worker["session_id"])["items"]
    assert (summary["summary_id"], summary["source_event_count"], summary["summarizer_kind"]) == (
        worker["summary_id"], 6, "sql_fn",
    )  # fmt: skip
    events = got(api, f"/summaries/{worker['summary_id']}/events")
    assert sorted(event["to_state"] for event in events) == (
        ["completed"] * 2 + ["failed"] + ["in_progress"] * 3
    )
    executor = next(one for one in got(api, "/executors") if one["executor"] == "default")
    assert (executor["alive_count"], executor["slot_count"], executor["sentence_en"]) == (
        1, 100, worker["sentence_en"],
    )  # fmt: skip
    assert api.get("/api/v1/summaries/4711/events").status_code == 404
    assert api.get("/api/v1/workers/4711").status_code == 404


@pytest.mark.requirement("GV-07")
def test_a_worker_is_frozen_and_drained_and_freed(api: httpx.Client, engine: Engine):
    for call, field in (("freeze", "frozen"), ("drain", "drain")):
        shown = sent(api, f"/workers/1/{call}", {"reason": "its disk is full"})
        assert (shown[f"{field}_reason"], shown[f"{field}_by"] is not None) == ("its disk is full", True)
        shown = sent(api, f"/workers/1/un{call}", {"reason": "it has room"})
        assert shown[f"{field}_at"] is None
        refused = sent(api, f"/workers/1/un{call}", {"reason": "it has room"}, 409)
        assert "orders:host-1:7:ab" in refused["detail"]
    shown = sent(api, "/executors/default/freeze", {"reason": "a bad release"})
    assert shown["frozen_reason"] == "a bad release"
    assert got(api, "/workers/1")["frozen_executors"] == ["default"]
    assert sent(api, "/executors/default/unfreeze", {"reason": "rolled back"})["frozen_at"] is None
    assert sent(api, "/executors/gpu/freeze", {"reason": "x"}, 404)["field"] == "executor"
    assert sent(api, "/workers/1/freeze", {"reason": ""}, 422)["field"] == "body.reason"


def test_workers_are_read_page_by_page(api: httpx.Client, engine: Engine):
    gone = engine.worker("old:1")
    engine.one("select fn_worker_close(%s)", (gone,))
    engine.worker("new:1", classes=("process",))
    first = got(api, "/workers", limit=1)
    assert [one["worker_name"] for one in first["items"]] == ["new:1"]
    rest = got(api, "/workers", limit=5, cursor=first["next"])
    assert ([one["worker_name"] for one in rest["items"]], rest["next"]) == (["orders:host-1:7:ab"], None)
    assert len(got(api, "/workers", closed=True)["items"]) == 3
    assert [one["worker_name"] for one in got(api, "/workers", executor="process")["items"]] == ["new:1"]


def said(engine: Engine, **changed: Any) -> dict[str, Any]:
    ref = engine.one("select concat_ws(':', 'event', run_id, event_id) from event_log order by event_id desc")
    return {
        "subject_kind": "worker", "subject": "1", "colour": "yellow", "sentence_en": "retries are slow",
        "source_event_count": 1, "source_event_refs": [ref], "summarizer_version": "9", "confidence": 0.4,
        "window_start_at": engine.one("select stepwell.now() - interval '1 hour'").isoformat(),
        "window_end_at": engine.one("select stepwell.now()").isoformat(), **changed,
    }  # fmt: skip


@pytest.mark.requirement("GV-05")
def test_an_agent_says_something_with_its_evidence_and_is_flagged(api: httpx.Client, engine: Engine):
    number = sent(api, "/summaries", said(engine), 201)["summary_id"]
    found = got(api, "/summaries", kind="worker", subject="1")["items"]
    (mine,) = [one for one in found if one["summary_id"] == number]
    assert (mine["summarizer_kind"], mine["is_low_confidence"], mine["sentence_vi"]) == (
        "ai_agent", True, "retries are slow",
    )  # fmt: skip
    assert mine["min_confidence"] == pytest.approx(0.6)
    # The sentence of the engine stays the one of the list.
    assert got(api, "/workers/1")["sentence_en"].startswith("Errors, 3 jobs")
    sent(api, "/summaries", said(engine, confidence=0.8), 201)
    (mine,) = [one for one in got(api, "/summaries")["items"] if one["summary_id"] == number]
    assert mine["is_low_confidence"] is False


@pytest.mark.requirement("GV-03")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source_event_count", 0), ("source_event_refs", []), ("source_event_refs", ["event:0:4711"]),
        ("confidence", 2), ("window_start_at", None), ("summarizer_version", ""),
    ],
)  # fmt: skip
def test_a_sentence_without_evidence_is_refused(api: httpx.Client, engine: Engine, field: str, value: Any):
    answer = sent(api, "/summaries", said(engine, **{field: value}), 422)
    assert answer["field"].removeprefix("body.").split(".")[0] == field, answer


@pytest.mark.requirement("GV-05")
def test_green_about_an_open_problem_is_refused_and_leaves_a_trace(
    api: httpx.Client, engine: Engine, clock: Clock
):
    engine.one("select fn_problems_watch()")
    problem = engine.one("select problem_id from governance_problem where category_code = 'dead_letter'")
    about = {"subject_kind": "problem", "subject": str(problem), "confidence": 1.0}
    answer = api.post("/api/v1/summaries", json=said(engine, **about, colour="green"))
    assert (answer.status_code, answer.json()["field"]) == (409, "colour"), answer.text
    assert engine.one("select event_type from event_validation_audit") == "summary.resolves"
    sent(api, "/summaries", said(engine, **about, colour="red"), 201)
    engine.one("select fn_problems_watch()")
    assert engine.one("select closed_at from governance_problem where problem_id = %s", (problem,)) is None


def test_another_tenant_sees_the_workers_and_stops_none(
    api: httpx.Client, engine: Engine, db: psycopg.Connection
):
    db.execute("select fn_tenant_set('other')")
    tenant = engine.one("select tenant_id from tenant where tenant_code = 'other'")
    db.execute("select fn_principal_set(%s, 'service', 'spy', '{admin}')", (tenant,))
    api.headers["Authorization"] = "Bearer " + engine.one(
        "select token from fn_token_create(%s, 'spy', 'test', 3600)", (tenant,)
    )
    (worker,) = got(api, "/workers")["items"]
    assert (worker["worker_name"], worker["sentence_en"]) == ("orders:host-1:7:ab", None)
    assert got(api, "/summaries")["items"] == []
    refused = sent(api, "/workers/1/freeze", {"reason": "x"}, 403)
    assert "only the first tenant" in refused["detail"]
    assert engine.one("select count(*) from worker_stop") == 0
