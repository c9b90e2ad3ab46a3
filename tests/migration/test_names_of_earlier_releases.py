"""Names that an earlier release accepted and this one does not: the migration succeeds, everybody is told who
cannot act any more and why, and an administrator brings the person back under another name."""

from __future__ import annotations

import psycopg
import pytest

from stepwell.store.schema import migrate
from tests.migration.conftest import MIGRATIONS
from tests.sql.binding import bind, token
from tests.sql.drive import Engine, human
from tests.sql.people.asking import refused
from tests.support.deciding import deciding
from tests.support.processes import stepwell

OPTIONS = "-csearch_path=stepwell"
BLANK = "ada\u2800"
COLON = "team\ua789ada"
# Armenian: the same name in upper and in lower case.
UPPER, LOWER = "\u0531\u0532\u0533", "\u0561\u0562\u0563"
ACCEPTED = "\u00c1nh"


def as_an_earlier_release_left_it(dsn: str) -> list[migrate.RefusedName]:
    """Migration 0090 again, on names that its release accepted; then what every migration does at its end."""
    with psycopg.connect(dsn, autocommit=True, options=OPTIONS) as db:
        db.execute((MIGRATIONS / "0090_names_of_all_scripts.sql").read_bytes())
        db.execute("update schema_routine set sha256 = repeat('0', 64)")
    return list(migrate.migrate(dsn).refused)


def stored(db: psycopg.Connection, name: str, tenant: int = 1, kind: str = "person", **more: object) -> int:
    """A principal with a name as an earlier release stored it, whatever the rules of this one say."""
    with db.transaction():
        db.execute("alter table principal disable trigger names_can_be_told_apart")
        row = db.execute(
            "insert into principal (tenant_id, kind, principal_name, name_key, name_skeleton, is_active,"
            " created_at) values (%s, %s, %s, %s, %s, %s, now()) returning principal_id",
            (tenant, kind, name, f"old {name}", f"old {name}", more.get("is_active", True)),
        ).fetchone()
        db.execute("alter table principal enable trigger names_can_be_told_apart")
    assert row is not None
    number: int = row[0]
    if tenant:
        db.execute("insert into principal_role values (%s, %s, 'office')", (tenant, number))
    return number


def active(db: psycopg.Connection) -> dict[str, bool]:
    rows = db.execute("select principal_name, is_active from principal where tenant_id = 1").fetchall()
    return dict(rows)


def test_people_of_the_first_release_are_told_of(old_dsn: str):
    """The whole way from a release that had no rule about names."""
    with psycopg.connect(old_dsn, autocommit=True, options=OPTIONS) as db:
        for name in (BLANK, COLON, "team:ben", "a\u200bnn", UPPER, LOWER, "Zoe", "zoe ", ACCEPTED):
            db.execute(
                "insert into person (tenant_id, person_name, created_at) values (1, %s, now())", (name,)
            )
        db.execute("update person set is_active = false where person_name = %s", (ACCEPTED,))
    told = {(one.tenant, one.name): one.reason for one in migrate.migrate(old_dsn).refused}
    assert {name for _, name in told} == {
        "ada\\u2800", COLON, "team:ben", "a\\u200Bnn", LOWER, "zoe ",
    }  # fmt: skip
    assert told["default", "zoe "] == "it looks like Zoe"
    assert told["default", LOWER] == f"it looks like {UPPER}"
    assert told["default", COLON] == "a colon is not accepted"
    with psycopg.connect(old_dsn, autocommit=True, options=OPTIONS) as db:
        found = active(db)
        assert all(found[name] for name in (UPPER, "Zoe", "ada"))
        assert not any(found[name] for name in (BLANK, COLON, "team:ben", "a\u200bnn", LOWER, "zoe "))
        events = db.execute(
            "select payload ->> 'reason' from event_log"
            " where event_type = 'principal.changed' and actor = 'engine' and tenant_id = 1"
        ).fetchall()
        assert sorted(reason for (reason,) in events) == sorted(told.values())
        # Somebody who was inactive for another reason comes back under the same name.
        db.execute("select fn_principal_change(1, %s, p_is_active => true)", (ACCEPTED,))
        assert active(db)[ACCEPTED]


def test_the_migration_survives_operators_who_look_alike(db: psycopg.Connection, dsn: str):
    for name in (UPPER, LOWER):
        stored(db, name, 0, "operator")
    told = as_an_earlier_release_left_it(dsn)
    assert [(one.tenant, one.name) for one in told] == [(None, LOWER)]
    # Whoever writes either name on the command line is the older operator.
    (who,) = db.execute("select _actor_known(1, %s, 'run.pause')", (f"cli:{LOWER}",)).fetchone()  # type: ignore[misc]
    assert who == f"cli:{UPPER}"


