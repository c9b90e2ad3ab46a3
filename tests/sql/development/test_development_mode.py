"""Development mode: begun with a database that stepwell creates, left once; elsewhere strict rules hold."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.store.embedded.mark import mark_created
from stepwell.store.schema import migrate
from tests.sql.binding import APPLICATION_ROLES, as_role, token
from tests.sql.drive import Engine, operation
from tests.worker.acting import rule

MODE = "select mode, person from stepwell.fn_mode_read()"
APPROVALS = ("approval.required.workflow_cancel", "approval.required.replay")
BOUND = "select stepwell.bound_tenant(), stepwell.bound_principal()"


def ask_for_approvals(db: psycopg.Connection) -> None:
    db.execute("update dot_config set config_value = 'true' where config_key = any (%s)", (list(APPROVALS),))


@pytest.fixture
def developing(engine: Engine) -> Engine:
    """A database as stepwell creates it for the account ada."""
    engine.db.execute("select _development_enter('ada')")
    ask_for_approvals(engine.db)
    return engine


def waived(engine: Engine) -> list[tuple[str, str, str]]:
    return engine.db.execute(
        "select payload ->> 'action', actor, payload ->> 'because' from event_log"
        " where event_type = 'approval.waived' order by event_id"
    ).fetchall()


def dead_run(engine: Engine) -> int:
    run_id = engine.start("w")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    return run_id


@pytest.mark.requirement("SM-15")
def test_a_database_of_somebody_else_is_strict_and_stays_so(empty_dsn: str):
    """An address may carry settings of the session: they do not mark a database."""
    forged = psycopg.conninfo.make_conninfo(empty_dsn, options="-cstepwell.created_for=mallory")
    migrate.migrate(forged)
    with psycopg.connect(empty_dsn, autocommit=True, options="-csearch_path=stepwell,public") as db:
        assert db.execute(MODE).fetchone() == ("strict", None)
        settings = db.execute(
            "select config_key, config_value from dot_config where config_key = any (%s)", (list(APPROVALS),)
        ).fetchall()
        assert dict(settings) == dict.fromkeys(APPROVALS, True)
        # A mark that comes later has no effect: the schema is not new any more.
        mark_created(db, db.info.dbname)
        migrate.migrate(empty_dsn)
        assert db.execute(MODE).fetchone() == ("strict", None)
        assert db.execute("select count(*) from development_mode").fetchone() == (0,)


def test_a_database_that_stepwell_creates_begins_in_development_mode(empty_dsn: str, monkeypatch):
    monkeypatch.setenv("LOGNAME", "ada")
    with psycopg.connect(empty_dsn, autocommit=True) as db:
        mark_created(db, db.info.dbname)
        migrate.migrate(empty_dsn)
        assert db.execute(MODE).fetchone() == ("development", "ada")
        person = "select person_name, roles from stepwell.v_person"
        assert db.execute(person).fetchall() == [
            ("ada", ["MOT_template_generator", "admin", "operator", "publisher", "reviewer"])
        ]
        assert db.execute(
            "select actor, payload from stepwell.event_log where event_type = 'development.entered'"
        ).fetchall() == [("engine", {"person": "ada"})]
        # The mark is gone, so a schema that is made again in this database is strict.
        db.execute("drop schema stepwell cascade")
        migrate.migrate(empty_dsn)
        assert db.execute(MODE).fetchone() == ("strict", None)


@pytest.mark.parametrize("account", ["engine", "api", "a:b", "", "\u202eada"])
def test_an_account_whose_name_is_not_accepted_is_called_developer(engine: Engine, account: str):
    engine.db.execute("select _development_enter(%s)", (account,))
    assert engine.db.execute(MODE).fetchone() == ("development", "developer")


def test_a_database_in_use_does_not_enter_the_mode(engine: Engine):
    engine.db.execute("select fn_person_set(1, 'ben')")
    engine.db.execute("select _development_enter('ada')")
    assert engine.db.execute(MODE).fetchone() == ("strict", None)


@pytest.mark.parametrize("role", ["stepwell_api", "stepwell_reader"])
def test_where_nobody_is_bound_the_person_of_the_mode_acts(developing: Engine, role: str):
    db = developing.db
    other = developing.one("insert into tenant (tenant_code) values ('other') returning tenant_id")
    runs = {}
    for driver in (developing, Engine(db, other)):
        driver.publish("w", operation("a"))
        runs[driver.tenant_id] = driver.start("w")
    (ada,) = db.execute("select principal_id from principal where principal_name = 'ada'").fetchone()
    with as_role(db, role):
        assert db.execute(BOUND).fetchone() == (1, ada)
        assert db.execute("select run_id from stepwell.workflow_run").fetchall() == [(runs[1],)]
        # A setting that is odd in any way binds nothing, in this mode too.
        db.execute("select set_config('stepwell.binding', '1:1:0:' || repeat('0', 64), true)")
        assert db.execute(BOUND).fetchone() == (None, None)


def test_the_api_acts_as_the_person_of_the_mode_or_as_whom_it_names(developing: Engine):
    db = developing.db
    developing.person("cleo")
    developing.publish("w", operation("a"))
    run_id = developing.start("w")
    db.execute("insert into tenant (tenant_code) values ('other')")
    with as_role(db, "stepwell_api"):
        for call, words in {
            f"fn_run_cancel(1, {run_id}, 'ben')": "nobody is called ben",
            f"fn_run_cancel(1, {run_id}, 'cleo')": "neither the roles nor the token of cleo allow this",
            "fn_policy_activate(1, 1, 'cleo')": "neither the roles nor the token of cleo allow this",
            f"fn_run_cancel(2, {run_id}, 'ada')": "cannot act for tenant 2",
        }.items():
            with pytest.raises(psycopg.Error, match=words), db.transaction():
                db.execute(f"select stepwell.{call}")
        db.execute("select stepwell.fn_run_cancel(1, %s, 'api:ada')", (run_id,))
        db.execute("set local role none")
        assert db.execute(
            "select actor from event_log where event_type = 'workflow.cancelled'"
        ).fetchall() == [("api:ada",)]


def test_a_token_binds_somebody_else_in_this_mode_too(developing: Engine):
    text = token(developing.db, 1, "ben", ())
    with (
        pytest.raises(psycopg.Error, match="nor the token of ben"),
        as_role(developing.db, "stepwell_api", text),
    ):
        developing.db.execute("select stepwell.fn_person_set(1, 'cleo')")


def test_only_the_unbound_person_of_the_mode_puts_the_first_policy_in_force(developing: Engine):
    db = developing.db
    developing.one(
        "select fn_policy_propose(1, %s, 'source', 'ada', 'why')", (Jsonb([rule("one", "allow")]),)
    )
    activate = "select stepwell.fn_policy_activate(1, 1, %s)"
    with as_role(db, "stepwell_api"):
        assert developing.one(activate, ("ada",)) == "active"
    everything = ("admin", "operator", "publisher", "reviewer")
    tokens = {name: token(db, 1, name, everything) for name in ("ada", "ben")}
    for name, text in (("ben", None), *tokens.items()):
        with (
            pytest.raises(psycopg.Error, match="only the owner") as caught,
            as_role(db, "stepwell_api", text),
        ):
            db.execute(activate, (name,))
        assert caught.value.sqlstate == "SW007"
    developing.one("select fn_development_leave('cli:ada')")
    for name, text in (("ada", None), *tokens.items()):
        with pytest.raises(psycopg.Error) as caught, as_role(db, "stepwell_api", text):
            db.execute(activate, (name,))
        assert caught.value.sqlstate == "SW007"
    assert developing.one("select count(*) from policy_active") == 0


@pytest.mark.requirement("SM-15")
def test_the_engine_grants_cancels_and_replays_and_says_so(developing: Engine):
    developing.publish("w", operation("a"))
    run_id = developing.start("w")
    assert developing.one("select fn_run_cancel(1, %s, 'cli:ada')", (run_id,)) == "cancelled"
    because = "the database is in development mode"
    assert waived(developing) == [("workflow_cancel", "engine", because)]
    dead = dead_run(developing)
    rehearsed = "select fn_replay_rehearse(1, '{}') ->> 'is_waived'"
    assert developing.one(rehearsed) == "true"
    # Two people are asked in every mode.
    many = "update dot_config set config_value = '0' where config_key = 'replay.two_person_count'"
    with developing.db.transaction(force_rollback=True):
        developing.db.execute(many)
        assert developing.one(rehearsed) == "false"
    retried = developing.one("select fn_run_retry(1, %s, 'cli:ada')", (dead,))
    assert retried["state"] == "replayed"
    assert waived(developing) == [("workflow_cancel", "engine", because), ("replay", "engine", because)]
    granted = "select actor, payload ->> 'reason' from event_log where event_type = 'approval.approved'"
    assert developing.db.execute(granted).fetchall() == [("engine", because)]
    assert developing.faults() == {}


def test_leaving_the_mode_is_an_event_and_cannot_be_undone(developing: Engine):
    db = developing.db
    assert developing.one("select fn_development_leave('cli:ada')") is True
    assert developing.one("select fn_development_leave('cli:ada')") is False
    assert db.execute(MODE).fetchone() == ("strict", None)
    left = "select actor, payload from event_log where event_type = 'development.left'"
    assert db.execute(left).fetchall() == [("cli:ada", {"person": "ada"})]
    for again in (
        "update development_mode set left_at = null, left_by = null",
        "update development_mode set left_at = now()",
        "delete from development_mode",
        "truncate development_mode",
    ):
        with pytest.raises(psycopg.Error, match="can only be left") as caught:
            db.execute(again)
        assert caught.value.sqlstate == "SW003"
    with pytest.raises(psycopg.errors.UniqueViolation):
        db.execute(
            "insert into development_mode (tenant_id, principal_id, entered_at)"
            " select tenant_id, principal_id, now() from principal where principal_name = 'ada'"
        )
    db.execute("select _development_enter('ada')")
    assert db.execute(MODE).fetchone() == ("strict", None)


@pytest.mark.requirement("SM-15")
def test_after_leaving_the_strict_rules_hold(developing: Engine):
    db = developing.db
    developing.one("select fn_development_leave('cli:ada')")
    developing.publish("w", operation("a"))
    run_id = developing.start("w")
    with pytest.raises(psycopg.Error, match="workflow_cancel") as caught:
        db.execute("select fn_run_cancel(1, %s, 'cli:ada')", (run_id,))
    assert caught.value.sqlstate == "SW004"
    developing.one("select fn_job_cancel(1, %s, 'cli:ada')", (developing.unit(run_id, "a"),))
    retried = developing.one("select fn_run_retry(1, %s, 'cli:ada')", (dead_run(developing),))
    assert retried["state"] == "approval_requested"
    assert waived(developing) == []
    with as_role(db, "stepwell_api"):
        assert db.execute(BOUND).fetchone() == (None, None)
        with pytest.raises(psycopg.Error, match="bound to no tenant"):
            db.execute("select stepwell.fn_person_set(1, 'ben')")


@pytest.mark.parametrize("role", APPLICATION_ROLES)
def test_no_application_role_writes_or_leaves_the_mode(developing: Engine, role: str):
    for statement in (
        "select stepwell.fn_development_leave('ada')",
        "select stepwell._development_enter('ada')",
        "select stepwell._development_bind(null)",
        "select * from stepwell.development_mode",
        "update stepwell.development_mode set left_at = now(), left_by = 'x'",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), as_role(developing.db, role):
            developing.db.execute(statement)
    with as_role(developing.db, role):
        assert developing.db.execute(MODE).fetchone() == ("development", "ada")
