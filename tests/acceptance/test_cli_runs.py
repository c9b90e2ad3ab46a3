"""The commands that a user types: publish, start, show, watch, signal, pause, cancel, retry, jobs."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stepwell.unit_numbers import read_unit, short
from tests.acceptance.working import worker
from tests.support.processes import environment, stepwell
from tests.support.roles import api
from tests.support.wait import until_row

YAML = """\
workflow: order.process
steps:
  - validate
  - parallel: [charge, reserve]
  - wait: carrier.picked_up
    timeout: 2d
  - ship
"""

APP = """\
import stepwell as sw

app = sw.App()

@app.operation
async def validate(order_id: str) -> dict:
    return {"order_id": order_id}

@app.operation(retry=sw.Retry(max_attempts=1))
async def charge(order_id: str) -> float:
    if order_id == "BAD":
        raise ValueError("no such card")
    return 12.5

@app.operation
def reserve(order_id: str) -> list[int]:
    return [1, 2]

@app.operation
async def ship() -> str:
    return "shipped"
"""


FLAKY = """\
import stepwell as sw

app = sw.App()

@app.operation(retry=sw.Retry(max_attempts=3, initial="1h", max="1h"))
async def call():
    raise ConnectionError("no answer")

app.publish(sw.Workflow("flaky", sw.Operation("call")))
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "order.yaml").write_text(YAML)
    (tmp_path / "shop.py").write_text(APP)
    return tmp_path


@pytest.fixture
def run(dsn: str, shop: Path):
    def typed(*arguments: str, code: int = 0) -> str:
        done = stepwell(*arguments, env={"STEPWELL_DATABASE_URL": api(dsn), "COLUMNS": "180"}, cwd=shop)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return typed


@pytest.fixture
def shop_worker(dsn: str, shop: Path):
    with worker(dsn, shop / "worker.log", app=str(shop / "shop.py")) as started:
        yield started


@pytest.mark.requirement("RT-11", "LN-06")
def test_a_workflow_from_yaml_runs_to_its_end(run, shop_worker, db):
    assert run("publish", "order.yaml") == "order.process: published as version 1\n"
    assert run("publish", "order.yaml") == "order.process: unchanged, still version 1\n"
    assert run("start", "order.process", "-i", "order_id=A-1", "--key", "A-1") == "run 1 started\n"
    again = run("start", "order.process", "--input", '{"order_id": "A-1"}', "--key", "A-1")
    assert again == "run 1 was started before with the key A-1\n"
    until_row(db, "select count(*) > 0 from event_wait")
    shown = run("runs", "show", "1")
    assert "Run 1  order.process v1" in shown
    assert "✓ Completed" in shown
    assert "⏳ Waiting" in shown
    assert "waits for the event carrier.picked_up" in shown
    assert "Đang chờ" in run("runs", "show", "1", "--lang", "vi")
    sent = (
        "signal",
        "order.process/A-1",
        "carrier.picked_up",
        "--payload",
        '{"by": "bike"}',
        "--event-id",
        "e",
    )
    assert re.fullmatch(r"delivered to carrier\.picked_up \(1\.\d+\)\n", run(*sent))
    assert run(*sent) == "the event e was delivered before; nothing changed\n"
    watched = run("runs", "watch", "1").splitlines()
    assert watched[-1].endswith("run 1  ✓ Completed")
    assert sum("✓ Completed" in line for line in watched) == 6
    document = json.loads(run("runs", "show", "1", "--json"))
    assert document["run"]["state_code"] == "completed"
    assert {step["step_id"]: step["output"] for step in document["steps"]}["ship"] == "shipped"