def test_whoever_was_inactive_keeps_the_name(db: psycopg.Connection, dsn: str):
    stored(db, ACCEPTED, is_active=False)
    assert as_an_earlier_release_left_it(dsn) == []
    # Nobody gets a name that looks like it meanwhile.
    with refused("SW003", "is a person"):
        db.execute("select fn_principal_set(1, 'service', %s)", (ACCEPTED.upper(),))
    db.execute("select fn_principal_change(1, %s, p_is_active => true)", (ACCEPTED,))
    assert active(db)[ACCEPTED]


def test_the_person_of_the_development_mode_stays(db: psycopg.Connection, dsn: str):
    number = stored(db, BLANK)
    db.execute(
        "insert into development_mode (tenant_id, principal_id, entered_at) values (1, %s, now())", (number,)
    )
    assert as_an_earlier_release_left_it(dsn) == []
    with db.transaction():
        db.execute("set local role stepwell_api")
        row = db.execute("select principal_name from fn_caller_read('default')").fetchone()
    assert row == (BLANK,)


@pytest.mark.parametrize("name", [BLANK, COLON, LOWER])
def test_a_person_whose_name_is_refused_comes_back(db: psycopg.Connection, dsn: str, name: str):
    engine = Engine(db)
    if name == LOWER:
        stored(db, UPPER)
    number = stored(db, name)
    text = token(db, 1, "binder")
    db.execute("update access_token set principal_id = %s", (number,))
    engine.publish("w", human("sign", role="office"))
    run_id = engine.start("w")
    step = engine.unit(run_id, "sign")
    db.execute("update run_detail set started_by = %s", (name,))
    db.execute("select fn_person_set(1, 'cleo')")
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'cleo')", (run_id << 20,))
    told = as_an_earlier_release_left_it(dsn)
    assert [one.number for one in told] == [number]

    # The token binds nothing, and the doctor names the account and the command.
    with refused("SW007"), db.transaction():
        bind(db, text)
    done = stepwell("--database-url", dsn, "doctor")
    assert f"(#{number}) cannot act: {told[0].reason}" in done.stdout
    assert f"user rename '#{number}' NEW-NAME" in done.stdout

    with refused("SW003", "name", "looks like"):
        db.execute("select fn_principal_rename(1, %s, 'CLEO')", (f"#{number}",))
    with refused("SW001", "new_name", "a colon"):
        db.execute("select fn_principal_rename(1, %s, 'a:b')", (name,))
    with refused("SW003", "name", "keeps its name"):
        db.execute("select fn_principal_rename(1, 'cleo', 'dora')")
    done = stepwell("--database-url", dsn, "user", "rename", f"#{number}", "zoe")
    assert (done.stdout, done.stderr) == ("zoe: office, inactive\n", "")
    assert stepwell("--database-url", dsn, "user", "activate", "zoe").stdout == "zoe: office\n"
    assert "every name is accepted" in stepwell("--database-url", dsn, "doctor").stdout

    # The same id, token and roles; and still behind what began under the old name.
    with db.transaction(force_rollback=True):
        bind(db, text)
        db.execute("select fn_step_claim(1, %s, 'zoe')", (step,))
        assert engine.one("select pic_id from work_unit where unit_id = %s", (step,)) == number
    with refused("SW007", "who started"):
        engine.one(deciding("approve"), (approval, "zoe"))
    (event,) = db.execute(
        "select payload from event_log where event_type = 'principal.changed' and payload ? 'former_name'"
    ).fetchall()
    assert (event[0]["name"], event[0]["former_name"]) == ("zoe", name)


def test_nobody_without_the_verb_changes_a_name(db: psycopg.Connection, dsn: str):
    number = stored(db, BLANK)
    as_an_earlier_release_left_it(dsn)
    for roles, tenant in ((("office",), 1), (("admin",), 2)):
        db.execute(
            "insert into tenant (tenant_id, tenant_code) overriding system value values (2, 'other')"
            " on conflict do nothing"
        )
        text = token(db, tenant, f"binder-{tenant}", roles)
        with refused("SW007"), db.transaction():
            db.execute("set local role stepwell_api")
            bind(db, text)
            db.execute("select stepwell.fn_principal_rename(1, %s, 'zoe')", (f"#{number}",))
