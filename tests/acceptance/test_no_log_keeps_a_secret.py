"""What real processes write to stderr: JSON in every line of a service, and nowhere a secret."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.acceptance.test_logs import running
from tests.sql.drive import Engine, operation
from tests.support.processes import stepwell
from tests.support.roles import api, bound_token, client_environment
from tests.support.wait import until, until_row

CANARY = "c4n4ryc4n4ry"
SAID = f"password={CANARY}"
APP = f"""
import logging
import threading
import warnings

import stepwell as sw

app = sw.App()


class Leaving:
    def __del__(self):
        raise RuntimeError("{SAID} at the end")


@app.operation(retry=sw.Retry(max_attempts=1))
def charge(ctx: sw.Context, card: str):
    # Each of them reaches stderr on a way of its own.
    warnings.warn("{SAID} in a warning")
    logging.getLogger("shop").warning("%d is no number", "{SAID}")
    thread = threading.Thread(target=lambda: int("{SAID} in a thread"))
    thread.start()
    thread.join()
    Leaving()
    raise ConnectionError("{SAID} in an error, " + card)


app.publish(sw.Workflow("pay", sw.Operation("charge", inputs={{"card": "$.input.card"}})))
"""


def lines(log: Path) -> list[dict[str, object]]:
    """The lines of a log; each of them must be a JSON object."""
    text = log.read_text()
    assert CANARY not in text, [line for line in text.splitlines() if CANARY in line]
    found = [json.loads(line) for line in text.splitlines()]
    assert all(isinstance(line, dict) and line["event"] for line in found)
    return found


def break_function(db: psycopg.Connection, signature: str) -> None:
    """From now on the function raises an error whose text has a secret."""
    (made,) = db.execute("select pg_get_functiondef(%s::regprocedure)", (signature,)).fetchone()  # type: ignore[misc]
    head = made[: made.index("\n LANGUAGE")]
    body = f"begin raise exception 'the disk said {SAID}' using errcode = 'XX000'; end"
    db.execute(f"{head} language plpgsql as $$ {body} $$".encode())


@pytest.mark.requirement("RT-12")
def test_a_server_writes_json_without_secrets(dsn: str, db: psycopg.Connection, tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log, address = tmp_path / "log", f"http://127.0.0.1:{port}"
    token = bound_token(dsn)
    settings = {"STEPWELL_DATABASE_URL": api(dsn), "STEPWELL_LOG_LEVEL": "debug"}
    with (
        running(dsn, log, "serve", "--port", str(port), **settings),
        httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}) as http,
    ):
        until(lambda: _answers(address))
        broken = "stepwell.fn_runs_list(int, jsonb, bigint, int)"
        break_function(db, broken)
        answers = [
            http.get("/api/v1/runs", params={"token": CANARY}),
            http.get("/api/v1/runs"),
            http.get(f"/api/v1/{SAID}"),
            http.get("/api/v1/workflows", headers={"Authorization": f"Bearer sw_{CANARY}"}),
            http.get("/api/v1/workflows", headers={"Cookie": f"session={CANARY}", "Authorization": ""}),
            http.post("/api/v1/runs", content=f'{{"workflow": "w", "password": "{CANARY}"'.encode()),
            http.post("/api/v1/runs", json={"workflow": SAID, "input": {"password": CANARY}}),
            http.put(f"/api/v1/schedules/{SAID}", json={"workflow": "w", "cron": "* * * * *"}),
            http.post("/api/v1/session", json={"tenant": "default", "name": SAID, "password": CANARY}),
        ]
        with socket.create_connection(("127.0.0.1", port)) as wire:
            wire.sendall(f"GET /{SAID} HTTP/9.9 {SAID}\r\n{SAID}\r\n\r\n".encode())
            wire.recv(100)
        cut = (
            "select count(pg_terminate_backend(pid)) > 0 from pg_stat_activity"
            " where pid <> pg_backend_pid() and datname = current_database()"
        )
        db.execute(cut)
        http.get("/api/v1/workflows")
    assert answers[1].status_code == 500
    assert CANARY not in answers[1].text
    assert all(one.status_code in range(400, 600) for one in answers), answers
    assert [line["path"] for line in lines(log) if line["event"] == "request failed"] == ["/api/v1/runs"]


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz").status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.requirement("RT-12")
def test_a_keeper_writes_json_without_secrets(dsn: str, db: psycopg.Connection, tmp_path: Path):
    """The name of a schedule is one that an earlier release accepted."""
    engine = Engine(db)
    engine.person("ada")
    engine.publish("w", operation("a"))
    db.execute("select fn_schedule_set(1, 's', 'w', '* * * * *', 'UTC', '{}', 'all', 2, now(), 'ada')")
    db.execute("update workflow_schedule set schedule_name = %s", (SAID,))
    (fire, recover) = (
        "stepwell.fn_schedule_fire(int, text, timestamptz, timestamptz[], timestamptz)",
        "stepwell.fn_receipts_recover(int)",
    )
    break_function(db, fire)
    log = tmp_path / "log"
    with running(dsn, log, "keeper", "--poll-seconds", "0.05", STEPWELL_LOG_LEVEL="debug"):
        until(lambda: "postponed schedule" in log.read_text())
        break_function(db, recover)
        until(lambda: "could not" in log.read_text())
    assert {line["logger"] for line in lines(log)} >= {"stepwell.keeper.keeper"}


@pytest.mark.requirement("RT-12")
def test_a_worker_writes_json_without_secrets(dsn: str, db: psycopg.Connection, tmp_path: Path):
    (tmp_path / "shop.py").write_text(APP)
    log = tmp_path / "log"
    with running(dsn, log, "worker", "--app", str(tmp_path / "shop.py"), STEPWELL_LOG_LEVEL="debug"):
        until_row(db, "select count(*) = 1 from worker_session where closed_at is null")
        given = json.dumps({"card": f"token: {CANARY}"})
        done = stepwell("start", "pay", "--input", given, env={"STEPWELL_DATABASE_URL": api(dsn)})
        assert done.returncode == 0, done.stderr
        until_row(db, "select state_code = 'failed' from workflow_run")
    told = " ".join(json.dumps(line) for line in lines(log))
    for words in ("in a warning", "is no number", "in a thread", "at the end", "in an error"):
        assert words in told, words


@pytest.mark.requirement("RT-12")
def test_no_failing_command_shows_a_secret(dsn: str):
    address = f"postgresql://ada:{CANARY}@127.0.0.1:1/x"
    given = client_environment(dsn)
    failed = [
        stepwell("runs", "list", env={"STEPWELL_DATABASE_URL": address}),
        stepwell("--database-url", f"{address}?sslmode=perhaps", "runs", "list"),
        stepwell("--database-url", f"host=127.0.0.1 port=1 {SAID} odd", "runs", "list"),
        stepwell("start", "w", "--input", f'{{"password": "{CANARY}"', env=given),
        stepwell("start", SAID, env=given),
        stepwell("runs", "show", SAID, env=given),
        stepwell("runs", "list", env={**given, "STEPWELL_TOKEN": f"sw_{CANARY}"}),
        stepwell("schedule", "pause", SAID, env=given),
        stepwell("runs", "list", f"--{SAID}", env=given),
    ]
    for done in failed:
        assert done.returncode != 0
        assert done.stderr.startswith("stepwell: "), done.stderr
        assert CANARY not in done.stderr + done.stdout, done.stderr