@pytest.mark.requirement("RX-11")
def test_a_run_is_shown_at_a_past_event_or_time(run, db):
    run("publish", "order.yaml")
    run("start", "order.process", "-i", "order_id=A-1")
    position, moment = db.execute("select max(event_id), max(at) from event_log where run_id = 1").fetchone()
    run("runs", "cancel", "1")

    def states(at: str) -> set[str]:
        return {unit["state_code"] for unit in json.loads(run("runs", "show", "1", "--at", at, "--json"))}

    then = {"in_progress", "ready", "not_started"}
    assert states(str(position)) == then
    assert states(moment.isoformat()) == then
    assert states("2020-01-01T00:00:00Z") == {"not_started"}
    assert states(str(position + 99)) == {"cancelled"}
    shown = run("runs", "show", "1", "--at", str(position), "--lang", "vi")
    assert "Sẵn sàng" in shown
    assert "Đã hủy" not in shown


def test_lists_have_pages_filters_and_json(run, db):
    run("publish", "order.yaml")
    for number in range(5):
        run("start", "order.process", "-i", f"order_id={number}", "--priority", str(number))
    run("runs", "cancel", "2", "--reason", "not wanted")
    rows = json.loads(run("runs", "list", "--json", "--limit", "2"))
    assert [row["run_id"] for row in rows] == [5, 4]
    rows = json.loads(run("runs", "list", "--json", "--after", "4"))
    assert [row["run_id"] for row in rows] == [3, 2, 1]
    assert [row["run_id"] for row in json.loads(run("runs", "list", "--json", "--state", "cancelled"))] == [2]
    assert json.loads(run("runs", "list", "--json", "--workflow", "other")) == []
    assert (
        run("runs", "list", "--workflow", "other", code=1) == "stepwell: workflow other is not published.\n"
    )
    assert "more with --after 4" in run("runs", "list", "--limit", "2")


def test_a_run_is_shown_with_its_labels(run):
    run("publish", "order.yaml")
    run("start", "order.process", "-i", "order_id=A-1")
    assert "customer" not in run("runs", "show", "1")
    run("runs", "label", "1", "customer=Acme")
    assert "customer: Acme" in run("runs", "show", "1")


@pytest.mark.requirement("SM-15")
def test_runs_are_paused_resumed_and_cancelled(run, db):
    run("publish", "order.yaml")
    run("start", "order.process", "-i", "order_id=A")
    assert run("runs", "pause", "1") == "run 1 is paused\n"
    assert "because run 1 is paused" in run("runs", "show", "1")
    assert run("runs", "resume", "1") == "run 1 is in progress again\n"
    assert run("runs", "cancel", "1", "--reason", "test") == "run 1 is cancelled\n"
    events = json.loads(run("runs", "events", "1", "--json"))
    told = [(event["event_type"], event["to_state"]) for event in events if event["step_id"] is None]
    assert told[-2:] == [("workflow.cancelled", "cancelled"), ("approval.waived", None)]
    assert run("runs", "cancel", "99", code=1) == "run 99 does not exist.\n"
    assert "⊘ Cancelled" in run("runs", "show", "1")


def test_a_failed_run_shows_its_error_and_its_dead_letter(run, shop_worker, db):
    run("publish", "order.yaml")
    done = run("start", "order.process", "-i", "order_id=BAD", "--wait", code=1)
    assert "run 1 ended as failed" in done
    shown = run("runs", "show", "1")
    assert "✕" in shown or "⛔ Cannot complete" in shown
    assert "ValueError: no such card" in shown
    letters = json.loads(run("dead-letters", "list", "--json"))
    assert [(letter["step_id"], len(letter["failures"])) for letter in letters] == [("charge", 1)]
    assert "ValueError: no such card" in run("dead-letters", "list")
    shown = run("jobs", "show", str(letters[0]["job_id"]))
    assert "Traceback" in shown


@pytest.mark.requirement("RX-07")
def test_a_failed_run_is_retried_and_completes(run, shop, dsn, db):
    run("publish", "order.yaml")
    with worker(dsn, shop / "first.log", app=str(shop / "shop.py")):
        run("start", "order.process", "-i", "order_id=BAD", "--key", "B", "--wait", code=1)
    (shop / "shop.py").write_text(APP.replace('== "BAD"', '== "NONE"'))
    assert run("runs", "retry", "1", "--reason", "the card is there now") == "run 1 is in progress again\n"
    run("signal", "order.process/B", "carrier.picked_up")
    with worker(dsn, shop / "second.log", app=str(shop / "shop.py")):
        assert "✓ Completed" in run("runs", "watch", "1").splitlines()[-1]
    assert run("dead-letters", "list") == "no dead letters\n"
    assert "ValueError: no such card" in run("dead-letters", "list", "--all")
    assert run("runs", "retry", "1", code=1) == "run 1 is completed; only a failed run can be retried.\n"


