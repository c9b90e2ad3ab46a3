"""`stepwell up --demo`: past days made by the engine, people who sign in, work that goes on, the way out."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from stepwell.demo.begin import APP
from tests.acceptance.conftest import own_folder
from tests.acceptance.running import LIMIT_SECONDS, Running, run, up
from tests.support.wait import until

ROOT = Path(__file__).parents[2]
DAYS = {"STEPWELL_DEMO_DAYS": "1"}
GROUPS = {"runs", "step", "approvals", "audit", "demo"}
EXPECTED = [
    *("runs list", "runs show"),
    *("inbox", "step claim", "step complete", "signal"),
    *("approvals list", "approvals show", "approvals approve"),
    *("start", "audit verify", "demo off"),
]
WORKFLOWS = {"incident.triage", "order.process", "order.invoice", "agent.refund", "plant.turnaround"}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with own_folder() as found:
        yield found


@pytest.fixture(scope="module")
def demo(folder: Path) -> Iterator[tuple[Running, httpx.Client]]:
    options = ("--data-dir", str(folder), "--port", "0", "--demo")
    with up(*options, environment=DAYS) as running, running.wait_ready() as client:
        yield running, client


def stepwell(folder: Path, *arguments: str) -> str:
    done = run("--data-dir", str(folder), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_has_runs_of_past_days_and_the_log_is_proven(demo: tuple[Running, httpx.Client], folder: Path):
    _, client = demo
    runs = client.get("/api/v1/runs?limit=100").json()["items"]
    assert {run["workflow"] for run in runs} == WORKFLOWS
    oldest = min(datetime.fromisoformat(run["started_at"]) for run in runs if run["started_at"])
    assert datetime.now(UTC) - oldest > timedelta(hours=20)
    plant = next(run for run in runs if run["workflow"] == "plant.turnaround")
    snapshot = client.get(f"/api/v1/runs/{plant['run_id']}/snapshot").json()
    assert len(snapshot["steps"]["no"]) == 514
    checked = stepwell(folder, "audit", "verify")
    assert checked.startswith("✓ intact")
    # Whoever reaches the socket is the operator: the tables are read, not views.
    assert ("read through views" in checked, "owns no table" in checked) == (False, False)


def test_its_people_sign_in_with_the_passwords_that_are_shown_once(demo: tuple[Running, httpx.Client]):
    running, client = demo
    for name in ("lan", "minh", "hoa"):
        password = running.wait_for(rf"^  {name}\s+(\S+)$").group(1)
        with httpx.Client(base_url=client.base_url, timeout=60) as door:
            entered = door.post("/api/v1/session", json={"name": name, "password": password})
            assert entered.status_code == 200, entered.text
            assert door.get("/api/v1/session").json()["name"] == name


def test_work_goes_on_while_somebody_watches(demo: tuple[Running, httpx.Client]):
    _, client = demo
    before = client.get("/api/v1/runs?limit=100").json()
    until(
        lambda: client.get("/api/v1/runs?limit=100").json() != before,
        what="a run of the demo that starts, goes on or ends",
    )


def test_whoever_opens_the_link_can_do_what_is_left_for_that_person(demo: tuple[Running, httpx.Client]):
    _, client = demo
    (step,) = [step for step in client.get("/api/v1/inbox").json() if is_left(step, client)]
    headers = {"X-CSRF-Token": client.get("/api/v1/session").json()["csrf_token"]}
    for verb, state in (("claim", "in_progress"), ("release", "ready")):
        done = client.post(f"/api/v1/steps/{step['step_run_id']}/{verb}", json={}, headers=headers)
        assert done.status_code == 200, done.text
        assert done.json()["step"]["state_code"] == state


def in_the_readme() -> list[str]:
    """The commands of the first five minutes, without what they name."""
    text = (ROOT / "README.md").read_text().partition("### The first five minutes")[2].partition("\n## ")[0]
    shown = [shlex.split(line) for line in text.splitlines() if line.startswith("       .venv/bin/stepwell ")]
    return [" ".join(line[1:3] if line[1] in GROUPS else line[1:2]) for line in shown]


def is_left(step: dict[str, str], client: httpx.Client) -> bool:
    found = client.get(f"/api/v1/runs/{step['run_id']}").json()
    return bool(found["labels"] == {"for": "you"})


def at_a_terminal(command: list[str], typed: str) -> None:
    """Runs a command that asks a person: its standard input is a terminal."""
    person, terminal = pty.openpty()
    try:
        os.write(person, typed.encode())
        done = subprocess.run(command, stdin=terminal, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    finally:
        os.close(person)
        os.close(terminal)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_commands_that_it_prints_work_as_they_are_printed(demo: tuple[Running, httpx.Client]):
    running, client = demo
    printed = running.output.partition("Next, in another terminal:")[2]
    lines = [shlex.split(line) for line in printed.splitlines() if line.startswith("    ")]
    verbs = [" ".join(line[3:5] if line[3] in GROUPS else line[3:4]) for line in lines]
    assert verbs == EXPECTED == in_the_readme()
    for line in lines[:-1]:
        if line[3:5] == ["approvals", "approve"]:
            at_a_terminal(line, "y\n")
        else:
            done = run(*line[1:])
            assert done.returncode == 0, done.stderr
    runs = client.get("/api/v1/runs?limit=100").json()["items"]
    for key in ("A-1", "C-1", "mine-1"):
        number = next(run["run_id"] for run in runs if run["trigger_ref"] == key)
        until(
            lambda number=number: client.get(f"/api/v1/runs/{number}").json()["state_code"] == "completed",
            what=f"the end of the run with the key {key}",
        )


def test_it_says_that_it_is_a_demo_until_it_is_turned_off(demo: tuple[Running, httpx.Client], folder: Path):
    running, client = demo
    assert client.get("/api/v1/health").json()["is_demo"] is True
    assert "demo off" in running.output
    assert "the demo is off" in stepwell(folder, "demo", "off")
    until(lambda: client.get("/api/v1/health").json()["is_demo"] is False, what="the end of the banner")
    running.wait_for("The demo was turned off")
    assert json.loads(stepwell(folder, "demo", "off", "--json")) == {"is_demo": False, "has_changed": False}


def test_a_database_with_runs_of_its_own_gets_no_demo(used_dir: Path, tmp_path: Path):
    (tmp_path / "own.py").write_text(
        "import stepwell as sw\napp = sw.App()\napp.publish(sw.Workflow('w', sw.Wait('go')))\n"
    )
    stepwell(used_dir, "publish", "--app", f"{tmp_path}/own.py:app")
    stepwell(used_dir, "start", "w", "--key", "mine")
    with up("--data-dir", str(used_dir), "--port", "0", "--demo") as running, running.wait_ready() as client:
        running.wait_for("This database has runs of its own, so no demo is added")
        assert client.get("/api/v1/health").json()["is_demo"] is False
        assert [run["workflow"] for run in client.get("/api/v1/runs").json()["items"]] == ["w"]


def test_the_demo_brings_its_own_app(used_dir: Path):
    done = run("--data-dir", str(used_dir), "up", "--demo", "--app", APP)
    assert done.returncode == 2
    assert "--demo has an app and a worker of its own" in done.stderr
