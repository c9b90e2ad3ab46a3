"""`migrate` is one locked transaction: all or nothing, and once even if several processes migrate."""

from __future__ import annotations

import multiprocessing

import psycopg
import pytest

from stepwell.errors import PermissionDenied, SchemaError, UnsupportedDatabase
from stepwell.store.schema import migrate, sql_files, verify
from stepwell.store.schema.sql_files import SqlFiles
from tests.support.old_server import old_server


def functions(dsn: str) -> set[str]:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("select proname from pg_proc where pronamespace = 'stepwell'::regnamespace")
        return {name for (name,) in rows}


def scalar(dsn: str, query: str):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchone()[0]


def test_a_new_database_gets_every_migration_in_order(empty_dsn):
    report = migrate.migrate(empty_dsn)
    files = sql_files.load()
    assert report.applied == tuple(file.name for file in files.migrations)
    assert migrate.status(empty_dsn).is_current


def test_a_second_migrate_does_nothing(empty_dsn, sources):
    migrate.migrate(empty_dsn, sources.load())
    assert migrate.migrate(empty_dsn, sources.load()) == migrate.Report()


def test_only_new_files_are_applied(empty_dsn, sources):
    migrate.migrate(empty_dsn, sources.load())
    sources.migration("0002_more.sql", "alter table stepwell.thing add column size int;")
    assert migrate.status(empty_dsn, sources.load()).pending == ("0002_more.sql",)
    assert migrate.migrate(empty_dsn, sources.load()).applied == ("0002_more.sql",)


def test_a_failing_file_leaves_nothing_behind(empty_dsn, sources):
    sources.migration("0002_wrong.sql", "create table stepwell.other ();\n\nselect no_such_thing;\n")
    with pytest.raises(SchemaError, match=r"0002_wrong\.sql line 3: column \"no_such_thing\""):
        migrate.migrate(empty_dsn, sources.load())
    assert scalar(empty_dsn, "select to_regnamespace('stepwell')") is None


def test_a_file_that_ends_the_transaction_is_refused(empty_dsn, sources):
    sources.migration("0002_commits.sql", "create table stepwell.other (); commit;")
    with pytest.raises(SchemaError, match=r"0002_commits\.sql ends the transaction"):
        migrate.migrate(empty_dsn, sources.load())


def test_the_error_names_a_changed_file(empty_dsn, sources):
    migrate.migrate(empty_dsn, sources.load())
    sources.migration("0001_thing.sql", "create table stepwell.thing (thing_id bigint primary key);")
    for call in (migrate.migrate, migrate.status):
        with pytest.raises(SchemaError, match=r"0001_thing\.sql was changed"):
            call(empty_dsn, sources.load())


def test_the_error_names_a_renamed_file(empty_dsn, sources):
    migrate.migrate(empty_dsn, sources.load())
    text = (sources.folder / "migrations/0001_thing.sql").read_text()
    sources.remove("migrations/0001_thing.sql")
    sources.migration("0001_object.sql", text)
    with pytest.raises(SchemaError, match=r"0001_thing\.sql was changed.*0001_object\.sql"):
        migrate.migrate(empty_dsn, sources.load())


def test_a_database_of_a_newer_release_is_refused(empty_dsn, sources):
    sources.migration("0002_more.sql", "create table stepwell.more ();")
    migrate.migrate(empty_dsn, sources.load())
    sources.remove("migrations/0002_more.sql")
    with pytest.raises(SchemaError, match=r"0002_more\.sql, which this release does not have"):
        migrate.migrate(empty_dsn, sources.load())


def test_a_missing_record_of_a_migration_is_refused(empty_dsn, sources):
    sources.migration("0002_more.sql", "create table stepwell.more ();")
    migrate.migrate(empty_dsn, sources.load())
    with psycopg.connect(empty_dsn) as connection:
        connection.execute("delete from stepwell.schema_migration where migration_no = 1")
    with pytest.raises(SchemaError, match="no record of migration 0001"):
        migrate.migrate(empty_dsn, sources.load())


def test_a_database_migrated_file_by_file_equals_a_new_one(empty_dsn, dsn):
    files = sql_files.load()
    for count in range(1, len(files.migrations)):
        migrate.migrate(empty_dsn, SqlFiles(files.migrations[:count], ()))
    migrate.migrate(empty_dsn, files)
    assert verify.verify(empty_dsn).drifts == ()
    assert verify.dump(empty_dsn) == verify.dump(dsn)


def test_the_wait_for_a_locked_table_is_limited(empty_dsn, sources, monkeypatch):
    monkeypatch.setattr(migrate, "TABLE_LOCK_LIMIT_SECONDS", 1)
    migrate.migrate(empty_dsn, sources.load())
    sources.migration("0002_more.sql", "alter table stepwell.thing add column size int;")
    with psycopg.connect(empty_dsn) as busy:
        busy.execute("insert into stepwell.thing values (1)")
        with pytest.raises(SchemaError, match=r"0002_more\.sql.*lock timeout") as caught:
            migrate.migrate(empty_dsn, sources.load())
    assert "stop the workers" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "name", ["0003_gap.sql", "0001_again.sql", "first.sql", "0002-dash.sql", "0002_Big.sql"]
)
def test_missing_or_repeated_numbers_and_wrong_names_are_refused(sources, name):
    sources.migration(name, "select 1;")
    with pytest.raises(SchemaError, match="migration"):
        sources.load()


def test_of_four_processes_at_the_same_time_one_migrates(empty_dsn):
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(4) as pool:
        reports = pool.map(migrate.migrate, [empty_dsn] * 4, chunksize=1)
    assert sorted(len(report.applied) for report in reports)[:3] == [0, 0, 0]
    assert migrate.status(empty_dsn).is_current


def test_a_server_older_than_15_is_refused():
    with old_server("14.9") as dsn, pytest.raises(UnsupportedDatabase, match=r"14\.9") as caught:
        migrate.migrate(dsn)
    assert caught.value.sqlstate == "SW008"


def test_a_role_that_may_not_create_is_refused_and_nothing_changes(empty_dsn, plain_role):
    with pytest.raises(PermissionDenied):
        migrate.migrate(plain_role(empty_dsn))
    assert scalar(empty_dsn, "select to_regnamespace('stepwell')") is None