@pytest.mark.requirement("SM-13")
def test_a_retried_step_shows_its_attempts(run, dsn, shop, db):
    (shop / "flaky.py").write_text(FLAKY)
    run("publish", "--app", "flaky.py:app")
    with worker(dsn, shop / "flaky.log", app=str(shop / "flaky.py")):
        run("start", "flaky", "--key", "F")
        until_row(db, "select count(*) > 0 from unit_failure")
    failure = db.execute("select failure_class, classification, attempt_count from unit_failure").fetchone()
    assert failure == ("connection", "transient", 1)
    shown = run("runs", "show", "1")
    assert "✕ Failed  ↻ Retrying (1/3)" in shown
    assert "attempt 2 of 3 starts at" in shown
    number = short(json.loads(run("jobs", "list", "--run", "1", "--json"))[0]["job_id"])
    assert number.startswith("1.")
    assert run("jobs", "retry", number) == f"job {number} is queued again\n"
    assert db.execute("select state_code from step_run").fetchone() == ("ready",)


def test_start_with_wait_prints_the_result(run, shop_worker, db):
    run("publish", "order.yaml")
    (shop := Path(shop_worker.log).parent / "input.json").write_text('{"order_id": "F"}')
    run("start", "order.process", "--input", f"@{shop}", "--key", "F")
    run("signal", "order.process/F", "carrier.picked_up")
    assert json.loads(run("start", "order.process", "--key", "F", "--wait", "--timeout", "60s")) == "shipped"


def test_jobs_are_listed_shown_and_cancelled(run, db):
    db.execute("select fn_job_enqueue(1, 'mail', array['{\"to\": 1}', '{}']::jsonb[], array['a', 'b'])")
    jobs = json.loads(run("jobs", "list", "--json"))
    assert [job["idempotency_key"] for job in jobs] == ["b", "a"]
    number = short(jobs[0]["job_id"])
    assert "no live worker serves executor default" in run("jobs", "show", number)
    assert run("jobs", "cancel", number, "--reason", "test") == f"job {number} is cancelled\n"
    assert [job["job_id"] for job in json.loads(run("jobs", "list", "--json", "--state", "cancelled"))] == [
        read_unit(number)
    ]
    assert "job 77 does not exist" in run("jobs", "show", "77", code=1)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("publish",), 2, "nothing to publish"),
        (("publish", "missing.yaml"), 2, "missing.yaml cannot be read: No such file or directory."),
        (("start", "unknown"), 1, "unknown"),
        (("start", "x", "--input", "{"), 2, "--input is not JSON"),
        (("start", "x", "--input", "[]"), 2, "--input is not a JSON object"),
        (("start", "x", "-i", "novalue"), 2, "-i 'novalue' is not name=value"),
        (("start", "x", "--input", "@missing"), 2, "--input: missing cannot be read"),
        (("runs", "show", "1"), 1, "run 1 does not exist: 'stepwell runs list' shows the runs."),
        (("runs", "watch", "1"), 1, "run 1 does not exist"),
        (("runs", "show", "1", "--at", "3"), 1, "run 1 does not exist"),
        (
            ("runs", "show", "1", "--at", "noon"),
            1,
            "at: 'noon' is neither the number of an event nor a time with a zone",
        ),
        (
            ("runs", "show", "1", "--at", "9" * 20),
            1,
            "is neither the number of an event nor a time with a zone",
        ),
        (("signal", "abc", "x"), 2, "'abc' is not a run"),
        (("signal", "a/b", "x"), 1, "workflow a is not published."),
        (("runs", "list", "--limit", "0"), 2, "limit"),
        (("jobs", "dead"), 2, "'stepwell jobs dead' is now 'stepwell dead-letters list'."),
        (("people", "add", "ada"), 2, "'stepwell people add' is now 'stepwell user add'."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_error_for_a_wrong_call_is_one_sentence(dsn, shop, arguments, code, message):
    done = stepwell(*arguments, env={"STEPWELL_DATABASE_URL": api(dsn)}, cwd=shop)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_publish_names_every_problem_of_a_file_with_its_line(run, shop):
    (shop / "bad.yaml").write_text("workflow: w\nsteps:\n  - a\n  - b:\n  - wait: 3\n    timeout: soon\n")
    said = run("publish", "bad.yaml", code=2)
    assert "bad.yaml:4:" in said
    assert "nothing was published" in said.splitlines()[-1]
    assert run("publish", "--check", "order.yaml") == "order.process: no problem found\n"


def test_watch_draws_a_tree_in_a_terminal(run, dsn, shop_worker):
    run("publish", "order.yaml")
    run("start", "order.process", "-i", "order_id=T", "--key", "T")
    run("signal", "order.process/T", "carrier.picked_up")
    terminal, terminal_of_process = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "stepwell", "runs", "watch", "1"],
        env=environment({"STEPWELL_DATABASE_URL": api(dsn), "TERM": "xterm-256color", "COLUMNS": "120"}),
        stdin=terminal_of_process, stdout=terminal_of_process, stderr=terminal_of_process,
    )  # fmt: skip
    os.close(terminal_of_process)
    drawn = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        drawn += part
    assert process.wait(60) == 0
    os.close(terminal)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", drawn.decode())
    assert "100 %" in text
    assert re.search(r"└─ ship +✓ Completed", text)


