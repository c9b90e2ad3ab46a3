"""Passwords, links that work once, sessions and pauses: what opens a session, and what ends or refuses it."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import psycopg
import pytest

from tests.sql.binding import as_role, bind, token
from tests.sql.drive import Engine
from tests.support.clock import Clock

BOUND = "select stepwell.bound_tenant(), stepwell.bound_principal()"


def hashed(prefix: str, password: str) -> str:
    """What a server computes of a salt and a password, with a hash that costs a test nothing."""
    made = hashlib.sha256(f"{prefix}{password}".encode()).digest()
    return f"{prefix}${base64.b64encode(made).decode().rstrip('=')}"


def new_hash(password: str) -> str:
    return hashed("$argon2id$v=19$m=65536,t=3,p=4$" + "c2FsdHNhbHRzYWx0c2FsdA", password)


def sign_in(
    db: psycopg.Connection, name: str, password: str, address: str = "10.0.0.1", tenant: str = "default"
) -> tuple[Any, ...]:
    """As the API does it, unbound: outcome, text of the session, until when to wait."""
    with db.transaction():
        db.execute("set local role stepwell_api")
        (salt,) = db.execute("select stepwell.fn_sign_in_salt(%s, %s)", (tenant, name)).fetchone()
        row = db.execute(
            "select outcome, token, retry_at from stepwell.fn_sign_in(%s, %s, %s, %s, 'test browser')",
            (tenant, name, hashed(salt, password), address),
        ).fetchone()
    assert row is not None
    return row


@pytest.fixture
def ada(engine: Engine) -> str:
    engine.db.execute("select fn_person_set(1, 'ada', array['reviewer'])")
    engine.db.execute("select fn_password_set(1, 'ada', %s)", (new_hash("right"),))
    return "ada"


def opened(db: psycopg.Connection, name: str = "ada") -> str:
    outcome, text, _ = sign_in(db, name, "right")
    assert outcome == "signed_in"
    found: str = text
    return found


def refuses(db: psycopg.Connection, text: str) -> None:
    with (
        pytest.raises(psycopg.Error, match="unknown, has expired or is revoked"),
        as_role(db, "stepwell_api"),
    ):
        bind(db, text)


def test_a_session_binds_like_a_token_and_the_database_keeps_no_secret(db, engine: Engine, ada: str):
    text = opened(db)
    with as_role(db, "stepwell_api", text):
        assert db.execute(BOUND).fetchone()[0] == 1
        verbs = {verb for (verb,) in db.execute("select verb from stepwell.fn_verbs_read()")}
        assert {"read", "payload.read", "run.cancel"} <= verbs
        assert "principal.change" not in verbs
    with as_role(db, "stepwell_api"):
        assert db.execute("select count(*) from stepwell.fn_verbs_read()").fetchone() == (0,)
    stored = engine.one("select string_agg(t::text, '') from access_token as t")
    logged = engine.one("select string_agg(e.payload::text, '') from event_log as e")
    assert text.removeprefix("sws_") not in stored + logged
    assert new_hash("right") not in logged
    assert engine.one("select actor from event_log where event_type = 'session.opened'") == "ada"


@pytest.mark.parametrize("role", ["stepwell_api", "stepwell_reader", "stepwell_worker", "stepwell_keeper"])
def test_no_application_role_reads_a_password_a_link_or_a_pause(db, ada: str, role: str):
    for table in ("credential", "access_token", "sign_in_throttle"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), as_role(db, role):
            db.execute(f"select * from stepwell.{table}")
    if role != "stepwell_api":
        with pytest.raises(psycopg.errors.InsufficientPrivilege), as_role(db, role):
            db.execute("select stepwell.fn_sign_in('default', 'ada', '', '')")


def test_only_the_right_password_of_an_active_person_opens_a_session(db, engine: Engine, ada: str):
    engine.db.execute("select fn_person_set(1, 'ben')")
    engine.db.execute("insert into tenant (tenant_code) values ('other')")
    for name, password, tenant in (
        ("ada", "wrong", "default"),
        ("ada", "", "default"),
        ("ben", "right", "default"),
        ("nobody", "right", "default"),
        ("ada", "right", "other"),
        ("ada", "right", "no-such-tenant"),
    ):
        assert sign_in(db, name, password, tenant=tenant, address=f"10.1.0.{len(name)}")[0] == "refused"
    engine.db.execute("select fn_person_set(1, 'ada', p_is_active => false)")
    assert sign_in(db, "ada", "right", address="10.1.1.1")[0] == "refused"
    assert engine.one("select count(*) from access_token") == 0
    refused = "select array_agg(payload ->> 'name' order by event_id) from event_log where event_type = %s"
    assert engine.one(refused, ("session.refused",)) == ["ada", "ada", "ben", "", "", "ada"]


def test_a_password_in_the_field_of_the_name_is_not_kept(db, engine: Engine, ada: str):
    """Whoever types fast writes it there; the log would keep it for ever, and it has no shape of a secret."""
    assert sign_in(db, "correct horse battery", "ada")[0] == "refused"
    assert engine.one("select count(*) from event_log where event_type = 'session.refused'") == 1
    assert engine.one("select count(*) from event_log as e where e::text like '%%horse%%'") == 0
    assert engine.one("select count(*) from sign_in_throttle as t where t::text like '%%horse%%'") == 0


def test_nobody_learns_which_names_exist(db, engine: Engine, ada: str):
    """A name without a password gets a salt of the same form, and always the same one."""
    salts = {
        name: engine.one("select fn_sign_in_salt('default', %s)", (name,))
        for name in ("ada", "nobody", "Nobody")
    }
    assert salts["nobody"] == salts["Nobody"] != engine.one("select fn_sign_in_salt('other', 'nobody')")
    assert {salt.rpartition("$")[0] for salt in salts.values()} == {"$argon2id$v=19$m=65536,t=3,p=4"}
    assert {len(salt) for salt in salts.values()} == {len(salts["ada"])}
    assert sign_in(db, "nobody", "x")[:2] == sign_in(db, "ada", "x")[:2] == ("refused", None)


def test_a_session_ends_when_it_is_idle_and_at_its_last_hour(db, engine: Engine, ada: str, clock: Clock):
    text = opened(db)
    for _ in range(3):
        clock.advance(seconds=28_000)
        with db.transaction():
            bind(db, text)
    clock.advance(seconds=28_800)
    refuses(db, text)
    text = opened(db)
    for _ in range(21):
        clock.advance(seconds=28_790)
        with db.transaction():
            bind(db, text)
    clock.advance(seconds=604_800 - 21 * 28_790)
    refuses(db, text)


def test_a_session_that_is_used_writes_at_most_once_a_minute(db, engine: Engine, ada: str, clock: Clock):
    text = opened(db)
    seen = "select last_seen_at from access_token where kind = 'session'"
    first = engine.one(seen)
    clock.advance(seconds=30)
    with db.transaction():
        bind(db, text)
    assert engine.one(seen) == first
    clock.advance(seconds=30)
    with db.transaction():
        db.execute("set transaction read only")
        bind(db, text)
    assert engine.one(seen) == first
    with db.transaction():
        bind(db, text)
    assert engine.one(seen) > first


def test_sessions_are_listed_and_ended(db, engine: Engine, ada: str):
    first, second, third = (opened(db) for _ in range(3))
    with db.transaction():
        bind(db, first)
        rows = db.execute("select address, user_agent, is_current, is_valid from fn_sessions_read(1, 'ada')")
        assert rows.fetchall() == [("10.0.0.1", "test browser", n == 2, True) for n in range(3)]
    with db.transaction():
        bind(db, second)
        assert db.execute("select fn_sign_out()").fetchone() == (True,)
    refuses(db, second)
    with db.transaction():
        bind(db, first)
        assert db.execute("select fn_sessions_revoke(1, 'ada', true)").fetchone() == (1,)
    refuses(db, third)
    assert engine.one("select fn_sessions_revoke(1, 'ada')") == 1
    refuses(db, first)
    assert engine.one("select fn_sessions_revoke(1, 'ada')") == 0
    assert engine.one("select count(*) from event_log where event_type = 'session.ended'") == 3
    # Sessions are no tokens of programs.
    assert engine.db.execute("select * from fn_tokens_read(1)").fetchall() == []
    with pytest.raises(psycopg.Error, match="opened by fn_sign_in"):
        db.execute("select fn_token_create(1, 'ada', 'x', 60, null, 'session')")


def test_the_sessions_and_passwords_of_others_require_the_right(db, engine: Engine, ada: str):
    engine.db.execute("select fn_person_set(1, 'ben', array['admin'])")
    calls = ("fn_sessions_read(1, 'ben')", "fn_sessions_revoke(1, 'ben')", "fn_link_create(1, 'ben')")
    calls += (f"fn_password_set(1, 'ben', '{new_hash('mine')}')",)
    with as_role(db, "stepwell_api", opened(db)):
        for call in calls:
            with pytest.raises(psycopg.Error, match=r"token\.change") as caught, db.transaction():
                db.execute(f"select stepwell.{call}")
            assert caught.value.sqlstate == "SW007"
    # A token of a program does not change the password of its owner, or it could become more than it is.
    with (
        pytest.raises(psycopg.Error, match=r"token\.change"),
        as_role(db, "stepwell_api", token(db, 1, "ada", ("reviewer",), verbs=["read"])),
    ):
        db.execute("select stepwell.fn_password_set(1, 'ada', %s)", (new_hash("other"),))


def test_a_new_password_ends_the_other_sessions(db, engine: Engine, ada: str):
    first, second = opened(db), opened(db)
    with db.transaction():
        db.execute("set local role stepwell_api")
        bind(db, first)
        db.execute("select stepwell.fn_password_set(1, 'ada', %s)", (new_hash("new"),))
    refuses(db, second)
    with db.transaction():
        bind(db, first)
    assert sign_in(db, "ada", "right")[0] == "refused"
    assert sign_in(db, "ada", "new")[0] == "signed_in"


@pytest.mark.parametrize(
    "text",
    [None, "", "right", "$argon2i$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$" + "a" * 43,
     "$argon2id$v=19$m=4096,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$" + "a" * 43,
     "$argon2id$v=19$m=65536,t=1,p=4$c2FsdHNhbHRzYWx0c2FsdA$" + "a" * 43],
)  # fmt: skip
def test_only_a_strong_argon2id_hash_is_stored(db, ada: str, text: str | None):
    with pytest.raises(psycopg.Error) as caught:
        db.execute("select fn_password_set(1, 'ada', %s)", (text,))
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SW001", "secret_hash")


def test_a_link_works_once_and_expires(db, engine: Engine, ada: str, clock: Clock):
    session = opened(db)
    links = [engine.one("select link from fn_link_create(1, 'ada')") for _ in range(2)]

    def use(link: str | None) -> Any:
        with db.transaction():
            db.execute("set local role stepwell_api")
            query = "select principal_name from stepwell.fn_link_use(%s, %s)"
            return db.execute(query, (link, new_hash("fresh"))).fetchone()

    for link in (links[0], "swl_" + "0" * 64, "", None):
        with pytest.raises(psycopg.Error, match="unknown, was used or has expired") as caught:
            use(link)
        assert caught.value.sqlstate == "SW007"
    assert use(links[1]) == ("ada",)
    refuses(db, session)
    assert sign_in(db, "ada", "fresh")[0] == "signed_in"
    with pytest.raises(psycopg.Error, match="was used"):
        use(links[1])
    late = engine.one("select link from fn_link_create(1, 'ada', p_expires_seconds => 60)")
    clock.advance(seconds=60)
    with pytest.raises(psycopg.Error, match="has expired"):
        use(late)
    stored = engine.one("select string_agg(c::text, '') from credential as c")
    assert not any(link.removeprefix("swl_") in stored for link in (*links, late))
    for call, field in {
        "fn_link_create(1, 'ada', 'fun')": "purpose",
        "fn_link_create(1, 'ada', p_expires_seconds => 604801)": "expires_seconds",
    }.items():
        with pytest.raises(psycopg.Error) as caught:
            db.execute(f"select {call}")
        assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SW001", field)


def test_the_first_administrator_is_made_by_the_owner_and_only_once(db, engine: Engine):
    text = token(db, 1, "ben", ("admin",))
    with pytest.raises(psycopg.Error, match="only the owner"), as_role(db, "stepwell_api", text):
        db.execute("select stepwell.fn_link_create(1, 'mallory', 'first_administrator')")
    link = engine.one("select link from fn_link_create(1, 'ada', 'first_administrator')")
    engine.db.execute("select fn_link_use(%s, %s)", (link, new_hash("right")))
    assert engine.one("select roles from v_person where person_name = 'ada'") == ["admin"]
    assert sign_in(db, "ada", "right")[0] == "signed_in"
    with pytest.raises(psycopg.Error, match="ada is an administrator and has a password") as caught:
        db.execute("select fn_link_create(1, 'cleo', 'first_administrator')")
    assert caught.value.sqlstate == "SW003"


def test_wrong_passwords_pause_one_name_at_one_address(db, engine: Engine, ada: str, clock: Clock):
    for _ in range(4):
        assert sign_in(db, "ada", "wrong", "10.6.6.6")[2] is None
    outcome, _, retry_at = sign_in(db, "ada", "wrong", "10.6.6.6")
    assert outcome == "refused"
    assert retry_at > engine.one("select stepwell.now()")
    # The right password does not help there for so long; everywhere else its owner signs in.
    assert sign_in(db, "ada", "right", "10.6.6.6") == ("paused", None, retry_at)
    assert sign_in(db, "ada", "right", "10.0.0.9")[0] == "signed_in"
    clock.advance(seconds=30)
    assert sign_in(db, "ada", "wrong", "10.6.6.6")[0] == "refused"
    # Each further wrong password doubles the pause.
    clock.advance(seconds=40)
    assert sign_in(db, "ada", "right", "10.6.6.6")[0] == "paused"
    clock.advance(seconds=20)
    assert sign_in(db, "ada", "right", "10.6.6.6")[0] == "signed_in"
    assert sign_in(db, "ada", "wrong", "10.6.6.6")[2] is None


def test_an_address_is_paused_but_not_for_who_signed_in_there(db, engine: Engine, ada: str, clock: Clock):
    """Neither the office of somebody nor one home with many addresses locks anybody out."""
    engine.db.execute("select fn_person_set(1, 'ben')")
    engine.db.execute("select fn_password_set(1, 'ben', %s)", (new_hash("right"),))
    assert sign_in(db, "ada", "right", "2001:db8::1")[0] == "signed_in"
    for number in range(50):
        sign_in(db, f"nobody{number}", "x", f"2001:db8::{number + 2:x}")
    assert sign_in(db, "ben", "right", "2001:db8::ffff")[0] == "paused"
    assert sign_in(db, "ada", "right", "2001:db8::abcd")[0] == "signed_in"
    assert sign_in(db, "ben", "right", "2001:db8:0:1::1")[0] == "signed_in"
    # Names that do not exist have no counter: a stranger cannot fill the table with them.
    assert engine.one("select count(*) from sign_in_throttle") == 3
    clock.advance(days=31)
    sign_in(db, "ada", "wrong", "10.9.9.9")
    old = "select count(*) from sign_in_throttle where name_key = '' and address ~ '^2001'"
    assert engine.one(old) == 0


def test_engine_keeper_and_worker_are_principals(db, engine: Engine):
    rows = db.execute("select principal_name, kind from principal where tenant_id = 0 order by 1").fetchall()
    assert dict(rows) == {
        "api": "service", "client": "service", "engine": "engine", "keeper": "engine", "slack": "service",
        "worker": "worker",
    }  # fmt: skip
    with pytest.raises(psycopg.Error, match="looks like worker"):
        db.execute("select fn_person_set(1, 'Worker')")
