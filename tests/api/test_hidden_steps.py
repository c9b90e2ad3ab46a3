"""Steps and bodies that are not for everybody, over HTTP: no answer and no stream shows them to others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import psycopg
import pytest

from tests.api.test_stream import Message, streaming
from tests.sql.drive import Engine, human, operation

MARK = "quarry7"


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    db.execute("select fn_person_set(1, 'ada', array['office'])")
    db.execute("select fn_content_write(1, 'guide', 'Look at it', 'ada')")
    made.publish(
        "order",
        operation("fetch"),
        operation(f"{MARK}-check", title=f"{MARK} title", operation="check"),
        human("sign", role="office", content="guide"),
        operation("send"),
    )
    return made


@pytest.fixture
def clerk(http: httpx.Client, token: Callable[..., str]) -> httpx.Client:
    text = token("clerk", "person", "operator")
    return httpx.Client(base_url=http.base_url, headers={"Authorization": f"Bearer {text}"}, timeout=60)


def hide(api: httpx.Client) -> None:
    answer = api.put(f"/api/v1/workflows/order/steps/{MARK}-check/roles", json={"roles": ["finance"]})
    assert answer.json() == {"kind": "step", "name": "order", "step": f"{MARK}-check", "roles": ["finance"]}


def test_no_answer_shows_a_hidden_step(api: httpx.Client, clerk: httpx.Client, engine: Engine):
    run_id = engine.start("order", {}, "A-1")
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    pages = [
        f"/runs/{run_id}", f"/runs/{run_id}/snapshot", f"/runs/{run_id}/steps", f"/runs/{run_id}/events",
        f"/runs/{run_id}/timeline", f"/runs/{run_id}/density", "/runs", "/workflows/order/versions/1",
        "/workflows/order/versions/1/layout", "/workflows/order/versions", "/inbox", "/jobs",
        f"/search?text={MARK}",
    ]  # fmt: skip
    told = [page for page in pages if MARK in clerk.get(f"/api/v1{page}").text]
    assert len(told) > 4, told
    hide(api)
    for page in pages:
        answer = clerk.get(f"/api/v1{page}")
        assert answer.status_code == 200, (page, answer.text)
        assert MARK not in answer.text, page
        assert (MARK in api.get(f"/api/v1{page}").text) == (page in told), page
    # It is as if it did not exist; its neighbours are drawn with a line between them.
    assert clerk.get(f"/api/v1/runs/{run_id}/steps/2").status_code == 404
    assert clerk.get(f"/api/v1/runs/{run_id}/steps/3").status_code == 200
    drawn = clerk.get("/api/v1/workflows/order/versions/1/layout").json()
    named = clerk.get(f"/api/v1/runs/{run_id}/snapshot").json()
    assert drawn["steps"]["no"] == [1, 3, 4] == named["steps"]["def"]
    assert [line[:2] for line in drawn["scopes"][0]["lines"]] == [[1, 3], [3, 4]]
    assert drawn["hash"] == named["layout_hash"]
    whole = api.get("/api/v1/workflows/order/versions/1/layout").json()
    assert whole["hash"] != drawn["hash"]
    assert clerk.get(f"/api/v1/layouts/{whole['hash']}").status_code == 404
    assert named["why"]["code"] == "hidden"
    assert api.get(f"/api/v1/runs/{run_id}/snapshot").json()["why"]["code"] != "hidden"


def test_no_stream_shows_a_hidden_step(api: httpx.Client, clerk: httpx.Client, engine: Engine):
    run_id = engine.start("order")
    session = engine.worker()
    hide(api)
    with streaming(clerk, f"run:{run_id}") as hears, streaming(api, f"run:{run_id}") as hears_all:
        assert next(hears)[0] == next(hears_all)[0] == "open"
        for _ in range(2):
            engine.complete(session, *engine.claim(session))
        engine.db.execute("select fn_step_claim(1, %s, 'ada')", (engine.unit(run_id, "sign"),))

        def numbers(found: Iterator[Message]) -> set[int]:
            """The steps that the stream tells of until the one after the hidden step is claimed."""
            told: set[int] = set()
            for event, _, data in found:
                if event == "changes":
                    told |= {number & 0xFFFFF for row in data["events"] for number in [row[3]]}
                    told |= set(data["runs"][str(run_id)]["steps"]["no"])
                    if any(row[6] == "in_progress" and row[3] & 0xFFFFF == 3 for row in data["events"]):
                        return told
            raise AssertionError("the stream ended")

        assert 2 in numbers(hears_all)
        assert 2 not in numbers(hears)


def test_bodies_of_contents_are_read_by_their_roles(api: httpx.Client, clerk: httpx.Client, engine: Engine):
    run_id = engine.start("order")
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    engine.complete(session, *engine.claim(session))
    answer = api.put("/api/v1/content/guide/roles", json={"roles": ["office"]})
    assert answer.json() == {"kind": "content", "name": "guide", "step": None, "roles": ["office"]}
    assert api.get("/api/v1/permissions").json() == [answer.json()]
    shown = f"/api/v1/runs/{run_id}/steps/3?include=content"
    assert clerk.get(shown).json()["content"][0]["body"] is None
    assert api.get(shown).json()["content"][0]["body"] == "Look at it"
    assert clerk.get("/api/v1/content/guide").status_code == 404


def test_only_who_changes_rights_sets_them(clerk: httpx.Client, engine: Engine):
    for call in (
        clerk.put("/api/v1/workflows/order/steps/fetch/roles", json={"roles": []}),
        clerk.put("/api/v1/content/guide/roles", json={"roles": []}),
        clerk.get("/api/v1/permissions"),
    ):
        assert call.status_code == 403, call.text