def _as_in_a_terminal() -> None:
    """Restores Ctrl-C: a process that a shell starts in the background ignores it, with all its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ending_a_watch_does_not_end_the_run(run, dsn, shop_worker, db):
    run("publish", "order.yaml")
    run("start", "order.process", "-i", "order_id=T")
    until_row(db, "select count(*) > 0 from event_wait")
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "stepwell", "runs", "watch", "1"],
        env=environment({"STEPWELL_DATABASE_URL": api(dsn)}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_as_in_a_terminal,
    ) as watching:  # fmt: skip
        assert watching.stdout is not None
        assert watching.stderr is not None
        while "Waiting" not in watching.stdout.readline():
            pass
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 130
        assert "The run continues; 'stepwell runs watch 1' shows it again." in watching.stderr.read()
    assert db.execute("select state_code from workflow_run").fetchone() == ("in_progress",)


SHAPES = """\
import stepwell as sw

app = sw.App()

@app.operation
async def load(n: int) -> dict:
    return {"items": list(range(n)), "many": n > 2}

@app.operation
async def pack(item: int) -> int:
    return item * 10

@app.operation
async def yes() -> str:
    return "yes"

@app.operation
async def no() -> str:
    return "no"

app.publish(sw.Workflow("shapes", sw.Sequential(
    sw.Operation("load"),
    sw.Conditional("$.steps.load.output.many == true",
                   then=sw.Operation("yes"), otherwise=sw.Operation("no")),
    sw.Map("$.steps.load.output.items", sw.Operation("pack"), max_concurrency=2))))
"""


def test_the_tree_shows_branches_and_items_under_their_step(run, shop, dsn, db):
    (shop / "shapes.py").write_text(SHAPES)
    run("publish", "--app", "shapes.py:app")
    with worker(dsn, shop / "shapes.log", app=str(shop / "shapes.py")):
        assert json.loads(run("start", "shapes", "-i", "n=3", "--wait")) == [0, 10, 20]
    shown = run("runs", "show", "1")
    assert "100 %" in shown
    for line in ("│  ├─ yes", "│  └─ no", "├─ pack[0]", "└─ pack[2]"):
        assert line in shown
    assert "↷ Skipped" in shown
