"""`verify` names every drift, and nothing else."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from stepwell.errors import SchemaError
from stepwell.store.schema import catalog, migrate, verify
from tests.support.wait import until_row


@pytest.fixture
def migrated(empty_dsn, sources):
    sources.migration(
        "0002_more.sql",
        """
        create table stepwell.log (at timestamptz not null, note text) partition by range (at);
        create table stepwell.item (
            item_id int generated always as identity primary key,
            thing_id int not null references stepwell.thing,
            note text collate "C" default 'none',
            constraint note_is_short check (length(note) < 100)
        );
        create index item_by_thing on stepwell.item (thing_id) where note is not null;
        alter table stepwell.item enable row level security;
        create policy item_is_ours on stepwell.item using (thing_id > 0);
        create type stepwell.colour as enum ('red', 'blue');
        create domain stepwell.small as int constraint it_is_small check (value < 10);
        """,
    )
    sources.routine("view.sql", "create or replace view stepwell.v as select thing_id from stepwell.thing;")
    migrate.migrate(empty_dsn, sources.load())
    return empty_dsn


@pytest.mark.parametrize(
    ("change", "drift"),
    [
        ("drop table stepwell.log", "missing table stepwell.log"),
        ("create table stepwell.own (a int)", "extra table stepwell.own"),
        ("alter table stepwell.item add column b int", "changed table stepwell.item"),
        ("alter table stepwell.item drop column note cascade", "changed table stepwell.item"),
        ("alter table stepwell.item alter column note set default 'x'", "changed table stepwell.item"),
        ("alter table stepwell.item alter column note type varchar(9)", "changed table stepwell.item"),
        ("alter table stepwell.item alter column thing_id drop not null", "changed table stepwell.item"),
        ("alter table stepwell.item disable row level security", "changed table stepwell.item"),
        ("alter table stepwell.item set (fillfactor = 50)", "changed table stepwell.item"),
        ("grant select on stepwell.item to public", "changed table stepwell.item"),
        ("drop policy item_is_ours on stepwell.item", "missing policy stepwell.item.item_is_ours"),
        (
            "alter table stepwell.item drop constraint note_is_short",
            "missing constraint stepwell.item.note_is_short",
        ),
        ("alter table stepwell.item add constraint c unique (note)", "extra constraint stepwell.item.c"),
        ("drop index stepwell.item_by_thing", "missing index stepwell.item_by_thing"),
        ("create index mine on stepwell.item (note)", "extra index stepwell.mine"),
        ("alter type stepwell.colour add value 'green'", "changed type stepwell.colour"),
        ("alter domain stepwell.small drop constraint it_is_small", "changed type stepwell.small"),
        ("drop function stepwell.fn_name", "missing function stepwell.fn_name(p_id integer)"),
        (
            "create or replace function stepwell.fn_name(p_id int) returns text"
            " language sql stable as 'select null'",
            "changed function stepwell.fn_name(p_id integer)",
        ),
        (
            "alter function stepwell.fn_name(int) security definer",
            "changed function stepwell.fn_name(p_id integer)",
        ),
        ("create or replace view stepwell.v as select 1 as thing_id", "changed view stepwell.v"),
        ("create sequence stepwell.s", "extra sequence stepwell.s"),
    ],
)
def test_each_manual_change_is_named(migrated, sources, change, drift):
    with psycopg.connect(migrated, autocommit=True) as connection:
        connection.execute(change)
    assert drift in [str(found) for found in verify.verify(migrated, sources.load()).drifts]


def test_an_untouched_database_has_no_drift(migrated, sources):
    assert verify.verify(migrated, sources.load()) == verify.Verdict("a scratch database", ())


def test_partitions_created_at_run_time_are_no_drift(migrated, sources):
    with psycopg.connect(migrated) as connection:
        connection.execute(
            "create table stepwell.log_2026_11 partition of stepwell.log"
            " for values from ('2026-11-01') to ('2026-12-01')"
        )
        connection.execute("create index on stepwell.log_2026_11 (note)")
    found = [str(drift) for drift in verify.verify(migrated, sources.load()).drifts]
    # Partitions are left out, so an index on one partition is left out too.
    assert found == []


def test_the_real_schema_has_no_drift(dsn):
    assert verify.verify(dsn).drifts == ()


def test_an_unmigrated_database_is_refused_with_the_remedy(empty_dsn):
    with pytest.raises(SchemaError, match="0001") as caught:
        verify.verify(empty_dsn)
    assert "db migrate" in (caught.value.hint or "")


@pytest.mark.parametrize("fails", [False, True])
def test_the_scratch_database_is_dropped_at_the_end(migrated, fails):
    """Looks for this database by name: other tests on the same server may have their own."""

    def exists(name: str) -> bool:
        with psycopg.connect(migrated) as connection:
            return connection.execute("select from pg_database where datname = %s", (name,)).rowcount == 1

    with suppress(ZeroDivisionError), verify.scratch_database(migrated) as scratch:
        name = conninfo_to_dict(scratch)["dbname"]
        assert exists(name)
        if fails:
            raise ZeroDivisionError
    assert not exists(name)


def test_a_role_without_createdb_compares_with_the_snapshot(dsn, plain_role):
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("drop view if exists stepwell.own; create table stepwell.own (a int)")
        connection.execute("grant usage on schema stepwell to public")
        connection.execute("grant select on stepwell.schema_migration, stepwell.schema_routine to public")
    verdict = verify.verify(plain_role(dsn))
    assert verdict.measure == "the committed snapshot"
    assert "extra table stepwell.own" in [str(drift) for drift in verdict.drifts]


def test_a_written_snapshot_reads_back_the_same(migrated):
    with psycopg.connect(migrated) as connection:
        entries = catalog.read(connection)
    assert catalog.compare(entries, catalog.parse(catalog.render(entries))) == []


def test_reading_the_catalog_does_not_change_the_search_path(migrated):
    with psycopg.connect(migrated) as connection:
        connection.execute("set local search_path = stepwell, public")
        catalog.read(connection)
        assert connection.execute("show search_path").fetchone() == ("stepwell, public",)


def test_a_connection_that_is_about_to_end_leaves_no_error_in_the_log_of_the_server(empty_dsn):
    """A closed connection lives a moment longer on the server; the scratch database waits for it."""
    dropped = (
        "select exists (select from pg_stat_activity where query like 'drop database%%' || %(name)s || '%%')"
        " or not exists (select from pg_database where datname = %(name)s)"
    )

    def use(scratch: str) -> bool:
        with psycopg.connect(empty_dsn, autocommit=True) as watch, psycopg.connect(scratch) as connection:
            opened.set_result(None)
            until_row(watch, dropped, {"name": connection.info.dbname})
            with suppress(psycopg.OperationalError):
                return connection.execute("select true").fetchone() == (True,)
            return False

    with ThreadPoolExecutor(1) as pool:
        opened: Future[None] = Future()
        with verify.scratch_database(empty_dsn) as scratch:
            used = pool.submit(use, scratch)
            opened.result()
        assert used.result()
