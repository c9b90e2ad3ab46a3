"""What the console asks beside its lists: counts, places, reach, differences, and other tenants."""

from __future__ import annotations

import httpx
import psycopg
import pytest

from stepwell.api.identity import COOKIE
from tests.sql.drive import Engine, human, operation, subworkflow
from tests.support.roles import bound_token


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    db.execute("select fn_person_set(1, 'ada', array['clerk'])")
    return made


def test_the_reach_of_an_act_counts_what_hangs_on_the_runs(api: httpx.Client, engine: Engine):
    engine.publish("child", human("look", role="clerk"))
    engine.publish("order", operation("fetch"), human("sign", role="clerk"), subworkflow("sub", "child"))
    first, second = engine.start("order"), engine.start("order")
    session = engine.worker()
    leases = engine.claim(session)
    engine.complete(session, leases[0], output={})
    signed = first if engine.states(first)["fetch"] == "completed" else second
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (engine.unit(signed, "sign"),))
    engine.db.execute(
        "select fn_approval_request(1, 'reopen', %s, 'ada', 'wrong')", (engine.unit(signed, "fetch"),)
    )

    asked = {"act": "cancel", "run": [first, second, 999_999]}
    before = engine.one("select count(*) from event_log")
    reach = api.get("/api/v1/runs/reach", params=asked).json()
    assert (reach["runs"], reach["missing"], reach["sub_runs"]) == (2, 1, 0)
    assert reach["open_steps"] == 5
    assert (reach["handlers"], reach["approvals"], reach["people"]) == (1, 1, ["ada"])
    assert reach["effects"] == {"reversible": 0, "final": 0, "newest_final": []}
    assert engine.one("select count(*) from event_log") == before, "a preview writes nothing"

    engine.db.execute("select fn_step_complete(1, %s, 'ada', '{}')", (engine.unit(signed, "sign"),))
    below = api.get("/api/v1/runs/reach", params={"act": "pause", "run": [signed]}).json()
    assert (below["runs"], below["sub_runs"], below["open_steps"]) == (1, 1, 2)
    assert api.get("/api/v1/runs/reach", params={"act": "burn", "run": [1]}).status_code == 422
    assert api.get("/api/v1/runs/reach", params={"act": "pause"}).status_code == 422


def test_places_lead_to_any_page_of_a_list(api: httpx.Client, engine: Engine):
    engine.publish("order", human("sign", role="clerk"))
    engine.publish("other", human("sign", role="clerk"))
    runs = [engine.start("order" if at % 3 else "other") for at in range(60)]
    for only, wanted in (({}, runs), ({"workflow": "order"}, [r for at, r in enumerate(runs) if at % 3])):
        places = api.get("/api/v1/runs/places", params={"every": 10, **only}).json()
        assert (places["count"], places["is_at_least"]) == (len(wanted), False)
        assert len(places["cursors"]) == len(wanted) // 10
        third = api.get("/api/v1/runs", params={**only, "limit": 10, "cursor": places["cursors"][1]}).json()
        newest_first = list(reversed(wanted))
        assert [int(run["run_id"]) for run in third["items"]] == newest_first[20:30]


def test_versions_are_compared_by_the_ids_of_their_steps(api: httpx.Client, engine: Engine):
    engine.publish("order", operation("fetch"), human("sign", role="clerk"), operation("send"))
    engine.publish(
        "order",
        operation("check"),
        operation("fetch"),
        human("sign", role="boss", title="Sign it"),
        title="Orders",
    )
    diff = api.get("/api/v1/workflows/order/versions/2/diff", params={"before": 1}).json()
    assert {(step["id"], step["change"]) for step in diff["steps"]} == {
        ("check", "added"),
        ("send", "removed"),
        ("sign", "changed"),
    }
    (sign,) = [step for step in diff["steps"] if step["id"] == "sign"]
    assert sign["fields"] == [
        {"field": "role", "before": "clerk", "after": "boss"},
        {"field": "title", "before": None, "after": "Sign it"},
    ]
    assert {(edge["from"], edge["to"], edge["change"]) for edge in diff["edges"]} == {
        ("check", "fetch", "added"),
        ("sign", "send", "removed"),
    }
    assert diff["fields"] == [{"field": "title", "before": None, "after": "Orders"}]
    same = api.get("/api/v1/workflows/order/versions/1/diff", params={"before": 1}).json()
    assert (same["steps"], same["edges"], same["fields"]) == ([], [], [])
    assert api.get("/api/v1/workflows/order/versions/9/diff", params={"before": 1}).status_code == 404


