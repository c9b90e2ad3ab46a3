"""The log of worker and keeper: one JSON object in each line, or text if the setting says so."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.processes import environment, stepwell
from tests.support.roles import api, process_environment
from tests.support.wait import until_row

APP = """
import logging

import httpx

import stepwell as sw

app = sw.App()
client = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200)))


@app.operation(retry=sw.Retry(max_attempts=2, initial="10ms", max="10ms"))
def charge(ctx: sw.Context):
    logging.getLogger("shop").info("charging")
    ctx.log.info("charging too", amount=3)
    client.get("http://bank.example/?token=sesame")
    raise ConnectionError("the card reader is off")


app.publish(sw.Workflow("pay", sw.Operation("charge")))
"""


@contextmanager
def running(dsn: str, log: Path, *arguments: str, **settings: str) -> Iterator[None]:
    """Runs a command inside the block, with its log in a file."""
    with (
        log.open("w") as err,
        subprocess.Popen(
            [sys.executable, "-m", "stepwell", *arguments],
            env=environment({**process_environment(dsn, arguments[0]), **settings}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=err,
        ) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(60) == 0


@pytest.fixture
def failed(dsn, db, tmp_path):
    """Runs a worker until a run of its app has failed; returns its log."""
    (tmp_path / "shop.py").write_text(APP)

    def run(**settings: str) -> list[str]:
        log = tmp_path / "log"
        with running(dsn, log, "worker", "--app", str(tmp_path / "shop.py"), **settings):
            until_row(db, "select count(*) = 1 from worker_session where closed_at is null")
            done = stepwell("start", "pay", env={"STEPWELL_DATABASE_URL": api(dsn)})
            assert done.returncode == 0, done.stderr
            until_row(db, "select state_code = 'failed' from workflow_run")
        return log.read_text().splitlines()

    return run


def test_a_worker_in_a_pipe_writes_json(failed):
    lines = [json.loads(line) for line in failed()]
    attempts = [line for line in lines if line["event"] == "attempt failed"]
    assert [(line["run"], line["step"], line["attempt"], line["next"]) for line in attempts] == [
        (1, "charge", 1, "retry"),
        (1, "charge", 2, "none"),
    ]
    assert attempts[0]["error"] == "ConnectionError: the card reader is off"
    for event in ("charging", "charging too"):
        found = [line for line in lines if line["event"] == event]
        assert [(line["run"], line["step"], line["attempt"]) for line in found] == [
            (1, "charge", 1),
            (1, "charge", 2),
        ]
    assert [line["state"] for line in lines if line["event"] == "run ended"] == ["failed"]
    assert not [line for line in lines if "sesame" in json.dumps(line)]
    assert not [line for line in lines if "Traceback" in json.dumps(line)]


def test_the_log_is_text_if_the_setting_says_so(failed):
    lines = failed(STEPWELL_LOG_FORMAT="text", STEPWELL_LOG_LEVEL="warning")
    shown = [line for line in lines if "attempt failed" in line]
    assert len(shown) == 2
    assert "WARNING: attempt failed" in shown[0]
    assert "run=1 step=charge" in shown[0]
    assert not [line for line in lines if "charging" in line]


def test_the_level_debug_logs_the_traceback(failed):
    lines = [json.loads(line) for line in failed(STEPWELL_LOG_LEVEL="debug")]
    assert [line["step"] for line in lines if "in charge" in line.get("traceback", "")] == ["charge"] * 2
    assert not [line for line in lines if "sesame" in json.dumps(line)]


def test_a_keeper_writes_json(dsn, db, tmp_path):
    cut = (
        "select count(pg_terminate_backend(pid)) > 0 from pg_stat_activity where pid <> pg_backend_pid()"
        " and datname = current_database() and application_name = 'stepwell keeper'"
    )
    with running(dsn, tmp_path / "log", "keeper", "--poll-seconds", "0.05"):
        until_row(db, cut)
        # When the second connection is cut, the keeper has logged the loss of the first.
        until_row(db, cut)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert any("lost its database" in line["event"] for line in lines)
    # The seal has a connection of the same name: if it was cut too, it tells so.
    assert {line["logger"] for line in lines} - {"stepwell.keeper.sealing"} == {"stepwell.keeper.keeper"}


def test_an_unknown_log_format_is_refused(dsn):
    done = stepwell("runs", "list", env={"STEPWELL_DATABASE_URL": api(dsn), "STEPWELL_LOG_FORMAT": "xml"})
    assert done.returncode == 2
    assert "accepted are auto, text, json" in done.stderr
