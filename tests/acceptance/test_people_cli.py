"""Human steps on the command line: the inbox, a step from claim to completion, an approval, a correction."""

from __future__ import annotations

import json

import psycopg
import pytest

from tests.acceptance.running import run as stepwell
from tests.sql.drive import Engine, human, operation, subworkflow
from tests.support.roles import api

# Each command is a process; 25 of them can take more than the default limit on a busy machine.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def run(dsn: str):
    def command(*arguments: str, code: int = 0) -> str:
        done = stepwell("--database-url", api(dsn), *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return command


def test_the_causes_of_a_step_are_shown_down_to_the_root(run, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("inner", human("sign", role="office"))
    engine.publish("outer", subworkflow("call", "inner"), operation("after"))
    run_id = engine.start("outer")
    shown = run("why", f"{run_id}/after")
    assert "after waits for call (In progress).\n└─ call waits for its sub-workflow, run" in shown
    assert "   └─ sign waits for a person (role: office)." in shown
    assert f"what helps   stepwell step claim {run_id + 1}.1" in shown
    vietnamese = run("why", str(run_id), "--lang", "vi")
    assert "sign chờ một người thực hiện (vai trò: office)." in vietnamese
    assert "ai có thể làm  vai trò office" in vietnamese
    assert "what helps" in run("runs", "show", str(run_id))
    (_, root) = json.loads(run("why", str(run_id), "--json"))
    assert (root["code"], root["action"]) == ("human", "claim")
    assert json.loads(run("runs", "show", str(run_id), "--json"))["unblock_path"][-1]["code"] == "human"


def test_a_step_is_completed_and_corrected_on_the_command_line(run, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish(
        "w", human("sign", role="office", form={"type": "object", "required": ["ok"]}), operation("x")
    )
    run_id = engine.start("w")

    step = f"{run_id}/sign"
    run("user", "add", "ada", "--role", "office")
    run("user", "add", "ben", "--role", "lead", "--role", "reviewer")
    assert "ada: office" in run("user", "list")
    assert "sign" in run("inbox", "--as", "ada")
    assert "nothing to do" in run("inbox", "--as", "ben")
    assert "may not take" in run("step", "claim", step, "--as", "ben", code=1)
    assert "in_progress" in run("step", "claim", step, "--as", "ada")
    assert "► In progress" in run("step", "show", step)
    assert "Đang làm" in run("inbox", "--as", "ada", "--lang", "vi")
    assert "waiting" in run("step", "wait", step, "waiting_human", "waiting_external", "--as", "ada")
    assert "in_progress" in run("step", "resume", step, "--proof", "mail:1", "--as", "ada")
    assert "output.ok: the field is missing" in run("step", "complete", step, "--as", "ada", code=1)
    assert "completed" in run("step", "complete", step, "--output", '{"ok": true}', "--as", "ada")
    asked = run("approvals", "request", "reopen", step, "--as", "ada").split()[1].rstrip(":")
    shown = ("--shown", run("approvals", "show", asked).split()[-1])
    assert "cannot decide" in run("approvals", "approve", asked, "--as", "ada", *shown, code=1)
    assert "approved" in run("approvals", "approve", asked, "--as", "ben", *shown)
    assert "1 of 1" in run("approvals", "list", "--state", "approved")
    assert "depends on it" in run("step", "effect", step)
    refusal = run(
        "step", "reopen", step, "--reason", "data_error", "--approval", asked, "--as", "ada", code=1
    )
    assert "only a person with one of the roles operator, reviewer, admin can do this" in refusal
    reopened = run("step", "reopen", step, "--reason", "data_error", "--approval", asked, "--as", "ben")
    assert "in_progress" in reopened
    shown = json.loads(run("step", "show", step, "--json"))
    assert (shown["step"]["state_code"], shown["step"]["pic"]) == ("in_progress", "ada")
    assert "is not a step" in run("step", "claim", "sign", code=2)
    run("people", "calendar", "office", "--time-zone", "Asia/Ho_Chi_Minh", "--hours", "1-5:09:00-17:00")
    assert engine.one("select count(*) from calendar_hours") == 5


def test_a_person_sees_the_inputs_of_the_step(run, db: psycopg.Connection):
    engine = Engine(db)
    shown = {"amount": "$.input.amount", "to": "$.input.to", "lines": "$.input.lines"}
    engine.publish("w", human("sign", role="office", inputs=shown))
    run_id = engine.start("w", {"amount": 950.5, "to": "Ada Ltd", "lines": [{"sku": "x"}]})
    run("user", "add", "ada", "--role", "office")
    listed = run("inbox", "--as", "ada")
    assert "amount: 950.5" in listed
    assert "to: Ada Ltd" in listed
    card = run("step", "show", f"{run_id}/sign")
    assert [part in card for part in ("amount: 950.5", "to: Ada Ltd", 'lines: [{"sku": "x"}]')] == [True] * 3
    expected = {"amount": 950.5, "to": "Ada Ltd", "lines": [{"sku": "x"}]}
    assert json.loads(run("step", "show", f"{run_id}/sign", "--json"))["step"]["inputs"] == expected
    (found,) = json.loads(run("inbox", "--as", "ada", "--json"))
    assert found["inputs"] == expected
    (step,) = json.loads(run("runs", "show", str(run_id), "--json"))["steps"]
    assert step["inputs"] == expected


@pytest.mark.requirement("SM-13")
def test_items_are_named_by_number_and_the_escalation_is_shown(run, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish(
        "w",
        {"id": "all", "kind": "map", "over": "$.input.parts"},
        human("inspect", role="office", scope=1, escalation=[{"after": 600, "tell": "director"}]),
        edges=[],
    )
    run_id = engine.start("w", {"parts": ["a", "b"]})
    run("user", "add", "ada", "--role", "office")
    run("user", "add", "dao", "--role", "director")
    second = f"{run_id}/inspect[1]"
    assert run("step", "claim", second, "--as", "ada") == f"{second}: in_progress\n"
    assert second in run("inbox", "--as", "ada")
    assert run("inbox", "--as", "ada", "--escalated") == "nothing to do\n"
    assert run("inbox", "--as", "dao", "--lang", "vi") == "không có việc nào\n"
    run("step", "escalate", second, "--as", "ada", "--reason", "urgent")
    # In a narrow terminal the line is broken.
    shown = " ".join(run("inbox", "--as", "dao").split())
    assert "⇑ Escalated" in shown
    assert "to director" in shown
    assert "⇑ Đã báo lên director" in run("step", "show", second, "--lang", "vi")
    (escalated,) = json.loads(run("inbox", "--all", "--escalated", "--json"))
    assert (escalated["item_no"], escalated["escalation_level"], escalated["escalated_to"]) == (
        1,
        1,
        "director",
    )
    assert "has no step" in run("step", "claim", f"{run_id}/inspect[7]", "--as", "ada", code=1)
