"""Policies on the command line: checked with line numbers, tested, explained, proposed, put in force."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from tests.support.processes import ROOT, stepwell
from tests.support.roles import api

POLICY = ROOT / "examples" / "policy.yaml"


@pytest.fixture
def run(dsn: str, db: psycopg.Connection):
    db.execute("select fn_person_set(1, 'ada', array['admin'])")

    def call(*arguments: str | Path):
        return stepwell(*arguments, env={"STEPWELL_DATABASE_URL": api(dsn), "COLUMNS": "240"})

    return call


def test_a_policy_file_is_checked_and_errors_name_the_line(run, tmp_path):
    assert run("policy", "check", POLICY).stdout == f"{POLICY}: 5 rules and 5 cases, no problem found\n"
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(
        "rules:\n"
        "  - name: a\n"
        "    priority: 1\n"
        "    match: $.conector == 1\n"
        "    effect: permit\n"
        "    reason: why\n"
        "  - name: a\n"
        "    priority: 1\n"
        "    match: any\n"
        "    effect: needs_approval\n"
    )
    found = run("policy", "check", wrong)
    assert found.returncode == 2
    assert found.stderr.splitlines() == [
        f"{wrong}:5:13: effect: allow, deny or needs_approval is required",
        f"{wrong}:4:12: match: an action has no conector; it has tenant, workflow, step, run_id, connector, "
        "operation, target, fields, reversible, writes, reverses, actor, started_by, attempt, input",
        f"{wrong}:7:11: name: a is the name of rule 1 already",
        f"{wrong}:8:15: priority: 1 is the priority of rule 1 already",
        f"{wrong}:7:5: reason: a text of 1 to 500 characters is required",
        f"{wrong}:7:5: tier: low, med or high is required where the effect is needs_approval",
        "stepwell: 6 problems found.",
    ]
    wrong.write_text("rulez: []\ncases:\n  - action: 5\n    expect: maybe\n")
    found = run("policy", "check", wrong)
    assert 'wrong.yaml:1:1: the key "rulez" is not known (did you mean "rules"?)' in found.stderr
    assert "wrong.yaml:3:13: action: is not a mapping; accepted: a mapping" in found.stderr


def test_the_cases_of_a_policy_file_are_run(run, tmp_path):
    found = run("policy", "test", POLICY)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.splitlines()[-1] == "5 of 5 cases passed"
    cases = tmp_path / "cases.yaml"
    cases.write_text(
        "cases:\n"
        "  - name: reading\n"
        "    action: {connector: shop, operation: get, target: /x, writes: false}\n"
        "    expect: deny\n"
    )
    found = run("policy", "test", cases, "--policy", POLICY)
    assert found.returncode == 1
    assert "WRONG" in found.stdout
    assert f"{cases}:2 reading: expected effect deny; got allow" in found.stdout
    assert run("policy", "test", cases).returncode == 1, "no policy is in force"


@pytest.mark.requirement("RT-06")
def test_a_policy_is_proposed_put_in_force_explained_and_changed(run, db: psycopg.Connection, tmp_path):
    assert run("policy", "list").stdout == "no policy yet: every action is denied\n"
    denied = run("policy", "explain", "shop", "order", "/orders")
    assert denied.stdout == "deny: no policy is in force (no_policy)\n"
    proposed = run("policy", "propose", POLICY, "--as", "ada", "--reason", "the first")
    assert proposed.stdout.splitlines()[1:] == [
        "  + 10 reads-are-free: allow", "  + 20 nothing-on-sundays: deny", "  + 25 undoing: needs_approval",
        "  + 30 small-orders: allow", "  + 40 large-orders: needs_approval",
    ]  # fmt: skip
    assert run("policy", "activate", "1").stdout == "version 1: active\n"
    shown = run("policy", "show").stdout
    assert shown.startswith("version 1, active since")
    assert "needs approval (high, two of role lead)" in shown
    said = run("policy", "explain", "shop", "order", "/orders", "-f", "amount=5000").stdout
    assert said.startswith("needs approval (high, two people): ")
    assert "not evaluated" not in said
    small = run("policy", "explain", "shop", "order", "/orders", "-f", "amount=50").stdout
    assert "not evaluated" in small, "the rules after the one that decides"
    changed = tmp_path / "changed.yaml"
    changed.write_text(
        "rules:\n  - {name: stop, priority: 1, match: any, effect: deny, reason: closed for the audit}\n"
    )
    assert run("user", "add", "ben").returncode == 0
    proposed = run("policy", "propose", changed, "--as", "ada")
    assert "  - 10 reads-are-free: allow" in proposed.stdout
    approval = db.execute("select approval_id from v_approval where state_code = 'requested'").fetchone()[0]
    particulars = run("approvals", "show", str(approval)).stdout
    assert "rule added: stop" in particulars
    assert "  effect = deny" in particulars
    shown = particulars.rsplit("shown: ", 1)[1].strip()
    assert run("policy", "activate", "2").returncode == 1
    assert run("approvals", "approve", str(approval), "--as", "ben", "--shown", shown).stdout.endswith(
        "approved\n"
    )
    found = json.loads(run("policy", "explain", "shop", "get", "/orders", "--json").stdout)
    assert (found["verdict"]["effect"], found["verdict"]["rule"]) == ("deny", "stop")
    versions = json.loads(run("policy", "list", "--json").stdout)
    assert [(one["version_no"], one["state_code"]) for one in versions] == [(2, "active"), (1, "replaced")]


def test_the_error_names_a_missing_argument_or_object(run):
    assert run("policy", "explain", "shop").stderr == (
        "stepwell: operation is missing: give connector, operation and target.\n"
    )
    assert run("receipts", "list").stdout == "no receipts\n"
    assert run("receipts", "show", "7").stderr == "stepwell: receipt 7 does not exist.\n"
    assert run("reverse", "7").stderr == "stepwell: receipt 7 does not exist.\n"
    assert run("policy", "show").stderr == (
        "stepwell: no policy is in force: propose one with 'stepwell policy propose FILE'.\n"
    )


def test_the_approval_of_a_policy_belongs_to_no_run(run):
    assert run("policy", "propose", POLICY, "--as", "ada", "--reason", "first").returncode == 0
    (found,) = json.loads(run("approvals", "list", "--json").stdout)
    assert (found["action"], found["run_id"]) == ("proposal", None)
    heading, row = run("approvals", "list").stdout.splitlines()
    assert row[heading.index("RUN") : heading.index("ABOUT")].strip() == ""
