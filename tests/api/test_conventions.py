"""What all calls share: tags, positions, traces, compression, limits, and text that cannot be stored."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
import pytest

from stepwell.api.app import create_app
from stepwell.config import Settings
from stepwell.store.calls import positions
from stepwell.store.connection import pool
from tests.api.serving import serving
from tests.sql.drive import Engine, human, operation
from tests.support.roles import as_process, bound_token
from tests.support.wait import until

PROBLEM = "urn:stepwell:problem:"


@pytest.fixture
def approval(db: psycopg.Connection) -> int:
    engine = Engine(db)
    engine.publish("w", human("sign", role="office"))
    db.execute("select fn_person_set(1, 'ada', array['office'])")
    found: int = engine.one("select fn_approval_request(1, 'stop', %s, 'ada')", (engine.start("w") << 20,))
    return found


def decide(api: httpx.Client, approval: int, **headers: str) -> httpx.Response:
    shown = api.get(f"/api/v1/approvals/{approval}").json()["shown_digest"]
    body = {"decision": "reject", "reason": "no", "shown_digest": shown}
    return api.post(f"/api/v1/approvals/{approval}/decisions", json=body, headers=headers)


def test_who_has_an_answer_already_gets_no_body(api: httpx.Client, approval: int):
    path = f"/api/v1/approvals/{approval}"
    first = api.get(path)
    again = api.get(path, headers={"If-None-Match": f'"other", {first.headers["ETag"]}'})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    assert decide(api, approval).status_code == 403, "a service has no vote"
    assert api.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_write_tells_its_position_and_a_read_waits_for_it(
    http: httpx.Client, dsn: str, db: psycopg.Connection, approval: int
):
    http.headers["Authorization"] = f"Bearer {bound_token(dsn, 'ben', 'person', 'office')}"
    position = decide(http, approval).headers["Stepwell-Position"]
    path = f"/api/v1/approvals/{approval}"
    assert http.get(path, params={"min_position": position}).json()["state_code"] == "rejected"
    wrong = http.get(path, params={"min_position": "soon"})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "query.min_position")
    with psycopg.connect(dsn) as writer:
        (open_position,) = writer.execute("select pg_current_xact_id()::text").fetchone()  # type: ignore[misc]
        answers: list[httpx.Response] = []
        reader = threading.Thread(
            target=lambda: answers.append(http.get(path, params={"min_position": open_position}))
        )
        reader.start()
        until(
            lambda: db.execute(
                "select 1 from pg_stat_activity where query like '%pg_visible_in_snapshot%'"
                " and application_name = 'stepwell api' and datname = current_database()"
            ).fetchone()
        )
        assert answers == [], "the read did not wait"
        writer.commit()
        reader.join()
    assert answers[0].status_code == 200


def test_a_finished_write_is_read_while_an_older_transaction_is_open(
    http: httpx.Client, dsn: str, approval: int
):
    http.headers["Authorization"] = f"Bearer {bound_token(dsn, 'ben', 'person', 'office')}"
    with psycopg.connect(dsn) as idle:
        (older,) = idle.execute("select pg_current_xact_id()::text").fetchone()  # type: ignore[misc]
        idle.execute("insert into stepwell.event_reader (tenant_id, reader_name) values (1, 'idle')")
        position = decide(http, approval).headers["Stepwell-Position"]
        assert int(position) > int(older)
        answer = http.get(f"/api/v1/approvals/{approval}", params={"min_position": position})
        assert (answer.status_code, answer.json()["state_code"]) == (200, "rejected"), answer.text
        assert idle.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS


def test_a_position_that_is_not_reached_in_time_is_a_problem(
    api: httpx.Client, dsn: str, approval: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(positions, "REACH_LIMIT_SECONDS", 0.001)
    with psycopg.connect(dsn) as writer:
        (open_position,) = writer.execute("select pg_current_xact_id()::text").fetchone()  # type: ignore[misc]
        path = f"/api/v1/approvals/{approval}"
        late = api.get(path, params={"min_position": open_position})
        assert (late.status_code, late.json()["type"]) == (409, f"{PROBLEM}position-not-reached"), late.text
        assert late.json()["field"] == "query.min_position"
        writer.rollback()
        # The number of a transaction that was rolled back is past, too: nobody waits for it.
        assert api.get(path, params={"min_position": open_position}).status_code == 200


def test_a_near_name_is_proposed(api: httpx.Client):
    answer = api.post("/api/v1/runs", json={"workflow": "w", "inputs": {}})
    assert answer.json()["field"] == "body.inputs"
    assert 'did you mean "input"?' in answer.json()["detail"]
    answer = api.get("/api/v1/runs", params={"stat": "failed"})
    assert 'did you mean "state"?' in answer.json()["detail"]


def test_a_trace_goes_in_and_out(http: httpx.Client):
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    version, trace, span, flags = (
        http.get("/healthz", headers={"traceparent": given}).headers["traceparent"].split("-")
    )
    assert (version, trace, flags) == ("00", "0af7651916cd43dd8448eb211c80319c", "01")
    assert span != "b7ad6b7169203331"
    for wrong in ("", "00-x", f"00-{'0' * 32}-b7ad6b7169203331-01"):
        made = http.get("/healthz", headers={"traceparent": wrong}).headers["traceparent"]
        assert len(made) == 55
        assert made[3:35] != "0" * 32


def test_long_answers_are_compressed(api: httpx.Client):
    answer = api.get("/api/v1/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.json()["openapi"]


@pytest.mark.parametrize(
    "path", ["/runs/%00/then?at=1", "/runs/1/then?at=%00", "/runs/1/then?at=%ff", "/%ff"]
)
def test_an_address_that_cannot_be_stored_is_refused(api: httpx.Client, path: str):
    answer = api.get(f"/api/v1{path}")
    assert (answer.status_code, answer.json()["type"]) == (422, f"{PROBLEM}invalid-input")


@pytest.mark.parametrize(
    "reason", [rb'"a\u0000b"', rb'"\ud800"', rb'"\udc00\ud800"', b'"\x00"', b"NaN", b"-Infinity", b'"\xff"']
)
def test_a_body_that_cannot_be_stored_is_refused(api: httpx.Client, approval: int, reason: bytes):
    body = b'{"decision": "reject", "shown_digest": "%s", "reason": %s}' % (b"0" * 64, reason)
    answer = api.post(
        f"/api/v1/approvals/{approval}/decisions", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 50_000, b"1" * 10_000, b"{", b"", b"null"])
def test_a_body_that_no_parser_reads_is_refused(api: httpx.Client, approval: int, body: bytes):
    answer = api.post(
        f"/api/v1/approvals/{approval}/decisions", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 422), answer.text


def test_odd_letters_that_can_be_stored_are_accepted(http: httpx.Client, dsn: str, approval: int):
    http.headers["Authorization"] = f"Bearer {bound_token(dsn, 'ben', 'person', 'office')}"
    shown = http.get(f"/api/v1/approvals/{approval}").json()["shown_digest"]
    said = "không 🤷 \U0010ffff \ufffe e\u0301"
    body = {"decision": "reject", "reason": said, "shown_digest": shown}
    answer = http.post(f"/api/v1/approvals/{approval}/decisions", json=body).json()
    # What nobody can see is shown as its code.
    assert answer["votes"][0]["reason"] == "không 🤷 \\u10FFFF \\uFFFE e\u0301"


def test_a_caller_that_comes_too_often_waits(dsn: str, tmp_path: Path):
    address = as_process(dsn, "api")
    settings = Settings(database_url=address, data_dir=tmp_path, api_requests_per_second=1)
    tokens = [bound_token(dsn, name) for name in ("busy", "calm")]
    with serving(create_app(settings, address)) as client:
        busy, calm = ({"Authorization": f"Bearer {token}"} for token in tokens)
        answers = [client.get("/api/v1/approvals", headers=busy) for _ in range(8)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert refused[0].json()["type"] == f"{PROBLEM}too-many-requests"
        assert int(refused[0].headers["Retry-After"]) >= 1
        assert client.get("/api/v1/approvals", headers=calm).status_code == 200, "another caller waits too"


def test_a_refusal_is_told_in_the_language_of_the_caller(
    http: httpx.Client, dsn: str, db: psycopg.Connection
):
    engine = Engine(db)
    engine.publish("w", operation("a"))
    http.headers["Authorization"] = f"Bearer {bound_token(dsn)}"
    path = f"/api/v1/units/{engine.unit(engine.start('w'), 'a')}/why-not-running"
    assert http.get(path).json()["sentence_vi"]


def at_once(base: httpx.URL, token: str, count: int, path: str = "/api/v1/approvals") -> list[int]:
    """The status of each of `count` requests that are made at the same time."""

    async def ask() -> list[int]:
        limits = httpx.Limits(max_connections=count)
        bearer = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=base, headers=bearer, limits=limits, timeout=100) as client:
            answers = await asyncio.gather(*(client.get(path) for _ in range(count)))
        return [answer.status_code for answer in answers]

    return asyncio.run(ask())


@pytest.fixture
def small(dsn: str, tmp_path: Path):
    """A server with ten connections."""
    address = as_process(dsn, "api")
    with serving(create_app(Settings(database_url=address, data_dir=tmp_path), address)) as client:
        yield client


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> httpx.Client:
    """The small server, whose requests wait for a connection as long as a slow machine needs."""
    monkeypatch.setattr(pool, "SERVED_CHECKOUT_SECONDS", 100.0)
    made: httpx.Client = request.getfixturevalue("small")
    return made


def test_200_clients_share_10_connections(patient: httpx.Client, dsn: str, db: psycopg.Connection):
    db.execute("update dot_config set config_value = '60000' where config_key like 'limits.request_%'")
    assert at_once(patient.base_url, bound_token(dsn), 200) == [200] * 200
    (used,) = db.execute(
        "select count(*) from pg_stat_activity where application_name = 'stepwell api'"
        " and datname = current_database()"
    ).fetchone()  # type: ignore[misc]
    assert 1 <= used <= 10


def test_requests_that_wait_do_not_stop_the_probe(
    small: httpx.Client, dsn: str, db: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
):
    """All connections wait for a lock; the probe answers, and further requests are told to come again."""
    db.execute("update dot_config set config_value = '60000' where config_key like 'limits.request_%'")
    token = bound_token(dsn)
    bearer = {"Authorization": f"Bearer {token}"}
    assert small.get("/api/v1/approvals", headers=bearer).status_code == 200
    found: list[int] = []
    with psycopg.connect(dsn) as blocker:
        blocker.execute("lock table stepwell.approval_detail in access exclusive mode")
        waiting = threading.Thread(target=lambda: found.extend(at_once(small.base_url, token, 10)))
        waiting.start()
        until(
            lambda: (
                db.execute(
                    "select count(*) = 10 from pg_stat_activity where wait_event_type = 'Lock'"
                    " and application_name = 'stepwell api' and datname = current_database()"
                ).fetchone()
                == (True,)
            )
        )
        assert small.get("/healthz").json() == {"status": "ok"}
        busy = small.get("/api/v1/approvals", headers=bearer)
        assert (busy.status_code, busy.json()["type"]) == (503, f"{PROBLEM}server-busy")
        assert busy.headers["Retry-After"]
        blocker.rollback()
        waiting.join()
    assert found == [200] * 10


def test_a_statement_that_takes_too_long_is_a_problem(small: httpx.Client, dsn: str, db: psycopg.Connection):
    db.execute("update dot_config set config_value = '50' where config_key = 'limits.request_milliseconds'")
    bearer = {"Authorization": f"Bearer {bound_token(dsn)}"}
    with psycopg.connect(dsn) as blocker:
        blocker.execute("lock table stepwell.approval_detail in access exclusive mode")
        late = small.get("/api/v1/approvals", headers=bearer)
    assert (late.status_code, late.json()["type"]) == (503, f"{PROBLEM}database-busy")
    assert "statement" not in late.text


def test_the_same_request_twice_at_once_is_done_once(
    small: httpx.Client, dsn: str, db: psycopg.Connection, approval: int
):
    bearer = {"Authorization": f"Bearer {bound_token(dsn, 'ben', 'person', 'office')}"}
    shown = small.get(f"/api/v1/approvals/{approval}", headers=bearer).json()["shown_digest"]
    body = {"decision": "reject", "reason": "no", "shown_digest": shown}
    answers: list[httpx.Response] = []

    def send() -> None:
        answers.append(
            small.post(
                f"/api/v1/approvals/{approval}/decisions",
                json=body,
                headers={**bearer, "Idempotency-Key": "once"},
            )
        )

    senders = [threading.Thread(target=send) for _ in range(6)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert [answer.status_code for answer in answers] == [200] * 6
    assert len({answer.text for answer in answers}) == 1
    assert sorted("Idempotency-Replayed" in answer.headers for answer in answers) == [False, *[True] * 5]
    assert db.execute("select count(*) from approval_vote").fetchone() == (1,)


def test_the_server_goes_on_after_the_database_cut_its_connections(
    small: httpx.Client, dsn: str, db: psycopg.Connection
):
    bearer = {"Authorization": f"Bearer {bound_token(dsn)}"}
    assert at_once(small.base_url, bearer["Authorization"].split()[1], 40) == [200] * 40
    db.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'stepwell api'"
        " and datname = current_database()"
    )
    assert small.get("/api/v1/approvals", headers=bearer).status_code == 200


@pytest.mark.parametrize("header", ["Bearer", "Basic eDp5", "Bearer a b", f"Bearer {'x' * 300}"])
def test_a_header_that_is_no_token_is_refused(http: httpx.Client, header: str, token: Callable[..., str]):
    assert http.get("/api/v1/approvals", headers={"Authorization": header}).status_code == 401
