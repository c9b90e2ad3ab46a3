"""Approvals on the command line: approvers, roles and tiers; a run is cancelled with an approval."""

from __future__ import annotations

import json

import psycopg
import pytest

from stepwell.config import user_name
from tests.sql.drive import Engine, operation
from tests.support.processes import stepwell
from tests.support.roles import api, bound_token


@pytest.fixture
def run(dsn: str, db: psycopg.Connection):
    """Runs a command with the token of a person; the database has left its development mode."""
    db.execute("select fn_development_leave(%s)", (f"cli:{user_name()}",))
    held = {"ada": "operator", "ben": "lead", "cleo": "clerk", "dan": "clerk"}
    tokens = {name: bound_token(dsn, name, "person", role) for name, role in held.items()}

    def call(*arguments: str, by: str = "ada"):
        env = {"STEPWELL_DATABASE_URL": api(dsn), "STEPWELL_TOKEN": tokens[by], "COLUMNS": "200"}
        return stepwell(*arguments, env=env)

    return call


def test_a_run_is_cancelled_with_the_approval_of_a_lead(run, db: psycopg.Connection):
    db.execute(
        "update dot_config set config_value = 'true' where config_key = 'approval.required.workflow_cancel'"
    )
    engine = Engine(db)
    engine.publish("w", operation("a"))
    number = engine.start("w")
    refused = run("runs", "cancel", str(number))
    assert refused.returncode == 1
    assert refused.stderr == (
        "run 1 cannot become cancelled: a granted approval of the action workflow_cancel is required:"
        " ask for it with `stepwell approvals request workflow_cancel 1.0`, then cancel with --approval.\n"
    )
    asked = run(
        "approvals", "request", "workflow_cancel", "1.0", "--tier", "3",
        "--role", "lead", "--approver", "cleo", "--reason", "no longer needed",
    )  # fmt: skip
    approval = asked.stdout.split()[1].rstrip(":")
    shown = run("approvals", "show", approval).stdout
    digest = shown.split()[-1]
    assert [line.strip() for line in shown.splitlines()[2:]] == [
        "asked: no longer needed", "tier high", "decided by cleo or role lead",
        f"shown: {digest}",
    ]  # fmt: skip
    assert run("approvals", "approve", approval, "--shown", digest, by="dan").stderr == (
        f"stepwell: approval {approval} can only be decided by cleo or the role lead.\n"
    )
    blind = run("approvals", "approve", approval, by="ben")
    assert (blind.returncode, "--shown is missing" in blind.stderr) == (2, True), blind.stderr
    other = run("approvals", "approve", approval, "--shown", "0" * 64, by="ben")
    assert "is not what was shown" in other.stderr
    granted = run("approvals", "approve", approval, "--shown", digest, by="ben")
    assert granted.stdout == f"approval {approval}: approved\n"
    assert run("runs", "cancel", str(number), "--approval", approval).stdout == f"run {number} is cancelled\n"
    (found,) = json.loads(run("approvals", "list", "--json").stdout)
    assert (found["state_code"], found["approver_role"], found["approvers"]) == ("approved", "lead", ["cleo"])
