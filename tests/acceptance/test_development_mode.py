"""Development mode is named by every command that a person meets, until one command leaves it for good."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import psycopg
import pytest

from stepwell.config import user_name
from tests.acceptance.running import up
from tests.acceptance.test_cli_db_doctor import findings
from tests.sql.drive import Engine, operation
from tests.support.processes import stepwell
from tests.support.roles import api

LEFT = "select actor, payload from stepwell.event_log where event_type = 'development.left'"


def leave(dsn: str, *options: str) -> str:
    done = stepwell("--database-url", dsn, "db", "leave-development", *options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.requirement("SM-15")
def test_the_mode_is_left_once_with_an_event(dsn: str, db: psycopg.Connection):
    person = user_name()
    assert leave(dsn) == (
        "development mode is left; the strict rules hold, and the mode cannot be entered again\n"
    )
    assert leave(dsn) == "nothing to do, the database is in strict mode\n"
    assert db.execute(LEFT).fetchall() == [(f"cli:{person}", {"person": person})]
    told = stepwell("--database-url", dsn, "audit", "events", "--type", "development.left", "--json")
    assert [one["actor"] for one in json.loads(told.stdout)["events"]] == [f"cli:{person}"], told.stdout
    assert db.execute("select left_by, left_at is null from development_mode").fetchone() == (
        f"cli:{person}",
        False,
    )


def test_a_program_is_told_whether_the_mode_has_changed(dsn: str, db: psycopg.Connection):
    answers = [json.loads(leave(dsn, "--json")) for _ in range(2)]
    assert answers == [{"mode": "strict", "has_changed": changed} for changed in (True, False)]
    assert len(db.execute(LEFT).fetchall()) == 1


def test_a_role_of_a_process_cannot_leave_it(dsn: str, db: psycopg.Connection):
    refused = stepwell("--database-url", api(dsn), "db", "leave-development")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert db.execute("select mode from fn_mode_read()").fetchone() == ("development",)
    assert db.execute(LEFT).fetchall() == []


def test_the_doctor_names_the_mode(dsn: str):
    found = findings("--database-url", dsn)["mode"]
    assert found["level"] == "ok"
    assert found["detail"].startswith(f"development: {user_name()} acts where nobody is bound")
    assert "'stepwell db leave-development' ends it" in found["detail"]
    leave(dsn)
    found = findings("--database-url", dsn)["mode"]
    assert (found["level"], found["detail"].split(":")[0]) == ("ok", "strict")
    assert "✓ mode: strict" in stepwell("--database-url", dsn, "doctor").stdout


def test_a_bundle_names_the_mode_in_which_its_run_began(dsn: str, db: psycopg.Connection, tmp_path: Path):
    """A run that began in development mode keeps the name after the mode is left."""
    engine = Engine(db)
    engine.publish("order.process", operation("a"))
    made = {"development": engine.start("order.process")}
    leave(dsn)
    made["strict"] = engine.start("order.process")
    engine.drain(engine.worker())
    told = {}
    for mode, run_id in made.items():
        bundle = tmp_path / f"{mode}.zip"
        done = stepwell("--database-url", dsn, "evidence", "export", str(run_id), "--to", str(bundle))
        assert done.returncode == 0, done.stderr
        with zipfile.ZipFile(bundle) as opened:
            told[mode] = json.loads(opened.read("run.json")).get("mode")
            assert ("development: one person acts" in opened.read("report.html").decode()) == (
                mode == "development"
            )
        assert stepwell("evidence", "verify", str(bundle)).returncode == 0
    assert told == {"development": "development", "strict": None}


def test_up_names_the_mode_until_it_is_left(used_dir: Path):
    with up("--data-dir", str(used_dir), "--port", "0") as running, running.wait_ready():
        running.wait_for(rf"Mode\s+development, as {re.escape(user_name())}$")
        assert stepwell("--data-dir", str(used_dir), "db", "leave-development").returncode == 0
    with up("--data-dir", str(used_dir), "--port", "0") as running:
        running.wait_for("Ctrl-C stops everything")
        assert not re.search(r"^\s+Mode\s", running.output, re.MULTILINE), running.output
