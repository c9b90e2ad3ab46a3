"""The login roles of the processes: made, printed, granted, missed by the doctor, used behind a pooler."""

from __future__ import annotations

import json

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from stepwell.config import user_name
from stepwell.store.embedded import roles
from tests.support.processes import stepwell
from tests.support.roles import api, as_process, bound_token

GRANTED = """select coalesce(bool_and(has_function_privilege(%s, p.oid, 'execute')), false) from pg_proc as p
             where p.pronamespace = 'stepwell'::regnamespace and p.proname = %s"""


def findings(dsn: str, **env: str) -> dict[str, dict[str, str]]:
    done = stepwell("--database-url", dsn, "doctor", "--json", env=env)
    return {finding["check"]: finding for finding in json.loads(done.stdout)}


def may(db: psycopg.Connection, role: str, function: str) -> bool:
    return db.execute(GRANTED, (role, function)).fetchone() == (True,)


def test_a_missing_right_is_named_and_granted_again(dsn, db):
    db.execute("revoke execute on function fn_job_claim(bigint, int) from stepwell_worker")
    found = findings(dsn)["roles"]
    assert found["level"] == "failed"
    assert found["detail"] == "role stepwell_worker may not execute fn_job_claim"
    assert "stepwell db roles" in found["remedy"]
    done = stepwell("--database-url", dsn, "db", "roles")
    assert done.returncode == 0, done.stderr
    assert "stepwell_keeper" in done.stdout
    assert findings(dsn)["roles"]["level"] == "ok"
    assert may(db, "stepwell_worker", "fn_job_claim")


def test_migrate_grants_the_rights_of_a_role_that_appears_later(dsn, db):
    """A new role has no right in the schema, not even to use it."""
    db.execute("revoke all on all functions in schema stepwell from stepwell_keeper")
    db.execute("revoke usage on schema stepwell from stepwell_keeper")
    assert stepwell("--database-url", dsn, "db", "migrate").returncode == 0
    assert may(db, "stepwell_keeper", "fn_timers_fire")
    assert not may(db, "stepwell_keeper", "fn_job_claim")


def test_the_sql_is_printed_with_hashes_and_nothing_changes(dsn, db):
    before = db.execute("select rolname, rolpassword from pg_authid order by 1").fetchall()
    done = stepwell("--database-url", dsn, "db", "roles", "--print", "--passwords")
    assert done.returncode == 0, done.stderr
    *_, note, api, keeper, reader, slack, worker = done.stdout.splitlines()
    assert "db migrate" in note
    for line, role in zip((api, keeper, reader, slack, worker), roles.ROLES, strict=True):
        name, password = line.split()
        assert name == role
        assert password not in done.stdout.partition(note)[0]
    assert "SCRAM-SHA-256$" in done.stdout
    assert db.execute("select rolname, rolpassword from pg_authid order by 1").fetchall() == before


def test_a_program_reads_roles_sql_and_passwords_as_json(dsn, db):
    printed = json.loads(
        stepwell("--database-url", dsn, "db", "roles", "--print", "--passwords", "--json").stdout
    )
    assert [one["role"] for one in printed["roles"]] == list(roles.ROLES)
    assert len({one["password"] for one in printed["roles"]}) == len(roles.ROLES)
    assert printed["rights_granted"] is False
    assert all(statement.endswith(";") for statement in printed["sql"])
    assert "SCRAM-SHA-256$" in " ".join(printed["sql"])
    db.execute("revoke execute on function fn_job_claim(bigint, int) from stepwell_worker")
    made = json.loads(stepwell("--database-url", dsn, "db", "roles", "--json").stdout)
    assert made == {
        "roles": [{"role": role, "password": None} for role in roles.ROLES],
        "rights_granted": True, "sql": None,
    }  # fmt: skip
    assert may(db, "stepwell_worker", "fn_job_claim")


def test_a_role_that_may_not_create_roles_is_told(dsn, plain_role):
    done = stepwell("--database-url", plain_role(dsn), "db", "roles", "--passwords")
    assert done.returncode == 1
    assert "may not create roles" in done.stderr
    assert "--print" in done.stderr


@pytest.mark.parametrize("process", ["api", "keeper", "reader", "slack", "worker"])
def test_the_doctor_accepts_the_role_of_a_process(dsn, process):
    found = findings(as_process(dsn, process))
    # The server of the tests writes without fsync, for speed.
    failed = {check for check, finding in found.items() if finding["level"] == "failed"}
    assert failed <= {"fsync", "full_page_writes"}, [found[check] for check in failed]
    assert found["permissions"]["detail"].startswith(f"role stepwell_{process} has the rights of a process")


def test_the_doctor_says_that_a_worker_has_no_keeper(dsn):
    found = findings(as_process(dsn, "worker"))["keeper"]
    assert found["detail"] == "role stepwell_worker is no keeper: timers, retries and schedules wait for one"
    assert "STEPWELL_KEEPER_URL" in found["remedy"]
    assert "keeper" not in findings(as_process(dsn, "worker"), STEPWELL_KEEPER_URL=as_process(dsn, "keeper"))


@pytest.fixture
def strict(db: psycopg.Connection) -> None:
    """The database has left its development mode, in which an unbound transaction is that of its person."""
    db.execute("select fn_development_leave(%s)", (f"cli:{user_name()}",))


@pytest.mark.usefixtures("strict")
def test_the_api_role_reads_only_with_a_token(dsn):
    """Before, it read `tenant default does not exist`, `no runs`, `no policy yet`."""
    env = {"STEPWELL_DATABASE_URL": api(dsn)}
    for command in (("runs", "list"), ("policy", "show")):
        done = stepwell(*command, env=env)
        assert done.returncode == 1, done.stdout
        assert "bound to no tenant" in done.stderr
        assert "STEPWELL_TOKEN" in done.stderr
    env["STEPWELL_TOKEN"] = "sw_wrong"
    done = stepwell("runs", "list", env=env)
    assert (done.returncode, "the token is unknown" in done.stderr) == (1, True)
    env["STEPWELL_TOKEN"] = bound_token(dsn)
    assert stepwell("runs", "list", env=env).returncode == 0


@pytest.mark.usefixtures("strict")
def test_a_binding_behind_a_pooler_ends_with_its_transaction(pgbouncer, dsn):
    """PgBouncer in transaction mode gives the backend to another client after each transaction."""
    token, query = bound_token(dsn), "select pg_backend_pid(), (select count(*) from stepwell.tenant)"
    pooled = make_conninfo(pgbouncer, user="stepwell_api")
    with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as first:
        with first.transaction():
            first.execute("select * from stepwell.fn_session_bind(%s)", (token,))
            bound = first.execute(query).fetchone()
        with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as second:
            other = second.execute(query).fetchone()
        again = first.execute(query).fetchone()
    assert bound is not None
    assert bound[1] == 1
    assert [other, again] == [(bound[0], 0)] * 2, "the same backend, and not bound"
    done = stepwell("runs", "list", env={"STEPWELL_DATABASE_URL": pooled, "STEPWELL_TOKEN": token})
    assert done.returncode == 0, done.stderr