def test_where_a_workflow_runs_is_counted_by_step_and_state(api: httpx.Client, engine: Engine):
    engine.publish("order", human("sign", role="clerk"), operation("send"))
    for _ in range(3):
        run_id = engine.start("order")
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (engine.unit(run_id, "sign"),))
    running = api.get("/api/v1/workflows/order/versions/1/running").json()
    assert (running["open"], running["versions"]) == (3, [{"version_no": 1, "open": 3}])
    assert sum(running["colours"].values()) == 3
    assert {(one["no"], one["state"]): one["count"] for one in running["steps"]} == {
        (1, "ready"): 2,
        (1, "in_progress"): 1,
    }
    assert api.get("/api/v1/workflows/nothing/versions/1/running").status_code == 404


def test_counts_are_those_of_the_caller(http: httpx.Client, engine: Engine, dsn: str):
    engine.publish("order", human("sign", role="clerk"))
    run_id = engine.start("order")
    engine.db.execute(
        "select fn_approval_request(1, 'reopen', %s, 'ada', 'wrong')", (engine.unit(run_id, "sign"),)
    )

    def counts(name: str, *more: object) -> dict[str, int]:
        token = bound_token(dsn, name, *more)
        found = http.get("/api/v1/counts", headers={"Authorization": f"Bearer {token}"})
        return dict(found.json())

    assert counts("clara", "person", "clerk", "viewer") == {"approvals": 1, "inbox": 1, "problems": 0}
    assert counts("otto", "person", "viewer")["inbox"] == 0


def test_the_session_names_the_operations_that_the_caller_may_call(http: httpx.Client, dsn: str):
    def operations(role: str) -> set[str]:
        token = bound_token(dsn, f"who-{role}", "person", role)
        answer = http.get("/api/v1/session", headers={"Authorization": f"Bearer {token}"})
        return set(answer.json()["operations"])

    assert {"add_person", "cancel_run", "list_runs"} <= operations("admin")
    assert "add_person" not in operations("viewer")
    assert {"list_runs", "read_session"} <= operations("viewer")


def test_a_browser_keeps_one_session_for_each_tenant_and_goes_between_them(
    http: httpx.Client, db: psycopg.Connection
):
    db.execute("select fn_tenant_set('north')")
    tenant = db.execute("select fn_tenant_find('north')").fetchone()
    assert tenant is not None
    tokens = {}
    for tenant_id, name in ((1, "default"), (tenant[0], "north")):
        db.execute("select fn_person_set(%s, 'mai')", (tenant_id,))
        row = db.execute(
            "select token from _session_open(%s, (select principal_id from principal"
            " where tenant_id = %s and principal_name = 'mai'), '127.0.0.1', 'test')",
            (tenant_id, tenant_id),
        ).fetchone()
        assert row is not None
        tokens[name] = str(row[0])

    http.cookies.set(COOKIE, tokens["default"])
    assert http.get("/api/v1/session").json()["tenants"] == ["default"]
    http.cookies.set(COOKIE, tokens["north"])
    assert http.get("/api/v1/session").json()["tenants"] == ["default", "north"]
    assert http.put("/api/v1/session", json={"tenant": "default"}).status_code == 204
    assert http.get("/api/v1/session").json()["tenant"] == "default"
    # A name that a page invents leads nowhere, and another site switches nothing.
    assert http.put("/api/v1/session", json={"tenant": "south"}).status_code == 401
    elsewhere = {"Origin": "https://evil.example"}
    assert http.put("/api/v1/session", json={"tenant": "north"}, headers=elsewhere).status_code == 403
    # Whoever signs out of a tenant has no session there any more; the others stay.
    csrf = http.get("/api/v1/session").json()["csrf_token"]
    assert http.delete("/api/v1/session", headers={"X-CSRF-Token": csrf}).status_code == 204
    assert http.put("/api/v1/session", json={"tenant": "default"}).status_code == 401
    assert http.put("/api/v1/session", json={"tenant": "north"}).status_code == 204
    assert http.get("/api/v1/session").json()["tenants"] == ["north"]
