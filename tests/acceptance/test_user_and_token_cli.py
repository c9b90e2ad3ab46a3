"""Accounts and tokens on the command line: who acts is the account of the terminal, or whom a token names."""

from __future__ import annotations

import json

import psycopg
import pytest

from stepwell.config import user_name
from tests.sql.drive import Engine, human, operation
from tests.support.processes import stepwell
from tests.support.roles import api

pytestmark = pytest.mark.timeout(600)

DEVELOPER = f"{user_name()}: MOT_template_generator, admin, operator, publisher, reviewer"


@pytest.fixture
def run(dsn: str):
    def command(*arguments: str, code: int = 0, token: str | None = None, as_owner: bool = False) -> str:
        env = {"STEPWELL_DATABASE_URL": dsn if as_owner else api(dsn)} | (
            {"STEPWELL_TOKEN": token} if token else {}
        )
        done = stepwell(*arguments, env=env)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return command


def test_accounts_are_added_shown_changed_and_ended(run, db: psycopg.Connection):
    assert run("user", "add", "ada", "--role", "lead", "--title", "Ada L.") == "ada: lead\n"
    run("user", "add", "billing", "--kind", "service", "--role", "publisher")
    assert run("user", "list") == f"ada (Ada L.): lead\nbilling: publisher, service\n{DEVELOPER}\n"
    assert (
        run("user", "roles", "add", "ada", "reviewer", "office") == "ada (Ada L.): lead, office, reviewer\n"
    )
    assert run("user", "roles", "remove", "Ada", "office") == "ada (Ada L.): lead, reviewer\n"
    shown = json.loads(run("user", "show", "ada", "--json"))
    assert (shown["roles"], "run.cancel" in shown["verbs"]) == (["lead", "reviewer"], True)
    assert "principal.change" not in shown["verbs"]
    assert run("user", "deactivate", "ada") == "ada (Ada L.): lead, reviewer, inactive\n"
    assert run("user", "roles", "add", "ada", "office") == "ada (Ada L.): lead, office, reviewer, inactive\n"
    assert run("user", "activate", "ada") == "ada (Ada L.): lead, office, reviewer\n"
    assert run("user", "show", "adda", code=1) == "stepwell: adda does not exist. Did you mean ada?\n"
    assert "nobody" in run("user", "roles", "add", "nobody", "x", code=1)
    assert "person, service or agent" in run("user", "add", "x", "--kind", "robot", code=1)
    assert "letters of two alphabets" in run("user", "add", "а" + "da", code=1)
    changes = db.execute(
        "select payload ->> 'name', payload -> 'roles' from event_log where event_type = 'principal.changed'"
        " order by event_id"
    ).fetchall()
    # The first one adds the person of the development mode.
    assert changes[3] == ("ada", ["lead", "office", "reviewer"])
    assert len(changes) == 8


def test_a_link_is_printed_once_and_sets_a_password(run, db: psycopg.Connection):
    text = run("user", "link", "ada", "--first-admin").strip()
    assert text.startswith("swl_")
    assert run("user", "list") == f"ada: admin\n{DEVELOPER}\n"
    made = json.loads(run("user", "link", "ada", "--expires", "2h", "--json"))
    assert (made["name"], made["purpose"]) == ("ada", "password_reset")
    secret = "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$" + "a" * 43
    db.execute("select fn_link_use(%s, %s)", (made["link"], secret))
    refused = run("user", "link", "ben", "--first-admin", code=1)
    assert "ada is an administrator and has a password" in refused
    token = run("token", "create", "ada", "--label", "t", "--expires", "1h").strip()
    assert "only the owner" in run("user", "link", "ben", "--first-admin", code=1, token=token)
    assert "nobody does not exist" in run("user", "link", "nobody", code=1)


def test_a_token_is_printed_once_listed_and_revoked(run, db: psycopg.Connection):
    run("user", "add", "billing", "--kind", "service")
    text = run(
        "token", "create", "billing", "--label", "nightly", "--expires", "2h", "--verb", "read"
    ).strip()
    assert text.startswith("sw_")
    (listed,) = json.loads(run("token", "list", "--json"))
    assert (listed["label"], listed["verbs"], listed["is_valid"]) == ("nightly", ["read"], True)
    assert text not in run("token", "list", "billing")
    assert run("token", "revoke", str(listed["token_id"])) == f"token {listed['token_id']} is revoked\n"
    assert "nightly, revoked" in run("token", "list")
    assert run("runs", "list", token=text, code=1) == (
        "stepwell: the token is unknown, has expired or is revoked.\n"
    )
    assert "run.fly is unknown" in run(
        "token", "create", "billing", "--label", "x", "--verb", "run.fly", code=1
    )
    assert run("token", "revoke", "4711", code=1) == "token 4711 does not exist.\n"


def test_with_a_token_a_command_acts_as_whom_it_belongs_to(run, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("w", human("sign", role="office"), operation("x"))
    run("user", "add", "ada", "--role", "office")
    ada = run("token", "create", "ada", "--label", "t").strip()
    run("start", "w", token=ada)
    (number,) = engine.db.execute("select run_id from workflow_run").fetchone()
    assert engine.one("select started_by from run_detail") == "cli:ada"
    assert "sign" in run("inbox", token=ada)
    assert run("step", "claim", f"{number}/sign", token=ada) == f"{number}/sign: in_progress\n"
    assert "bound to ada and cannot act as ben" in run(
        "step", "release", f"{number}/sign", "--as", "ben", token=ada, code=1
    )
    refused = run("runs", "cancel", str(number), token=ada, code=1)
    assert "run.cancel: neither the roles nor the token of ada allow this; roles that allow it:" in refused
    assert "reviewer" in refused.partition("roles that allow it: ")[2]
    narrow = run("token", "create", "ada", "--label", "n", "--verb", "read").strip()
    assert "run.start: neither" in run("start", "w", token=narrow, code=1)
    # Another tenant is not seen.
    db.execute("insert into tenant (tenant_code) values ('other')")
    other = Engine(db, 2)
    other.publish("secret", operation("a"))
    other.start("secret")
    assert "secret" not in run("runs", "list", token=ada) + run("workflows", "list", token=ada)


def test_the_owner_acts_as_an_operator_with_the_name_of_the_account(run, db: psycopg.Connection, monkeypatch):
    engine = Engine(db)
    engine.publish("w", operation("x"))
    number = engine.start("w")
    monkeypatch.setenv("LOGNAME", "olga")
    run("runs", "pause", str(number), as_owner=True)
    operator = "select kind, principal_name from principal where tenant_id = 0 and kind = 'operator'"
    assert db.execute(operator).fetchall() == [("operator", "olga")]
    assert engine.one("select actor from event_log where event_type = 'workflow.paused'") == "cli:olga"
