"""The command line and a Python program list, show and close problems, in two languages."""

from __future__ import annotations

import json

import psycopg
import pytest

import stepwell as sw
from tests.acceptance.running import run as stepwell
from tests.support.roles import api, client_app


def test_a_problem_is_listed_shown_and_closed(dsn: str, db: psycopg.Connection):
    def run(*arguments: str, code: int = 0) -> str:
        done = stepwell("--database-url", api(dsn), "problems", *arguments, environment={"COLUMNS": "200"})
        assert done.returncode == code, done.stdout + done.stderr
        return (done.stdout + done.stderr).strip()

    db.execute("select fn_person_set(1, 'ada', array['operator'])")
    assert run("list", "--lang", "vi") == "không có vấn đề nào"
    db.execute("select fn_duty_set_aside(1, 'schedule', 'nightly', '22012', 'division by zero')")
    (found,) = json.loads(run("list", "--json"))
    assert (found["category_code"], found["subject"], found["reason"]) == (
        "set_aside",
        "nightly",
        "division by zero",
    )
    number = str(found["problem_id"])
    listed = run("list", "--lang", "vi")
    assert "Tạm gác lại" in listed
    assert "lịch chạy" in listed
    shown = run("show", number)
    assert "22012" in shown
    assert "Set aside" in shown
    assert "does not exist" in run("show", "4711", code=1)
    assert run("close", number, "--reason", "repaired", "--as", "ada") == f"problem {number}: closed"
    assert json.loads(run("list", "--all", "--json"))[0]["closed_by"] == "ada"


def test_a_program_reads_and_closes_problems(dsn: str, db: psycopg.Connection):
    db.execute("select fn_duty_set_aside(1, 'seal', '1', '22012', 'division by zero')")
    with client_app(dsn).sync as app:
        (found,) = app.problems()
        assert app.problem(found.problem_id).duty == "seal"
        app.problem_close(found.problem_id, "repaired")
        assert app.problems() == []
        assert len(app.problems(with_closed=True, category="set_aside")) == 1
        with pytest.raises(sw.NotFound):
            app.problem(4711)
