"""Somebody with a token and SQL tries to get more, and does not."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, operation
from tests.support.clock import Clock

SHADOWS = """
    create temp table permission (tenant_id int, role_name text, verb text);
    insert into pg_temp.permission select 0, 'everybody', v.verb from stepwell.verb as v;
    create temp table principal_role (tenant_id int, principal_id bigint, role_name text);
    insert into pg_temp.principal_role select 1, p.principal_id, 'admin' from stepwell.principal as p;
    create temp table access_token (tenant_id int, token_id bigint, verbs text[], revoked_at timestamptz,
        expires_at timestamptz);
    create temp table binding_key (secret bytea, only_one boolean);
    insert into pg_temp.binding_key values ('\\x00', true);
    create temp table principal as select * from stepwell.principal;
    create function pg_temp._verb_allowed(text) returns boolean language sql as 'select true';
    create function pg_temp.now() returns timestamptz language sql as 'select timestamptz ''2000-01-01''';
    create function pg_temp._acts_for_all() returns boolean language sql as 'select true';
"""


def test_temporary_tables_and_functions_shadow_nothing(db: psycopg.Connection, engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    text = token(db, 1, "mallory", ())
    for path in ("pg_temp, stepwell, pg_catalog", "stepwell, pg_temp", "pg_temp"):
        with as_role(db, "stepwell_api", text):
            db.execute(SHADOWS)
            db.execute(f"set local search_path = {path}")
            for call in (f"fn_run_cancel(1, {run_id}, null)", "fn_person_set(1, 'mallory', array['admin'])"):
                with (
                    pytest.raises(psycopg.Error, match="nor the token of mallory") as caught,
                    db.transaction(),
                ):
                    db.execute(f"select stepwell.{call}")
                assert caught.value.sqlstate == "SW007"
            with pytest.raises(psycopg.Error) as caught, db.transaction():
                db.execute("select stepwell.fn_run_cancel(2, 1, null)")
            assert caught.value.sqlstate == "SW007"
            assert db.execute("select stepwell.bound_tenant()").fetchone() == (1,)


@pytest.mark.parametrize("end", ["revoked", "expired", "inactive"])
def test_a_token_that_ends_during_a_transaction_allows_nothing_more(
    db: psycopg.Connection, engine: Engine, dsn: str, clock: Clock, end: str
):
    text = token(db, 1, seconds=60)
    number = engine.one("select max(token_id) from access_token")
    ends: dict[str, Callable[[psycopg.Connection], object]] = {
        "revoked": lambda other: other.execute("select stepwell.fn_token_revoke(1, %s)", (number,)),
        "expired": lambda other: clock.advance(seconds=61),
        "inactive": lambda other: other.execute(
            "select stepwell.fn_person_set(1, 'binder', p_is_active => false)"
        ),
    }
    with psycopg.connect(dsn, autocommit=True) as holder, as_role(holder, "stepwell_api", text):
        assert holder.execute("select count(*) from stepwell.fn_tokens_read(1)").fetchone() == (1,)
        ends[end](db)
        for call in (
            "fn_tokens_read(1)",
            "fn_person_set(1, 'friend', array['admin'])",
            "fn_token_create(1, 'binder', 'another', 60)",
        ):
            with pytest.raises(psycopg.Error) as caught, holder.transaction():
                holder.execute(f"select * from stepwell.{call}")
            assert caught.value.sqlstate in ("SW007", "SW002"), call
    assert engine.one("select count(*) from access_token") == 1


def test_a_token_does_not_prolong_itself(db: psycopg.Connection, engine: Engine):
    text = token(db, 1, "mallory", (), seconds=60)
    with as_role(db, "stepwell_api", text):
        make = "select token_id from stepwell.fn_token_create(1, 'mallory', 'more', %s)"
        with pytest.raises(psycopg.Error, match="lasts longer") as caught, db.transaction():
            db.execute(make, (3600,))
        assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SW007", "expires_seconds")
        assert db.execute(make, (30,)).fetchone() is not None
    admin = token(db, 1, "root-admin", ("admin",), seconds=60)
    with as_role(db, "stepwell_api", admin):
        assert db.execute("select token_id from stepwell.fn_token_create(1, 'mallory', 'm', 3600)").fetchone()


def test_nobody_takes_the_name_of_a_part_of_the_engine(db: psycopg.Connection):
    taken = ("engine", "Engine", "ENGINE ", "system", "keeper", "everybody", "worker:w1", "client", "slack")
    with as_role(db, "stepwell_api", token(db, 1)):
        for name in (*taken, "\u0430pi"):
            for kind in ("person", "service", "agent"):
                with pytest.raises(psycopg.Error) as caught, db.transaction():
                    db.execute("select stepwell.fn_principal_set(1, %s, %s)", (kind, name))
                assert caught.value.sqlstate in ("SW001", "SW003"), (kind, name)
