"""The stream over HTTP: every change once and in order, through open writers and lost lines."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import psycopg
import pytest

from bench.following import open_streams
from stepwell.api import stream_feed, stream_hub, stream_messages
from tests.sql.drive import Engine, human, operation

Message = tuple[str, str | None, Any]


@contextmanager
def streaming(api: httpx.Client, topics: str, **asked: Any) -> Iterator[Iterator[Message]]:
    headers = {"Last-Event-ID": asked.pop("last_id")} if "last_id" in asked else {}
    if "token" in asked:
        headers["Authorization"] = f"Bearer {asked.pop('token')}"
    with api.stream("GET", "/api/v1/stream", params={"topics": topics, **asked}, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield messages(answer.iter_lines())


def messages(lines: Iterator[str]) -> Iterator[Message]:
    event, last_id, data = "message", None, ""
    for line in lines:
        name, _, text = line.partition(": ")
        if name == "event":
            event = text
        elif name == "id":
            last_id = text
        elif name == "data":
            data += text
        elif not line and data:
            yield event, last_id, json.loads(data)
            event, last_id, data = "message", None, ""


def until_ended(found: Iterator[Message], run_id: int) -> tuple[list[int], str | None, Any]:
    """The numbers of the events until the run has ended, the last id, and the last columns of the run."""
    seen: list[int] = []
    for event, last_id, data in found:
        if event == "changes":
            seen += [row[0] for row in data["events"]]
            if any(row[2] == run_id and row[4] == "workflow.completed" for row in data["events"]):
                return seen, last_id, data["runs"].get(str(run_id))
    raise AssertionError("the stream ended before the run")


def logged(engine: Engine, run_id: int, after: int = 0) -> list[int]:
    return engine.one(
        "select coalesce(array_agg(event_id order by event_id), '{}') from event_log"
        " where run_id = %s and event_id > %s",
        (run_id, after),
    )


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    made.publish("line", *(operation(f"s{at}") for at in range(6)))
    return made


@pytest.mark.requirement("UI-09")
def test_a_snapshot_and_its_stream_have_every_event_once(api: httpx.Client, engine: Engine):
    run_id = engine.start("line")
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    snapshot = api.get(f"/api/v1/runs/{run_id}/snapshot").json()
    engine.complete(session, *engine.claim(session))
    with streaming(api, f"run:{run_id}", after=snapshot["position"]) as found:
        kind, _, opened = next(found)
        assert (kind, opened["topics"]) == ("open", [f"run:{run_id}"])
        engine.drain(session)
        seen, _, run = until_ended(found, run_id)
    assert seen == logged(engine, run_id, snapshot["last_event_id"])
    assert run["counts"]["completed"] == 6


def test_a_lost_line_continues_after_its_last_message(api: httpx.Client, engine: Engine):
    run_id = engine.start("line")
    session = engine.worker()
    snapshot = api.get(f"/api/v1/runs/{run_id}/snapshot").json()
    with streaming(api, f"run:{run_id}", after=snapshot["position"]) as found:
        next(found)
        engine.complete(session, *engine.claim(session))
        _, last_id, data = next(found)
        first = [row[0] for row in data["events"]]
    engine.drain(session)
    with streaming(api, f"run:{run_id}", last_id=last_id) as found:
        rest, _, _ = until_ended(found, run_id)
    assert first + rest == logged(engine, run_id, snapshot["last_event_id"])


def test_a_large_page_has_positions_inside_it(
    api: httpx.Client, engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream_messages, "MESSAGE_EVENTS", 4)
    run_id = engine.start("line")
    snapshot = api.get(f"/api/v1/runs/{run_id}/snapshot").json()
    engine.drain(engine.worker())
    whole = logged(engine, run_id, snapshot["last_event_id"])
    with streaming(api, f"run:{run_id}", after=snapshot["position"]) as found:
        next(found)
        _, middle, data = next(found)
        first = [row[0] for row in data["events"]]
        assert len(first) == 4
        assert first + until_ended(found, run_id)[0] == whole
    assert middle is not None
    assert ";" in middle
    with streaming(api, f"run:{run_id}", last_id=middle) as found:
        assert first + until_ended(found, run_id)[0] == whole


@pytest.mark.requirement("UI-09")
def test_an_idle_writer_delays_only_its_own_events(api: httpx.Client, engine: Engine, dsn: str):
    run_id = engine.start("line")
    session = engine.worker()
    leased = engine.claim(session)
    position = api.get(f"/api/v1/runs/{run_id}/snapshot").json()["position"]
    with psycopg.connect(dsn, options="-csearch_path=stepwell") as idle:
        idle.execute("select fn_run_label(1, %s, '{\"late\": \"yes\"}', 'idle')", ([run_id],))
        with streaming(api, f"run:{run_id}", after=position) as found:
            # One transaction, so that one message has all of it.
            engine.complete(session, *leased)
            types = [
                row[4]
                for event, _, data in [next(found), next(found)]
                if event == "changes"
                for row in data["events"]
            ]
            assert "workflow.labelled" not in types
            assert types
            idle.commit()
            _, _, late = next(found)
            assert [row[4] for row in late["events"]] == ["workflow.labelled"]
            engine.drain(session)
            seen, _, _ = until_ended(found, run_id)
            assert late["events"][0][0] not in seen


def test_topics_of_the_tenant_tell_what_changed(api: httpx.Client, engine: Engine):
    engine.person("ada")
    engine.publish("ask", human("sign"))
    with streaming(api, "inbox,approvals,problems,workers") as found:
        assert next(found)[0] == "open"
        seen: dict[str, Any] = {}
        run_id = engine.start("ask")
        engine.db.execute("select fn_approval_request(1, 'x', %s, 'ada', 'why')", (run_id << 20,))
        engine.worker()
        for event, _, data in found:
            if event == "workers" and data["open"] == 1:
                seen["workers"] = data
            for name, places in data.get("topics", {}).items() if event == "changes" else ():
                for at in places:
                    seen[name] = data["events"][at]
            if {"inbox", "approvals", "workers"} <= set(seen):
                break
    assert "problems" not in seen
    assert seen["approvals"][4] == "approval.requested"


def test_a_stream_ends_when_its_token_is_revoked(
    http: httpx.Client, engine: Engine, token: Callable[..., str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream_feed, "RIGHTS_SECONDS", 3600)
    http.headers["Authorization"] = f"Bearer {token('gone', 'service')}"
    with streaming(http, "problems") as found:
        assert next(found)[0] == "open"
        token_id = engine.one("select token_id from access_token order by token_id desc limit 1")
        engine.db.execute("select fn_token_revoke(1, %s)", (token_id,))
        event, _, data = next(found)
    assert (event, data["reason"]) == ("end", "not_allowed")


def narrow_newest_token(engine: Engine) -> None:
    """It may only read: no payloads."""
    newest = engine.one("select max(token_id) from access_token")
    engine.db.execute("update access_token set verbs = '{read}' where token_id = %s", (newest,))


def test_events_of_handlers_are_sent_only_to_who_may_read_payloads(
    api: httpx.Client, engine: Engine, token: Callable[..., str]
):
    """Whoever opened a stream first: nobody reads with the rights of another."""
    engine.db.execute("select fn_event_type_register(1, 'noted')")
    run_id = engine.start("line")
    session = engine.worker()
    topic, less = f"run:{run_id}", token("narrow", "service")
    narrow_newest_token(engine)
    with streaming(api, topic, token=less) as narrow, streaming(api, topic) as whole:
        assert [next(one)[0] for one in (narrow, whole)] == ["open", "open"]
        (lease,) = engine.claim(session)
        engine.db.execute(
            "select fn_event_emit(%s, 1, %s, %s, 'noted', '{}')", (session, lease.unit_id, lease.lease_no)
        )
        engine.complete(session, lease)
        engine.drain(session)
        seen = {name: until_ended(one, run_id)[0] for name, one in (("narrow", narrow), ("whole", whole))}
    emitted = engine.one("select event_id from event_log where event_type = 'event.emitted'")
    assert emitted in seen["whole"]
    assert seen["narrow"] == [event_id for event_id in seen["whole"] if event_id != emitted]


def test_a_stream_ends_when_its_owner_sees_less(
    http: httpx.Client, engine: Engine, token: Callable[..., str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream_feed, "RIGHTS_SECONDS", 0.1)
    http.headers["Authorization"] = f"Bearer {token('less', 'service')}"
    with streaming(http, "problems") as found:
        assert next(found)[0] == "open"
        narrow_newest_token(engine)
        event, _, data = next(found)
    assert (event, data["reason"]) == ("end", "rights_changed")


def test_who_is_too_far_behind_begins_again(api: httpx.Client, engine: Engine):
    run_id = engine.start("line")
    position = api.get(f"/api/v1/runs/{run_id}/snapshot").json()["position"]
    engine.db.execute("update dot_config set config_value = '2' where config_key = 'limits.events_behind'")
    engine.drain(engine.worker())
    with streaming(api, f"run:{run_id}", after=position) as found:
        assert next(found)[0] == "open"
        event, last_id, data = next(found)
    assert (event, data["reason"]) == ("reset", "too_far_behind")
    assert last_id == data["position"]


def test_a_position_that_nobody_has_reached_begins_again(api: httpx.Client, engine: Engine):
    """As after a restore: without it a page would wait for events that it has skipped."""
    run_id = engine.start("line")
    with streaming(api, f"run:{run_id}", after="1:9223372036854775807:") as found:
        assert next(found)[0] == "open"
        event, last_id, data = next(found)
        assert (event, data["reason"], last_id) == ("reset", "unknown_position", data["position"])
        engine.drain(engine.worker())
        assert next(found)[0] == "changes"


def test_silence_has_a_beat(api: httpx.Client, engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_hub, "BEAT_SECONDS", 0.01)
    with api.stream("GET", "/api/v1/stream", params={"topics": "problems"}) as answer:
        assert ": beat" in (line for line in answer.iter_lines())


@pytest.mark.parametrize(
    ("asked", "status", "field"),
    [
        ({"topics": "nothing"}, 422, "query.topics"),
        ({"topics": "run:0"}, 422, "query.topics"),
        ({"topics": ","}, 422, "query.topics"),
        ({"topics": "run:99"}, 404, "query.topics"),
        ({"topics": ",".join(f"run:{at}" for at in range(1, 20))}, 422, "query.topics"),
        ({"topics": "problems", "after": "5:x"}, 422, "query.after"),
        ({"topics": "problems", "after": "5:2:"}, 422, "query.after"),
        ({"topics": "problems", "after": "1:5:9,9"}, 422, "query.after"),
    ],
)
def test_what_is_wrong_is_named(api: httpx.Client, asked: dict[str, str], status: int, field: str):
    answer = api.get("/api/v1/stream", params=asked)
    assert (answer.status_code, answer.json()["field"]) == (status, field)


def test_a_caller_has_a_limit_of_streams(api: httpx.Client, engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_feed, "STREAMS_PER_CALLER", 1)
    with streaming(api, "problems") as found:
        next(found)
        assert api.get("/api/v1/stream", params={"topics": "problems"}).status_code == 429


def test_streams_that_are_opened_at_the_same_time_do_not_pass_the_limit(
    api: httpx.Client, engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream_feed, "STREAMS_PER_CALLER", 3)
    token = api.headers["Authorization"].removeprefix("Bearer ")

    async def opened() -> int:
        path = "/api/v1/stream?topics=problems"
        streams = await open_streams(api.base_url.port or 0, path, [token], 40)
        return sum(stream.got[:1] != [] and stream.got[0].event == "open" for stream in streams)

    assert asyncio.run(opened()) == 3


def test_many_streams_have_every_event_once_and_in_order(api: httpx.Client, engine: Engine):
    run_id = engine.start("line")
    position = api.get(f"/api/v1/runs/{run_id}/snapshot").json()["position"]
    found: list[list[int]] = []
    with ExitStack() as stack:
        threads = []
        for _ in range(30):
            stream = stack.enter_context(streaming(api, f"run:{run_id}", after=position))
            next(stream)
            threads.append(
                threading.Thread(target=lambda one=stream: found.append(until_ended(one, run_id)[0]))
            )
        for thread in threads:
            thread.start()
        engine.drain(engine.worker())
        for thread in threads:
            thread.join()
    whole = logged(engine, run_id)
    assert all(seen == whole[-len(seen) :] and len(seen) >= 12 for seen in found)
    assert len(found) == 30
