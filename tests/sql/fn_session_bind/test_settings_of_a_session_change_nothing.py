"""Every role can change settings of its session, and a pooler gives the session to somebody else afterwards.
None of them changes what a function refuses, hides or allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell import redaction
from tests.sql.binding import bind, token
from tests.sql.drive import Engine, operation
from tests.sql.people.asking import refused
from tests.sql.policy.judging import ACTION, tried
from tests.sql.redaction.test_workers_and_database_redact_alike import SECRETS
from tests.worker.acting import rule

# Everything that a role may set and that could change how a text, a time or a number is read or written.
SETTINGS = {
    "standard_conforming_strings": "off",
    "backslash_quote": "on",
    "escape_string_warning": "off",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "datestyle": "SQL, DMY",
    "intervalstyle": "sql_standard",
    "timezone": "Asia/Kolkata",
    "bytea_output": "escape",
    "extra_float_digits": "-15",
    "quote_all_identifiers": "on",
    "row_security": "off",
    "plan_cache_mode": "force_custom_plan",
    "gin_fuzzy_search_limit": "1",
    "search_path": "pg_temp, stepwell",
}


@pytest.fixture
def hostile(dsn: str) -> Iterator[psycopg.Connection]:
    """A session that has read no function yet, with all these settings."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name, value in SETTINGS.items():
            connection.execute("select set_config(%s, %s, false)", (name, value))
        yield connection


def test_every_function_with_a_backslash_reads_it_in_one_way(db: psycopg.Connection):
    rows = db.execute(
        "select proname, 'standard_conforming_strings=on' = any (proconfig) from pg_proc"
        " where pronamespace = 'stepwell'::regnamespace and position(chr(92) in prosrc) > 0"
    ).fetchall()
    assert len(rows) > 30
    assert [name for name, is_fixed in rows if not is_fixed] == []


def test_secrets_are_found(db: psycopg.Connection, hostile: psycopg.Connection):
    for value in SECRETS:
        (found,) = hostile.execute(
            "select stepwell._redact(%s, stepwell._redaction_pattern())", (Jsonb(value),)
        ).fetchone()  # type: ignore[misc]
        assert found == redaction.value(value)


def test_a_person_stores_no_secret_in_a_reason(engine: Engine, hostile: psycopg.Connection):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    text = token(engine.db, 1)
    with hostile.transaction():
        hostile.execute("set local role stepwell_api")
        bind(hostile, text)
        hostile.execute(
            "select stepwell.fn_approval_request(1, 'reopen', %s, 'binder', %s)",
            (run_id << 20, f"password=hunter2hunter2, {text}, a\u202eb"),
        )
    assert engine.one("select reason from approval_detail") == "password=[redacted], [redacted], a\\u202Eb"


@pytest.mark.parametrize("name", ["a\u200bda", "ada\u2800", "a:b", "a\u0430", "a\u20ddda"])
def test_names_are_refused(engine: Engine, hostile: psycopg.Connection, name: str):
    text = token(engine.db, 1)
    with refused("SW001", "person_name"), hostile.transaction():
        hostile.execute("set local role stepwell_api")
        bind(hostile, text)
        hostile.execute("select stepwell.fn_person_set(1, %s)", (name,))


@pytest.mark.parametrize(
    "match",
    [
        "$.fields.amount <= 1000",
        "lax $.fields.amount <= 1000",
        "!($.fields.amount > 1000)",
        "!exists($.fields.amount ? (@ > 1000))",
        '$.fields."amount" <= 1000 || $.target == "none"',
        '$."feilds".amount <= 1000 || $.operation == "put"',
    ],
)
@pytest.mark.parametrize("amount", [[1, 999999], None, "7", {"a": 1}])
def test_rules_are_read_strictly(
    db: psycopg.Connection, hostile: psycopg.Connection, match: str, amount: object
):
    """What this session judges is what every session judges."""
    action = {**ACTION, "fields": {"amount": amount}}
    answers: list[Any] = []
    for session in (db, hostile):
        session.execute("set search_path = stepwell, pg_temp")
        try:
            answers.append(tried(Engine(session), [rule("small", "allow", match)], action))
        except psycopg.Error as error:
            answers.append(error.sqlstate)
    assert answers[0] == answers[1]


def test_a_transaction_with_one_snapshot_cannot_be_bound(engine: Engine, hostile: psycopg.Connection):
    """It would not see that its token is revoked, that a role is taken away, or who voted meanwhile."""
    text = token(engine.db, 1)
    for level in ("repeatable read", "serializable"):
        with refused("SW003", "read committed"), hostile.transaction():
            hostile.execute(f"set transaction isolation level {level}")
            hostile.execute("set local role stepwell_api")
            bind(hostile, text)
        with refused("SW003", "read committed"), hostile.transaction():
            hostile.execute(f"set transaction isolation level {level}")
            hostile.execute("set local role stepwell_api")
            hostile.execute("select * from stepwell.fn_request_open(%s, 'read')", (text,))
        # Reading from one snapshot is what a page of many parts needs; it stays read only.
        with hostile.transaction():
            hostile.execute(f"set transaction isolation level {level} read only")
            hostile.execute("set local role stepwell_api")
            bind(hostile, text)
            with pytest.raises(psycopg.errors.ActiveSqlTransaction), hostile.transaction():
                hostile.execute("set transaction read write")
            assert hostile.execute("select stepwell.bound_tenant()").fetchone() == (1,)


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_transaction_that_was_read_only_for_a_savepoint_changes_nothing(
    engine: Engine, hostile: psycopg.Connection, level: str
):
    """The end of a savepoint takes `read only` back and keeps the binding."""
    engine.publish("w", operation("a"))
    run_id, text = engine.start("w"), token(engine.db, 1)
    with hostile.transaction():
        hostile.execute(f"set transaction isolation level {level}")
        hostile.execute("set local role stepwell_api")
        hostile.execute("savepoint narrow")
        hostile.execute("set transaction read only")
        bind(hostile, text)
        hostile.execute("release savepoint narrow")
        assert hostile.execute("show transaction_read_only").fetchone() == ("off",)
        # It is bound, and its token ends before it acts.
        engine.db.execute("select fn_token_revoke(1, max(token_id)) from access_token")
        for call in (f"fn_run_pause(1, {run_id}, null)", "fn_person_set(1, 'friend', array['admin'])"):
            with refused("SW003", "read committed"), hostile.transaction():
                hostile.execute(f"select stepwell.{call}".encode())
