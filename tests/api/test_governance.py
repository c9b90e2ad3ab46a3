"""What is wrong is counted by category, listed, and followed to the events of its trace."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from stepwell.api.pages import cursor
from tests.api.routes import operations
from tests.sql.drive import Engine, human, operation
from tests.support.clock import Clock

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    made.person("ada")
    made.publish("w", operation("a"))
    made.publish("desk", human("sign", deadline=600))
    return made


def got(api: httpx.Client, path: str, **params: Any) -> Any:
    answer = api.get(f"/api/v1{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def counted(api: httpx.Client, engine: Engine) -> dict[str, int]:
    """After the keeper has looked."""
    engine.one("select fn_problems_watch()")
    return {one["category_code"]: one["subject_count"] for one in got(api, "/governance")}


def listed(api: httpx.Client, category: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = got(api, f"/governance/categories/{category}")["items"]
    return found


def started(api: httpx.Client, workflow: str, **more: str) -> int:
    wish = {"workflow": workflow, "input": {}, **more}
    answer = api.post("/api/v1/runs", json=wish, headers=PARENT)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["run_id"])


@pytest.mark.requirement("GV-02")
def test_each_category_counts_what_its_list_shows(api: httpx.Client, engine: Engine, clock: Clock):
    assert set(counted(api, engine).values()) == {0}
    dead, late = started(api, "w", key="K-1"), started(api, "desk")
    session = engine.worker("orders:host-1", lease_seconds=60)
    engine.kill(session, *engine.claim(session))
    engine.one("select fn_event_reject_note(1, 'nobody.registered_it', %s, '{}')", (dead << 20,))
    engine.db.execute(
        "select _problem_open(1, 'set_aside', 'timers', 'x', %s, '22012', 'zero')", (late << 20,)
    )
    engine.db.execute(
        """insert into iu_lifecycle_log (tenant_id, iu_code, what, severity, detail, written_by, written_at)
           values (1, 'guide', 'split', 'warning', 'a part is missing', 'ada', stepwell.now())"""
    )
    engine.db.execute("insert into event_reader (tenant_id, reader_name) values (1, 'mail')")
    clock.advance(minutes=20)
    found = counted(api, engine)
    assert found == {
        "dead_letter": 1, "silent_worker": 1, "overdue_step": 1, "schema_violation": 1, "event_lag": 1,
        "integrity_warning": 1, "set_aside": 1, "failed_cut": 0, "orphan_workflow": 0, "event_route": 0,
    }  # fmt: skip
    for category, count in found.items():
        assert len(listed(api, category)) == count, category
    (letter,) = listed(api, "dead_letter")
    assert (letter["run_id"], letter["subject"], letter["trace_id"]) == (str(dead), "a", TRACE)
    (step,) = listed(api, "overdue_step")
    assert (step["run_id"], step["subject"], step["reason"]) == (str(late), "sign", "ready")
    assert (step["workflow"], step["trigger_ref"]) == ("desk", None)
    assert (letter["workflow"], letter["trigger_ref"]) == ("w", "K-1")
    assert listed(api, "silent_worker")[0]["subject"] == "orders:host-1"
    (letters,) = got(api, "/governance/dead-letters")
    assert (letters["open_count"], letters["window_count"]) == (1, 1)


@pytest.mark.requirement("GV-02")
def test_what_was_settled_is_counted_no_more(api: httpx.Client, engine: Engine, clock: Clock):
    late = started(api, "desk")
    clock.advance(minutes=20)
    assert counted(api, engine)["overdue_step"] == 1
    engine.timers()
    assert counted(api, engine)["overdue_step"] == 1
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (engine.unit(late, "sign"),))
    engine.db.execute("select fn_step_complete(1, %s, 'ada', '{}')", (engine.unit(late, "sign"),))
    assert counted(api, engine)["overdue_step"] == 0


def test_a_list_is_read_page_by_page(api: httpx.Client, engine: Engine, clock: Clock):
    runs = [started(api, "desk") for _ in range(5)]
    clock.advance(minutes=20)
    engine.one("select fn_problems_watch()")
    seen: list[str] = []
    more: dict[str, Any] = {}
    while True:
        page = got(api, "/governance/categories/overdue_step", limit=2, **more)
        seen += [one["run_id"] for one in page["items"]]
        if page["next"] is None:
            break
        more = {"cursor": page["next"]}
    assert sorted(seen, key=int) == [str(run) for run in runs]
    odd = [["governance", text, "1"] for text in ("x", "2026-01-01T00:00:00", "0001-01-01T00:00:00+23:59")]
    for key in odd:
        answer = api.get(
            "/api/v1/governance/categories/overdue_step", params={"cursor": cursor(str(key[0]), key[1:])}
        )
        assert (answer.status_code, answer.json()["field"]) == (422, "query.cursor"), answer.text
    answer = api.get("/api/v1/governance/categories/odd")
    assert (answer.status_code, "overdue_step" in answer.json()["hint"]) == (404, True), answer.text


def test_another_tenant_sees_nothing_of_it(api: httpx.Client, engine: Engine, db: psycopg.Connection):
    run_id = started(api, "w")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    db.execute("select fn_tenant_set('other')")
    tenant_id = engine.one("select tenant_id from tenant where tenant_code = 'other'")
    db.execute("select fn_principal_set(%s, 'service', 'spy', '{admin}')", (tenant_id,))
    other = engine.one("select token from fn_token_create(%s, 'spy', 'test', 3600)", (tenant_id,))
    api.headers["Authorization"] = f"Bearer {other}"
    assert counted(api, engine)["dead_letter"] == 0
    assert listed(api, "dead_letter") == []
    assert got(api, "/events", trace=TRACE)["items"] == []
    assert got(api, "/events", run=run_id)["items"] == []


@pytest.mark.requirement("GV-09")
def test_a_trace_has_the_events_of_its_runs_and_jobs_and_no_others(api: httpx.Client, engine: Engine):
    run_id = started(api, "w")
    job = api.post("/api/v1/jobs", json={"operation": "a", "payload": {}}, headers=PARENT).json()["job_id"]
    other = engine.start("w")
    approval_id = engine.one("select fn_approval_request(1, 'stop', %s, 'ada')", (run_id << 20,))
    engine.drain(engine.worker())
    found: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    while True:
        page = got(api, "/events", trace=TRACE, limit=3, **more)
        found += page["items"]
        if page["next"] is None:
            break
        more = {"cursor": page["next"]}
    numbers = [int(one["event_id"]) for one in found]
    assert numbers == sorted(set(numbers), reverse=True)
    streams = [run_id, int(job) >> 20, approval_id >> 20]
    wanted = engine.db.execute("select event_id from event_log where run_id = any (%s)", (streams,))
    assert set(numbers) == {event_id for (event_id,) in wanted}
    assert str(other) not in {one["run_id"] for one in found}
    step = next(one for one in found if one["event_type"] == "step.completed")
    assert (step["workflow"], step["step_id"], step["trace_id"]) == ("w", "a", TRACE)
    completed = got(api, "/events", trace=TRACE, type="step.completed")["items"]
    assert [one["event_id"] for one in completed] == [step["event_id"]]


@pytest.mark.requirement("GV-09")
def test_the_log_is_never_read_without_a_filter(api: httpx.Client):
    unfiltered: list[dict[str, Any]] = [
        {}, {"limit": 1}, {"type": "step.completed"}, {"type": ["approval.granted", "step.ready"]},
        {"from_at": "2026-01-01T00:00Z"},
    ]  # fmt: skip
    for asked in unfiltered:
        answer = api.get("/api/v1/events", params=asked)
        problem = answer.json()
        assert (answer.status_code, problem["field"]) == (422, "trace"), answer.text
        assert "trace=" in problem["hint"]
    for trace in ("x", TRACE.upper(), "0" * 31, "' or 1=1"):
        assert api.get("/api/v1/events", params={"trace": trace}).status_code == 422


@pytest.mark.requirement("GV-09")
def test_nothing_else_reads_events_without_a_filter():
    """Whoever adds a route that shows events says here by what it is filtered."""
    words = ("event", "stream", "audit", "log")
    assert {one.name for one in operations() if any(word in one.path for word in words)} == {
        "GET /api/v1/events",  # the test above
        "GET /api/v1/event-routes",  # routes, which are not events
        "PUT /api/v1/event-routes/{name}",
        "DELETE /api/v1/event-routes/{name}",
        "GET /api/v1/runs/{run_id}/events",  # by run
        "GET /api/v1/summaries/{summary_id}/events",  # those that a sentence was made from, 100 at most
        "GET /api/v1/stream",  # by topics, of which none is the log
    }
