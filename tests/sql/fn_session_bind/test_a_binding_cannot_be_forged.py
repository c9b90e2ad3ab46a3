"""A token binds principal and tenant to one transaction; no setting, copy or invention does."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.binding import APPLICATION_ROLES, as_role, bind, token
from tests.sql.drive import Engine, operation
from tests.support.clock import Clock

READING_ROLES = ["stepwell_api", "stepwell_reader"]
BOUND = "select stepwell.bound_tenant(), stepwell.bound_principal()"
UNBOUND = (None, None)


@pytest.fixture
def runs(engine: Engine) -> dict[int, int]:
    """A run of each of two tenants, by tenant."""
    other = engine.one("insert into tenant (tenant_code) values ('other') returning tenant_id")
    found = {}
    for driver in (engine, Engine(engine.db, other)):
        driver.publish("w", operation("a"))
        found[driver.tenant_id] = driver.start("w")
    return found


def seen(db: psycopg.Connection) -> list[int]:
    return [run_id for (run_id,) in db.execute("select run_id from stepwell.workflow_run").fetchall()]


@pytest.mark.parametrize("role", READING_ROLES)
def test_a_bound_transaction_sees_its_tenant_and_the_next_one_nothing(db, runs, role: str):
    tokens = {tenant: token(db, tenant) for tenant in runs}
    for tenant, run_id in runs.items():
        with as_role(db, role):
            assert (db.execute(BOUND).fetchone(), seen(db)) == (UNBOUND, [])
            bind(db, tokens[tenant])
            assert seen(db) == [run_id]
            assert db.execute(BOUND).fetchone()[0] == tenant
        # A pooler now gives this backend to somebody else.
        with as_role(db, role):
            assert (db.execute(BOUND).fetchone(), seen(db)) == (UNBOUND, [])


@pytest.mark.parametrize("role", APPLICATION_ROLES)
def test_a_stamp_copied_from_an_earlier_transaction_binds_nothing(db, runs, role: str):
    text = token(db, 1)
    with as_role(db, role, text):
        (copied,) = db.execute("select current_setting('stepwell.binding')").fetchone()
        assert db.execute(BOUND).fetchone()[0] == 1
    for is_local in (True, False):
        with as_role(db, role):
            db.execute("select set_config('stepwell.binding', %s, %s)", (copied, is_local))
            assert db.execute(BOUND).fetchone() == UNBOUND


def test_a_stamp_of_another_backend_binds_nothing(db, runs, dsn: str):
    text = token(db, 1)
    with psycopg.connect(dsn) as other, db.transaction():
        bind(other, text)
        (copied,) = other.execute("select current_setting('stepwell.binding')").fetchone()
        db.execute("select set_config('stepwell.binding', %s, true)", (copied,))
        assert db.execute(BOUND).fetchone() == UNBOUND
        assert other.execute(BOUND).fetchone()[0] == 1


@pytest.mark.parametrize("role", APPLICATION_ROLES)
@pytest.mark.parametrize(
    "invented",
    [
        "1:1:1:" + "0" * 64,
        "1:1:1:" + "f" * 64,
        "1",
        "1:1:1:",
        ":::",
        "1:1:1:x'; drop table stepwell.tenant; --",
        "99999999999999999999:1:1:" + "0" * 64,
    ],
)
def test_an_invented_stamp_binds_nothing(db, runs, role: str, invented: str):
    with as_role(db, role):
        db.execute("select set_config('stepwell.binding', %s, true)", (invented,))
        assert db.execute(BOUND).fetchone() == UNBOUND
        if role in READING_ROLES:
            assert seen(db) == []


@pytest.mark.parametrize("role", APPLICATION_ROLES)
def test_the_parts_of_a_right_stamp_cannot_be_exchanged(db, runs, role: str):
    text = token(db, 1)
    with as_role(db, role, text):
        (right,) = db.execute("select current_setting('stepwell.binding')").fetchone()
        tenant, principal, number, reads, stamp = right.split(":")
        assert reads == "3"
        for forged in (
            (2, principal, number, reads),
            (tenant, int(principal) + 1, number, reads),
            (tenant, principal, 0, reads),
            (tenant, principal, number, 1),
            (tenant, principal, number),
        ):
            changed = ":".join(map(str, (*forged, stamp)))
            db.execute("select set_config('stepwell.binding', %s, true)", (changed,))
            assert db.execute(BOUND).fetchone() == UNBOUND
        db.execute("select set_config('stepwell.binding', %s, true)", (right,))
        assert db.execute(BOUND).fetchone() == (int(tenant), int(principal))


@pytest.mark.parametrize("role", APPLICATION_ROLES)
@pytest.mark.parametrize(
    "query",
    [
        "select secret from stepwell.binding_key",
        "select stepwell._stamp_of('1:1:1:1:')",
        "select stepwell._binding_set(1, 1, 1, 3)",
        "select stepwell._bound()",
        "select * from stepwell._binding()",
        "select token_hash from stepwell.access_token",
        "select secret_hash from stepwell.credential",
    ],
)
def test_no_application_role_reads_the_key_or_makes_a_stamp(db, role: str, query: str):
    with pytest.raises(psycopg.errors.InsufficientPrivilege), as_role(db, role):
        db.execute(query)


@pytest.mark.parametrize("role", ["stepwell_api"])
@pytest.mark.parametrize("setting", ["", "2", "1:1:1:" + "0" * 64])
def test_an_unbound_caller_changes_nothing(db, runs, role: str, setting: str):
    with pytest.raises(psycopg.Error) as caught, as_role(db, role):
        db.execute(
            "select set_config('stepwell.binding', %s, true), set_config('stepwell.tenant_id', '1', true),"
            " stepwell.fn_run_cancel(1, %s, 'cli:ada')",
            (setting, runs[1]),
        )
    assert caught.value.sqlstate == "SW007"
    assert "bound to no tenant" in str(caught.value)


def test_a_person_of_one_tenant_changes_nothing_of_another(db, runs):
    text = token(db, 2)
    with pytest.raises(psycopg.Error) as caught, as_role(db, "stepwell_api", text):
        db.execute("select stepwell.fn_run_cancel(1, %s, 'cli:ada')", (runs[1],))
    assert (caught.value.sqlstate, "tenant 2" in str(caught.value)) == ("SW007", True)


def refused(db: psycopg.Connection, text: str | None) -> None:
    with pytest.raises(psycopg.Error) as caught, as_role(db, "stepwell_api"):
        db.execute("select stepwell.fn_session_bind(%s)", (text,))
    assert caught.value.sqlstate == "SW007"
    assert caught.value.diag.message_primary == "the token is unknown, has expired or is revoked"


def test_an_expired_a_revoked_and_an_unknown_token_bind_nothing(db, engine: Engine, clock: Clock):
    text = token(db, 1, seconds=60)
    with db.transaction():
        bind(db, text)
    clock.advance(seconds=60)
    refused(db, text)
    text = token(db, 1)
    number = engine.one("select max(token_id) from access_token")
    assert engine.one("select fn_token_revoke(1, %s)", (number,)) is True
    assert engine.one("select fn_token_revoke(1, %s)", (number,)) is False
    refused(db, text)
    text = token(db, 1)
    db.execute("select fn_person_set(1, 'binder', p_is_active => false)")
    refused(db, text)
    for unknown in ("", "sw_" + "0" * 64, None):
        refused(db, unknown)


def test_the_database_does_not_keep_the_text_of_a_token(db, engine: Engine):
    text = token(db, 1)
    stored = engine.one("select string_agg(t::text, '') from access_token as t")
    logged = engine.one("select string_agg(e.payload::text, '') from event_log as e")
    assert text not in stored + logged
    assert text.removeprefix("sw_") not in stored + logged
    assert engine.one("select array_agg(event_type order by event_id) from event_log") == [
        "principal.changed",
        "token.created",
    ]


def test_a_narrowed_token_allows_only_its_verbs(db, engine: Engine):
    engine.db.execute("select fn_person_set(1, 'cleo')")
    text = token(db, 1, verbs=["read", "token.change"])
    with as_role(db, "stepwell_api", text):
        assert len(db.execute("select * from stepwell.fn_tokens_read(1)").fetchall()) == 1
        for call, words in {
            "fn_person_set(1, 'mallory', array['admin'])": "principal.change",
            "fn_token_create(1, 'cleo', 'wider', 60)": "a narrowed token",
            "fn_token_create(1, 'binder', 'wider', 60, array['read', 'run.cancel'])": "a narrowed token",
        }.items():
            with pytest.raises(psycopg.Error, match=words) as caught, db.transaction():
                db.execute(f"select stepwell.{call}")
            assert caught.value.sqlstate == "SW007"
        db.execute("select stepwell.fn_token_create(1, 'cleo', 'as narrow', 60, array['read'])")


def test_somebody_without_roles_makes_tokens_only_for_themselves(db, engine: Engine):
    engine.db.execute("select fn_person_set(1, 'cleo', array['admin'])")
    text = token(db, 1, "ada", ())
    with as_role(db, "stepwell_api", text):
        db.execute("select stepwell.fn_token_create(1, 'ada', 'mine', 60)")
        for call in (
            "fn_token_create(1, 'cleo', 'hers', 60)",
            "fn_person_set(1, 'ada', array['admin'])",
            "fn_principal_set(1, 'service', 'ada-helper', array['admin'])",
            "fn_tokens_read(1)",
        ):
            with pytest.raises(psycopg.Error, match="nor the token of ada") as caught, db.transaction():
                db.execute(f"select stepwell.{call}")
            assert caught.value.sqlstate == "SW007"


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ("fn_token_create(1, 'ada', '', 60)", "label"),
        ("fn_token_create(1, 'ada', 'x', 0)", "expires_seconds"),
        ("fn_token_create(1, 'ada', 'x', null)", "expires_seconds"),
        ("fn_token_create(1, 'ada', 'x', 31622401)", "expires_seconds"),
        ("fn_token_create(1, 'ada', 'x', 60, array['run.fly'])", "verbs"),
        ("fn_token_create(1, 'ada', 'x', 60, '{}')", "verbs"),
        ("fn_principal_set(1, 'engine', 'x')", "kind"),
    ],
)
def test_a_value_that_is_not_accepted_is_named(db, call: str, field: str):
    db.execute("select fn_person_set(1, 'ada')")
    with pytest.raises(psycopg.Error) as caught:
        db.execute(f"select stepwell.{call}")
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SW001", field)


def test_a_service_and_a_person_have_different_names(db):
    db.execute("select fn_principal_set(1, 'service', 'billing', array['publisher'])")
    with pytest.raises(psycopg.Error, match="billing is a service") as caught:
        db.execute("select fn_person_set(1, 'billing')")
    assert caught.value.sqlstate == "SW003"
    assert db.execute("select count(*) from person").fetchone() == (0,)


def test_a_principal_has_a_limited_number_of_tokens(db, engine: Engine):
    db.execute("update dot_config set config_value = '2' where config_key = 'limits.tokens_per_principal'")
    for _ in range(2):
        token(db, 1)
    with pytest.raises(psycopg.Error, match="revoke one first") as caught:
        token(db, 1)
    assert caught.value.sqlstate == "SW006"
