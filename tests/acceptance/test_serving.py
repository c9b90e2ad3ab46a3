"""`stepwell serve` in processes of its own: several behind one address, replaced in turn, https."""

from __future__ import annotations

import asyncio
import signal
import ssl
import subprocess
import threading
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from bench.following import Messages, Stream, open_streams
from tests.acceptance.running import Running, up
from tests.sql.drive import Engine, operation
from tests.support.roles import as_process, bound_token
from tests.support.wait import until

PROCESSES = 2


@pytest.fixture
def environment(dsn: str) -> dict[str, str]:
    return {"STEPWELL_DATABASE_URL": as_process(dsn, "api")}


def servers(running: Running) -> set[int]:
    """The numbers of the processes that serve."""
    return {child.pid for child in psutil.Process(running.process.pid).children()}


def port_of(running: Running) -> int:
    return int(running.wait_for(r"Serving at https?://127.0.0.1:(\d+)")[1])


def run_with_steps(db: psycopg.Connection, count: int) -> tuple[Engine, int, str]:
    engine = Engine(db)
    engine.publish("w", *(operation(f"s{number}") for number in range(count)))
    run_id = engine.start("w")
    position = engine.one("select fn_workflow_run_snapshot(1, %s) ->> 'position'", (run_id,))
    return engine, run_id, position


def events_after(db: psycopg.Connection, run_id: int, position: str) -> list[int]:
    row = db.execute(
        "select array_agg(event_id order by event_id) from event_log where run_id = %s"
        " and not pg_visible_in_snapshot(tx, %s::pg_snapshot)",
        (run_id, position),
    ).fetchone()
    assert row is not None
    found: list[int] = row[0]
    return found


def test_several_processes_behind_one_address_show_the_same(
    environment: dict[str, str], dsn: str, db: psycopg.Connection
):
    """Streams of every process are complete; a write of one process is read by all with its position."""
    engine, run_id, position = run_with_steps(db, 30)
    headers = {"Authorization": f"Bearer {bound_token(dsn)}"}
    path = f"/api/v1/stream?topics=run:{run_id}&after={position}"
    arguments = ("--port", "0", "--processes", str(PROCESSES))
    with up(*arguments, command="serve", environment=environment) as running:
        url = f"http://127.0.0.1:{port_of(running)}"
        running.wait_for("2 server processes")
        assert len(servers(running)) == PROCESSES

        async def follow() -> list[Stream]:
            streams = await open_streams(port_of(running), path, [headers["Authorization"][7:]], 20)
            session = engine.worker()
            working = threading.Thread(target=engine.drain, args=(session,))
            working.start()
            await asyncio.gather(*(stream.ended for stream in streams))
            working.join()
            return streams

        streams = asyncio.run(follow())
        whole = tuple(events_after(db, run_id, position))
        assert {stream.events for stream in streams} == {whole}
        # Each request has a connection of its own, so that any of the processes answers it.
        for number in range(20):
            made = httpx.put(
                f"{url}/api/v1/runs/{run_id}/labels", json={"set": {"n": str(number)}}, headers=headers
            )
            reached = {"min_position": made.headers["Stepwell-Position"]}
            shown = httpx.get(f"{url}/api/v1/runs/{run_id}", params=reached, headers=headers).json()
            assert shown["labels"] == {"n": str(number)}
        # One process may accept all connections that come at once; no process may never accept one.
        answered: set[int] = set()

        def have_all_answered() -> bool:
            answered.update(_answering(url, headers))
            return answered == servers(running)

        until(have_all_answered)


def _answering(url: str, headers: dict[str, str]) -> set[int]:
    """The processes that have open connections of the test: each accepts some of many."""

    async def many() -> set[int]:
        limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:
            await asyncio.gather(*(client.get(f"{url}/api/v1/runs", headers=headers) for _ in range(200)))
            port = httpx.URL(url).port
            return {
                one.pid
                for one in psutil.net_connections("tcp")
                if one.status == psutil.CONN_ESTABLISHED and one.laddr.port == port and one.pid
            }

    return asyncio.run(many())


