"""What commands tell a new user: how many have agreed, how a person is added, the times of a schedule."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime

import psycopg
import pytest

from tests.sql.drive import Engine, human
from tests.support.clock import Clock
from tests.support.processes import stepwell
from tests.support.roles import api


@pytest.fixture
def run(dsn: str, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("w", human("sign", role="office"))
    engine.start("w")

    def typed(*arguments: str, code: int = 0) -> str:
        done = stepwell(*arguments, env={"STEPWELL_DATABASE_URL": api(dsn), "COLUMNS": "180"})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return typed


def test_an_approval_by_two_says_how_many_have_agreed(run):
    for name in ("ada", "ben", "cleo"):
        run("user", "add", name, "--role", "lead")
    asked = run("approvals", "request", "reopen", "1/sign", "--as", "ada", "--quorum", "2", "--role", "lead")
    approval = asked.split()[1].rstrip(":")

    def approve(name: str) -> str:
        shown = run("approvals", "show", approval).split()[-1]
        return run("approvals", "approve", approval, "--as", name, "--shown", shown)

    assert "0 of 2" in run("approvals", "list")
    assert approve("ben") == f"approval {approval}: requested, 1 of 2 have agreed\n"
    assert "1 of 2" in run("approvals", "list")
    assert approve("cleo") == f"approval {approval}: approved\n"
    assert "2 of 2" in run("approvals", "list")


def test_who_is_not_known_is_told_how_a_person_is_added(run):
    refused = run("step", "claim", "1/sign", "--as", "zoe", code=1)
    hint = "stepwell user add zoe --role ROLE"
    assert hint in refused
    run(*shlex.split(hint.replace("ROLE", "office"))[1:])
    assert run("step", "claim", "1/sign", "--as", "zoe") == "1/sign: in_progress\n"


def test_who_misspells_a_person_is_told_the_name_that_is_near(run):
    run("user", "add", "quentin", "--role", "office")
    refused = run("step", "claim", "1/sign", "--as", "quentim", code=1)
    assert "Did you mean quentin?" in refused
    assert "user add" not in refused


def test_a_schedule_shows_its_times_in_its_zone_and_in_universal_time(run, clock: Clock):
    clock.set_shift(datetime(2027, 3, 27, 12, tzinfo=UTC) - datetime.now(UTC))
    # The last Sunday of March: the clocks of Berlin go forward at night.
    first, second = (
        "2027-03-28T06:30:00+02:00 (2027-03-28T04:30:00Z)",
        "2027-03-29T06:30:00+02:00 (2027-03-29T04:30:00Z)",
    )
    made = run("schedule", "set", "daily", "w", "--cron", "30 6 * * *", "--time-zone", "Europe/Berlin")
    assert made == f"schedule daily is set, next at {first}\n"
    assert run("schedule", "next", "daily", "--count", "2").splitlines() == [first, second]
    assert run("schedule", "list") == f"daily  30 6 * * *  w  next at {first}\n"
    assert json.loads(run("schedule", "next", "daily", "--count", "2", "--json")) == [
        "2027-03-28T04:30:00+00:00", "2027-03-29T04:30:00+00:00",
    ]  # fmt: skip


def test_a_schedule_in_universal_time_shows_each_time_once(run, clock: Clock):
    clock.set_shift(datetime(2027, 3, 27, 12, tzinfo=UTC) - datetime.now(UTC))
    made = run("schedule", "set", "hourly", "w", "--cron", "15 * * * *")
    assert made == "schedule hourly is set, next at 2027-03-27T12:15:00Z\n"
    assert run("schedule", "pause", "hourly") == "schedule hourly is paused\n"
    assert run("schedule", "list") == "hourly  15 * * * *  w  paused\n"
