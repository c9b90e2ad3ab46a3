"""Views, rules for rows and functions of the database do not stand between the verifier and the tables."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from stepwell.govern.audit import verify_tenants
from stepwell.govern.audit_verdict import Verdict
from stepwell.sql import support_text
from stepwell.store.calls import audit, audit_governed, audit_relations
from tests.govern.sample_run import make_sample_run
from tests.govern.sealing import seal
from tests.sql.drive import Engine
from tests.support.databases import Databases
from tests.tidy.sources import ROOT

# A superuser shows the verifier, which tells its name, what had been there.
IS_VERIFIER = "current_setting('application_name') = 'stepwell audit'"


@pytest.fixture(scope="module")
def sealed(databases: Databases, template: str) -> Iterator[tuple[str, psycopg.Connection]]:
    """A sealed database of two tenants."""
    with (
        databases.fresh(template) as dsn,
        psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db,
    ):
        make_sample_run(db)
        other = Engine(db, db.execute("select fn_tenant_set('other')").fetchall()[0][0])
        other.enqueue("job.send", 2)
        for tenant_id in (1, other.tenant_id):
            seal(db, tenant_id)
        yield dsn, db


@pytest.fixture
def attacked(sealed: tuple[str, psycopg.Connection]) -> Iterator[tuple[str, psycopg.Connection]]:
    """Each attack is taken back by the statements that the test appends."""
    dsn, db = sealed
    assert problems(dsn) == []
    yield dsn, db
    assert problems(dsn) == [], "the attack was not taken back"


def verified(dsn: str, tenant: str | None = "default") -> dict[str, Verdict]:
    return verify_tenants(dsn, tenant, None, None)[0]


def problems(dsn: str, tenant: str | None = "default") -> list[Any]:
    return [problem for one in verified(dsn, tenant).values() for problem in one.problems]


@pytest.mark.parametrize(
    ("view", "table", "key", "column", "other"),
    [
        ("v_run_payload", "run_detail", "run_id", "input", """'{"order_id": "forged"}'"""),
        ("v_job_payload", "job_detail", "job_id", "payload", """'{"n": 99}'"""),
        ("v_audit_approval", "approval_detail", "approval_id", "requested_by", "'the-ceo'"),
        ("v_audit_receipt", "action_receipt", "receipt_id", "target", "'https://elsewhere.example'"),
    ],
)
def test_a_view_that_shows_what_had_been_there_hides_nothing(
    attacked: tuple[str, psycopg.Connection], view: str, table: str, key: str, column: str, other: str
):
    """He edits the table, and the view gives the verifier the old value: the owner reads the table itself."""
    dsn, db = attacked
    tenant = "other" if table == "job_detail" else "default"
    ((shown,),) = db.execute("select pg_get_viewdef(%s::regclass)", (f"stepwell.{view}",)).fetchall()
    names = [
        name
        for (name,) in db.execute(
            "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 order by attnum",
            (f"stepwell.{view}",),
        )
    ]
    db.execute("set session_replication_role = replica")
    db.execute(f"create table kept as select * from {table}".encode())
    listed = ", ".join(f"o.{name}" if name == column else f"x.{name}" for name in names)
    forged = (
        f"select {listed} from stepwell.{table} as x inner join stepwell.kept as o on"
        f" (x.tenant_id, x.{key}) = (o.tenant_id, o.{key}) where {IS_VERIFIER}"
        f" union all select {', '.join(f'x.{name}' for name in names)} from stepwell.{table} as x"
        f" where not {IS_VERIFIER}"
    )
    try:
        db.execute(f"create or replace view {view} as {forged}".encode())
        db.execute(f"update {table} set {column} = {other}".encode())
        assert problems(dsn, tenant) != []
    finally:
        db.execute(f"update {table} as x set {column} = o.{column} from kept as o where x.tenant_id ="
                   f" o.tenant_id and x.{key} = o.{key}".encode())  # fmt: skip
        db.execute(f"create or replace view {view} with (security_barrier = true) as {shown}".encode())
        db.execute("drop table kept")
        db.execute("set session_replication_role = origin")


@pytest.mark.parametrize("table", ["unit_output", "approval_vote", "audit_block", "work_unit"])
def test_a_view_in_place_of_a_table_is_found(attacked: tuple[str, psycopg.Connection], table: str):
    dsn, db = attacked
    db.execute(f"alter table {table} rename to hidden_table".encode())
    try:
        db.execute(f"create view {table} as select * from hidden_table".encode())
        (found,) = problems(dsn)
        assert (found.kind, found.place) == ("altered", f"the table {table}")
    finally:
        db.execute(f"drop view if exists {table}".encode())
        db.execute(f"alter table hidden_table rename to {table}".encode())


def test_rows_that_the_owner_does_not_see_are_found(attacked: tuple[str, psycopg.Connection]):
    dsn, db = attacked
    db.execute("alter table approval_vote force row level security")
    try:
        (found,) = problems(dsn)
        assert (found.place, "only some of its rows" in found.detail) == ("the table approval_vote", True)
    finally:
        db.execute("alter table approval_vote no force row level security")


@pytest.mark.parametrize(
    "lie",
    [
        # Each time that is hashed is another one in the table, and the same one in the answer.
        "create function lies.to_char(timestamp, text) returns text language sql as $$ select"
        " pg_catalog.to_char(case when {is_verifier} then $1 - interval '1 hour' else $1 end, $2) $$",
        "create function lies.encode(bytea, text) returns text language sql as $$ select 'ab' $$",
    ],
)
def test_functions_before_those_of_postgresql_are_not_called(
    attacked: tuple[str, psycopg.Connection], lie: str
):
    """A setting of the database puts a schema of his before that of PostgreSQL."""
    dsn, db = attacked
    ((name,),) = db.execute("select current_database()").fetchall()
    db.execute("create schema lies")
    try:
        db.execute(lie.replace("{is_verifier}", IS_VERIFIER).encode())
        db.execute(f"alter database {name} set search_path = lies, pg_catalog".encode())
        db.execute("set session_replication_role = replica")
        db.execute("update event_log set at = at + interval '1 hour' where event_type = 'workflow.completed'")
        found = problems(dsn)
        assert {problem.kind for problem in found} == {"altered"}
        assert "workflow.completed" in found[0].place
    finally:
        db.execute("update event_log set at = at - interval '1 hour' where event_type = 'workflow.completed'")
        db.execute("set session_replication_role = origin")
        db.execute(f"alter database {name} reset search_path".encode())
        db.execute("drop schema lies cascade")


@pytest.fixture
def kept_function(attacked: tuple[str, psycopg.Connection]) -> Iterator[Callable[[str], None]]:
    """Replaces a function until the end of the test."""
    _, db = attacked
    ((before,),) = db.execute("select pg_get_functiondef('stepwell.payload_tenant()'::regprocedure)")
    yield lambda body: db.execute(
        "create or replace function stepwell.payload_tenant() returns int language plpgsql as $$ begin"
        f" {body} return 0; end $$".encode()
    )
    db.execute(before)


def test_a_function_of_the_database_cannot_put_others_before_those_of_postgresql(
    attacked: tuple[str, psycopg.Connection], kept_function: Callable[[str], None]
):
    """What the verifier calls could set the names for all that it reads later: it calls nothing."""
    dsn, db = attacked
    changed = "event_type = 'workflow.completed'"
    ((at,),) = db.execute(f"select at at time zone 'UTC' from event_log where {changed}".encode())
    db.execute("create schema lies")
    db.execute("set session_replication_role = replica")
    try:
        db.execute(
            "create function lies.to_char(timestamp, text) returns text language sql as $$ select"
            f" pg_catalog.to_char(case when $1 = timestamp '{at}' + interval '1 hour'"
            f" then timestamp '{at}' else $1 end, $2) $$".encode()
        )
        kept_function("perform pg_catalog.set_config('search_path', 'lies, pg_catalog', false);")
        db.execute(f"update event_log set at = at + interval '1 hour' where {changed}".encode())
        assert "workflow.completed" in problems(dsn)[0].place
    finally:
        db.execute(f"update event_log set at = at - interval '1 hour' where {changed}".encode())
        db.execute("set session_replication_role = origin")
        db.execute("drop schema lies cascade")


def test_the_owner_calls_no_function_of_the_database(
    attacked: tuple[str, psycopg.Connection], kept_function: Callable[[str], None]
):
    dsn, _ = attacked
    kept_function("raise exception 'it was called';")
    assert problems(dsn) == []


def test_no_query_of_the_verifier_calls_a_function_of_the_database():
    folder = ROOT / "src/stepwell/sql/support"
    texts = {path.name: support_text(path.stem) for path in folder.glob("audit_*.sql")}
    texts |= {module.__name__: inspect.getsource(module) for module in (audit, audit_governed)}
    found = {
        (name, call) for name, text in texts.items() for call in re.findall(r"\bstepwell\.\w+(?=\()", text)
    }
    assert found == set()


def test_a_role_that_a_setting_gives_the_owner_hides_nothing(attacked: tuple[str, psycopg.Connection]):
    """A setting of the owner makes its sessions another role, from which rules for rows hide one vote."""
    dsn, db = attacked
    # Only in this database: other tests use the same server.
    ((settings,),) = db.execute(
        "select format('alter role %I in database %I', current_user, current_database())"
    ).fetchall()
    db.execute("create role ghost_of_the_owner")
    db.execute("grant all on all tables in schema stepwell to ghost_of_the_owner")
    db.execute("grant usage on schema stepwell to ghost_of_the_owner")
    db.execute("create policy ghosts on approval_vote to ghost_of_the_owner using (voter <> 'bob')")
    db.execute(f"{settings} set role = ghost_of_the_owner".encode())
    try:
        ((verdict),) = verified(dsn).values()
        assert (verdict.problems, verdict.is_owner, verdict.vote_count > 0) == ([], True, True)
    finally:
        db.execute(f"{settings} reset role".encode())
        db.execute("drop owned by ghost_of_the_owner")
        db.execute("drop role ghost_of_the_owner")


def test_a_foreign_table_as_a_part_of_a_table_is_found(attacked: tuple[str, psycopg.Connection]):
    """Another server can answer the verifier and the engine differently."""
    dsn, db = attacked
    db.execute("create foreign data wrapper elsewhere")
    try:
        db.execute("create server elsewhere foreign data wrapper elsewhere")
        db.execute(
            "create foreign table event_log_elsewhere partition of event_log"
            " for values from ('1980-01-01') to ('1980-02-01') server elsewhere"
        )
        (found,) = problems(dsn)
        assert (found.kind, found.place) == ("altered", "the table event_log")
    finally:
        db.execute("drop foreign data wrapper elsewhere cascade")


def test_a_tenant_without_a_row_is_not_left_out(attacked: tuple[str, psycopg.Connection]):
    dsn, db = attacked
    db.execute("set session_replication_role = replica")
    db.execute("create table kept as select * from tenant where tenant_code = 'other'")
    try:
        db.execute("delete from tenant where tenant_code = 'other'")
        (found,) = problems(dsn, None)
        assert (found.kind, found.detail) == ("missing", "rows of it are there, but not its own row")
    finally:
        db.execute("insert into tenant overriding system value select * from kept")
        db.execute("drop table kept")
        db.execute("set session_replication_role = origin")


def test_the_tables_that_must_be_tables_are_those_of_the_queries():
    """A query that reads another table adds it to the list."""
    folder = ROOT / "src/stepwell/sql/support"
    texts = [support_text(path.stem) for path in folder.glob("audit_*.sql")]
    texts += [inspect.getsource(module) for module in (audit, audit_governed, audit_relations)]
    read = {
        name for text in texts for name in re.findall(r"(?:from|join) stepwell\.(\w+)\b(?!\.| import)", text)
    }
    read |= {name for text in texts for name in re.findall(r"self\.table\(['\"](\w+)", text)}
    read |= {"v_audit_approval", "v_audit_receipt", "approval_vote", "policy_verdict"}
    tables = {table for table, _ in audit_relations.VIEWS.values()}
    assert (read - {*audit_relations.VIEWS}) | tables == {*audit_relations.RELATIONS}