def _ask(url: str, headers: dict[str, str], done: threading.Event, wrong: list[str]) -> None:
    """One request after the other, each on a connection of its own. Refused is never accepted."""
    while not done.is_set():
        try:
            answer = httpx.get(url, headers=headers, timeout=60)
            if answer.status_code != 200:
                wrong.append(answer.text)
        except httpx.RemoteProtocolError:
            # The connection was accepted, and closed before its request was read: it is sent again.
            continue
        except httpx.TransportError as error:
            wrong.append(repr(error))


def test_sighup_replaces_every_process_and_no_request_and_no_event_is_lost(
    environment: dict[str, str], dsn: str, db: psycopg.Connection
):
    engine, run_id, position = run_with_steps(db, 40)
    token = bound_token(dsn)
    headers = {"Authorization": f"Bearer {token}"}
    session = engine.worker()
    with up(
        "--port", "0", "--processes", str(PROCESSES), command="serve", environment=environment
    ) as running:
        port = port_of(running)
        running.wait_for("2 server processes")
        before = servers(running)
        url = f"http://127.0.0.1:{port}"
        wrong: list[str] = []
        done = threading.Event()

        async def follow() -> tuple[tuple[int, ...], list[str]]:
            """Connects again after each end, as a browser does, with the last id that it got."""
            seen: list[int] = []
            ends: list[str] = []
            after, messages = position, Messages()
            replaced = asyncio.create_task(asyncio.to_thread(_replace_and_work))
            while True:
                loop = asyncio.get_running_loop()
                path = f"/api/v1/stream?topics=run:{run_id}&after={after}"
                _, stream = await loop.create_connection(
                    lambda path=path: Stream(messages, path, token), "127.0.0.1", port
                )
                await stream.ended
                seen += stream.events
                for message in stream.got:
                    after = message.data["position"]
                    ends += [message.data["reason"]] if message.event == "end" else []
                if stream.got and stream.got[-1].is_last:
                    await replaced
                    return tuple(seen), ends

        def _replace_and_work() -> None:
            for _ in range(2):
                leases = engine.claim(session)
                engine.complete(session, *leases)
                known = len(running.lines)
                running.signal(signal.SIGHUP)
                running.wait_for("All server processes are new", after=known)
            engine.drain(session)

        asked = f"{url}/api/v1/runs/{run_id}"
        asking = threading.Thread(target=_ask, args=(asked, headers, done, wrong))
        asking.start()
        try:
            seen, ends = asyncio.run(follow())
        finally:
            done.set()
            asking.join()
        assert wrong == []
        assert seen == tuple(events_after(db, run_id, position))
        assert set(ends) <= {"server_stops"}
        assert servers(running).isdisjoint(before)
        assert len(servers(running)) == PROCESSES


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run(
        [
            *command,
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            str(key),
            "-out",
            str(chain),
        ],
        check=True,
        capture_output=True,
    )
    return chain, key


@pytest.mark.parametrize("processes", [1, PROCESSES])
def test_https_with_a_certificate(
    environment: dict[str, str], db: psycopg.Connection, certificate: tuple[Path, Path], processes: int
):
    """The cookie of a session is sent over https only, and plain http is no answer."""
    chain, key = certificate
    db.execute("select fn_person_set(1, 'ada', array['admin'])")
    row = db.execute("select link from fn_link_create(1, 'ada')").fetchone()
    more = ("--certificate", str(chain), "--certificate-key", str(key), "--processes", str(processes))
    with up("--port", "0", *more, command="serve", environment=environment) as running:
        url = f"https://127.0.0.1:{port_of(running)}"
        trusted = ssl.create_default_context(cafile=str(chain))
        with httpx.Client(base_url=url, verify=trusted, timeout=60) as client:
            assert client.get("/healthz").json() == {"status": "ok"}
            assert row is not None
            entered = client.post(
                "/api/v1/session/link", json={"link": row[0], "password": "seven green bottles"}
            )
            assert entered.status_code == 200, entered.text
            cookie = entered.headers["Set-Cookie"].lower()
            assert all(word in cookie for word in ("secure", "httponly", "samesite=lax"))
            assert client.get("/api/v1/session").json()["name"] == "ada"
        with pytest.raises(httpx.TransportError):
            httpx.get(url.replace("https", "http") + "/healthz", timeout=60)


def test_a_certificate_without_its_key_is_refused(certificate: tuple[Path, Path]):
    running = Running("--certificate", str(certificate[0]), command="serve")
    assert running.wait_end() == 2
    assert "--certificate-key" in running.output
