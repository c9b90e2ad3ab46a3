"""Every command that takes a run accepts its number and its WORKFLOW/KEY."""

from __future__ import annotations

import json
import re

import psycopg
import pytest

from tests.sql.drive import Engine, human, operation, subworkflow
from tests.support.processes import stepwell
from tests.support.roles import api

KEY = "A/1"
NAME = f"order.process/{KEY}"


@pytest.fixture
def run(dsn: str, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("order.process", operation("charge"), human("sign-off", role="lead"))
    engine.start("order.process", ref="other")
    assert engine.start("order.process", ref=KEY) == 2

    def typed(*arguments: str, code: int = 0) -> str:
        done = stepwell(*arguments, env={"STEPWELL_DATABASE_URL": api(dsn), "COLUMNS": "180"})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout or done.stderr

    return typed


def test_a_run_is_shown_by_its_workflow_and_key(run, db):
    assert "Run 2  order.process v1" in run("runs", "show", NAME)
    assert json.loads(run("runs", "show", NAME, "--json"))["run"]["run_id"] == 2
    assert json.loads(run("runs", "events", NAME, "--json"))[0]["unit_id"] >> 20 == 2
    assert len(json.loads(run("runs", "show", NAME, "--at", "1", "--json"))) == 3
    assert {job["run_id"] for job in json.loads(run("jobs", "list", "--run", NAME, "--json"))} == {2}
    assert json.loads(run("receipts", "list", "--run", NAME, "--json")) == []
    assert json.loads(run("policy", "verdicts", "--run", NAME, "--json")) == []
    assert run("evidence", "list", NAME) == f"run {NAME} was not exported yet\n"
    assert "only after its end" in run("evidence", "export", NAME, code=1)


def test_runs_are_changed_by_workflow_and_key(run, db):
    assert run("runs", "pause", NAME) == "run 2 is paused\n"
    assert run("runs", "resume", NAME, "1") == "run 2 is in progress again\nrun 1 is in progress again\n"
    assert "is in_progress; only a failed run can be retried" in run("runs", "retry", NAME, code=1)
    assert run("signal", NAME, "carrier.picked_up") == "stored: no step waits for it yet\n"
    answers = json.loads(run("runs", "cancel", "order.process/no-such-key", NAME, "--json", code=1))
    assert [(answer["run_id"], answer["ok"]) for answer in answers] == [(None, False), (2, True)]
    assert run("runs", "watch", NAME, code=1).splitlines()[-1].endswith("run 2  ⊘ Cancelled")
    assert db.execute("select state_code from workflow_run order by run_id").fetchall() == [
        ("in_progress",), ("cancelled",),
    ]  # fmt: skip


def test_a_step_is_named_by_workflow_key_and_step(run, db):
    db.execute("update run_detail set trigger_ref = 'A-1' where run_id = 2")
    shown = json.loads(run("step", "show", "order.process/A-1/charge", "--json"))
    assert (shown["step"]["run_id"], shown["step"]["step_id"]) == (2, "charge")
    assert "is not a step" in run("step", "show", "order.process/A/1/charge", code=2)


@pytest.mark.parametrize("name", ["order.process", "0", "-3x", "/A-1", "order.process/"])
def test_what_names_no_run_is_refused_with_what_is_accepted(run, name):
    for command in (("runs", "show"), ("runs", "cancel"), ("evidence", "list")):
        said = run(*command, "--", name, code=2)
        assert f"{name!r} is not a run; accepted: its number, or its workflow and key" in said


def test_a_misspelt_key_is_told(run):
    said = run("runs", "show", "order.process/othr", code=1)
    assert said == ("stepwell: no run of order.process was started with key othr. Did you mean other?\n")


def test_a_name_is_shown_as_it_was_given(run, db):
    """Brackets and colons mean something to the library that draws tables."""
    key = "[/red] [bold]:smile:"
    assert Engine(db).start("order.process", ref=key) == 3
    assert key in run("runs", "list")
    assert f"key {key} ·" in run("runs", "show", f"order.process/{key}")


def test_a_run_of_a_sub_workflow_shows_no_number_of_the_engine(run, db):
    engine = Engine(db)
    engine.publish("invoice", operation("write"))
    engine.publish("billed", subworkflow("invoice", "invoice"))
    parent = engine.start("billed", ref="B-1")
    listed = run("runs", "list")
    assert f"part of run {parent}" in listed
    shown = run("runs", "show", str(parent + 1))
    assert f" by {parent}.1 · part of run {parent} · " in shown
    assert not re.findall(r"\d{7,}", listed + shown)
    # A program still reads what is stored.
    assert json.loads(run("runs", "show", str(parent + 1), "--json"))["run"]["parent_run_id"] == parent
