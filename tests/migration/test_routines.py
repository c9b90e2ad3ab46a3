"""Routines follow their files: replaced when a file changes, dropped when a file is removed, in any order."""

from __future__ import annotations

import psycopg
import pytest

from stepwell.errors import SchemaError
from stepwell.sql import support_text
from stepwell.store.schema import catalog, migrate, routines, sql_files
from stepwell.store.schema.sql_files import SqlFile

VIEW = "create or replace view stepwell.thing_view as select {columns} from stepwell.thing;"


def read(dsn: str):
    with psycopg.connect(dsn) as connection:
        return catalog.read(connection)


def call(dsn: str, query: str):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchone()[0]


def test_a_changed_routine_is_applied_again(empty_dsn, sources):
    migrate.migrate(empty_dsn, sources.load())
    sources.routine(
        "fn_name.sql",
        "create or replace function stepwell.fn_name(p_id int) returns text"
        " language sql as $$ select 'new' $$;",
    )
    assert not migrate.status(empty_dsn, sources.load()).routines_are_current
    report = migrate.migrate(empty_dsn, sources.load())
    assert report.routines_applied
    assert not report.applied
    assert call(empty_dsn, "select stepwell.fn_name(1)") == "new"


def test_the_routine_of_a_removed_file_is_dropped(empty_dsn, sources):
    sources.routine("view.sql", VIEW.format(columns="stepwell.fn_name(thing_id) as name"))
    migrate.migrate(empty_dsn, sources.load())
    sources.remove("routines/fn_name.sql")
    sources.remove("routines/view.sql")
    report = migrate.migrate(empty_dsn, sources.load())
    assert report.dropped == ("stepwell.fn_name(p_id integer)", "stepwell.thing_view")
    assert not {key for key in read(empty_dsn) if key[0] in ("view", "function")}


def test_a_routine_whose_file_moved_is_kept(empty_dsn, sources):
    migrate.migrate(empty_dsn, sources.load())
    text = (sources.folder / "routines/fn_name.sql").read_text()
    sources.remove("routines/fn_name.sql")
    sources.routine("elsewhere/fn_name.sql", text)
    assert migrate.migrate(empty_dsn, sources.load()).dropped == ()
    assert call(empty_dsn, "select stepwell.fn_name(1)") is None


def test_functions_of_migrations_and_of_users_are_never_dropped(empty_dsn, sources):
    sources.migration(
        "0002_fn.sql", "create function stepwell.kept() returns int language sql as $$ select 1 $$;"
    )
    migrate.migrate(empty_dsn, sources.load())
    with psycopg.connect(empty_dsn) as connection:
        connection.execute("create function stepwell.foreign_one() returns int language sql as 'select 2'")
    sources.remove("routines/fn_name.sql")
    assert migrate.migrate(empty_dsn, sources.load()).dropped == ("stepwell.fn_name(p_id integer)",)
    assert call(empty_dsn, "select stepwell.kept() + stepwell.foreign_one()") == 3


def test_the_order_of_files_does_not_matter(empty_dsn, sources):
    sources.routine("a_view.sql", VIEW.format(columns="stepwell.zz_late(thing_id) as name"))
    sources.routine("b_view.sql", "create or replace view stepwell.b as select * from stepwell.z_view;")
    sources.routine("z_view.sql", "create or replace view stepwell.z_view as select 1 as one;")
    sources.routine(
        "zz.sql",
        "create or replace function stepwell.zz_late(p int) returns int"
        " language sql begin atomic select p; end;",
    )
    migrate.migrate(empty_dsn, sources.load())
    assert call(empty_dsn, "select one from stepwell.b") == 1


def test_a_name_that_no_file_defines_is_an_error(empty_dsn, sources):
    sources.routine("a_view.sql", "create or replace view stepwell.a as select * from stepwell.nowhere;")
    with pytest.raises(SchemaError, match=r"a_view\.sql.*nowhere"):
        migrate.migrate(empty_dsn, sources.load())


@pytest.mark.parametrize(
    "body",
    ["language plpgsql as $$ begin retrun 1; end $$", "language sql as $$ select 1 from stepwell.nowhere $$"],
)
def test_a_routine_with_a_wrong_body_is_refused(empty_dsn, sources, body):
    sources.routine("fn_bad.sql", f"create or replace function stepwell.fn_bad() returns int {body};")
    with pytest.raises(SchemaError, match=r"stepwell\.fn_bad"):
        migrate.migrate(empty_dsn, sources.load())
    assert call(empty_dsn, "select to_regnamespace('stepwell')") is None


def test_a_view_can_change_its_columns(empty_dsn, sources):
    sources.routine("view.sql", VIEW.format(columns="thing_id, name"))
    sources.routine(
        "fn_all.sql",
        "create or replace function stepwell.fn_all() returns setof stepwell.thing_view language sql as"
        " $$ select * from stepwell.thing_view $$;",
    )
    migrate.migrate(empty_dsn, sources.load())
    sources.routine("view.sql", VIEW.format(columns="name, thing_id, 7 as seven"))
    migrate.migrate(empty_dsn, sources.load())
    view = read(empty_dsn)["view", "stepwell.thing_view"]
    assert "seven integer" in view.definition
    assert call(empty_dsn, "select count(*) from stepwell.fn_all()") == 0
    assert migrate.migrate(empty_dsn, sources.load()) == migrate.Report()


def test_a_view_with_a_trigger_can_change_its_columns(empty_dsn, sources):
    trigger = """
        create or replace function stepwell._refuse() returns trigger language plpgsql as
        $$ begin raise exception 'never'; end $$;
        create or replace trigger nothing_comes instead of insert on stepwell.thing_view
        for each row execute function stepwell._refuse();
    """
    sources.routine("view.sql", VIEW.format(columns="thing_id, name") + trigger)
    migrate.migrate(empty_dsn, sources.load())
    sources.routine("view.sql", VIEW.format(columns="name, thing_id") + trigger)
    migrate.migrate(empty_dsn, sources.load())
    assert ("trigger", "stepwell.thing_view.nothing_comes") in read(empty_dsn)
    with psycopg.connect(empty_dsn) as connection, pytest.raises(psycopg.Error, match="never"):
        connection.execute("insert into stepwell.thing_view values ('a', 1)")


def test_a_function_can_change_its_result_type(empty_dsn, sources):
    migrate.migrate(empty_dsn, sources.load())
    sources.routine(
        "fn_name.sql",
        "create or replace function stepwell.fn_name(p_id int) returns int language sql as $$ select 5 $$;",
    )
    migrate.migrate(empty_dsn, sources.load())
    assert call(empty_dsn, "select stepwell.fn_name(1)") == 5


def test_triggers_are_kept_when_another_function_changes_its_result_type(empty_dsn, sources):
    trigger = """
        create or replace function stepwell._refuse() returns trigger language plpgsql as
        $$ begin raise exception '{word}'; end $$;
        create or replace trigger nothing_goes before delete on stepwell.thing
        for each statement execute function stepwell._refuse();
    """
    sources.routine("_refuse.sql", trigger.format(word="never"))
    migrate.migrate(empty_dsn, sources.load())
    sources.routine("_refuse.sql", trigger.format(word="not even now"))
    sources.routine(
        "fn_name.sql",
        "create or replace function stepwell.fn_name(p_id int) returns int language sql as $$ select 5 $$;",
    )
    migrate.migrate(empty_dsn, sources.load())
    assert call(empty_dsn, "select stepwell.fn_name(1)") == 5
    with psycopg.connect(empty_dsn) as connection, pytest.raises(psycopg.Error, match="not even now"):
        connection.execute("delete from stepwell.thing")


def test_a_changed_result_type_is_refused_when_a_table_uses_the_function(empty_dsn, sources):
    migrate.migrate(empty_dsn, sources.load())
    with psycopg.connect(empty_dsn) as connection:
        connection.execute("alter table stepwell.thing add column label text default stepwell.fn_name(1)")
    sources.routine(
        "fn_name.sql",
        "create or replace function stepwell.fn_name(p_id int) returns int language sql as $$ select 5 $$;",
    )
    with pytest.raises(SchemaError, match=r"table stepwell\.thing uses it"):
        migrate.migrate(empty_dsn, sources.load())
    assert "label text default" in read(empty_dsn)["table", "stepwell.thing"].definition


def test_privileges_are_applied_once_after_the_routines(empty_dsn, sources):
    sources.migration(
        "0002_log.sql", "create table stepwell.privilege_log (applied_at timestamptz default now());"
    )
    sources.routine(
        "fn_privileges_apply.sql",
        "create or replace function stepwell.fn_privileges_apply() returns void language sql as"
        " $$ insert into stepwell.privilege_log default values;"
        # The roles of the server have no rights here yet; a role without rights is granted them.
        " grant usage on schema stepwell to public;"
        " revoke execute on function stepwell.fn_name(int) from public $$;",
    )
    count = "select count(*) from stepwell.privilege_log"
    migrate.migrate(empty_dsn, sources.load())
    assert "granted" not in read(empty_dsn)["function", "stepwell.fn_name(p_id integer)"].definition
    assert call(empty_dsn, count) == 1
    migrate.migrate(empty_dsn, sources.load())
    assert call(empty_dsn, count) == 1, "privileges were applied although nothing was migrated"
    sources.migration("0003_more.sql", "create table stepwell.more ();")
    migrate.migrate(empty_dsn, sources.load())
    assert call(empty_dsn, count) == 2


def test_the_routines_of_this_release_are_applied_without_one_error(empty_dsn):
    """An error that a savepoint undoes stays in the log of the server and looks like a failure."""
    files = sql_files.load()
    with psycopg.connect(empty_dsn) as connection:
        connection.execute(support_text("bookkeeping"))
        connection.execute("set local search_path = stepwell, public")
        connection.execute("set local check_function_bodies = off")
        for file in (*files.migrations, *routines.in_order(files.routines)):
            routines.apply_file(connection, file)


def test_a_file_comes_after_what_its_views_and_functions_need():
    def file(name: str, text: str) -> SqlFile:
        return SqlFile("routines", name, text)

    given = [
        file(
            "a.sql", "create or replace view stepwell.v_a as select stepwell._b(v.x) from stepwell.v_c as v;"
        ),
        file(
            "b.sql",
            "create or replace function stepwell._b(p int) returns int language sql\nas $$ select 1 $$;",
        ),
        file("c.sql", "create or replace view stepwell.v_c as select 1 as x;"),
        file("d.sql", "create or replace view stepwell.v_d as select 1 from stepwell.v_e;"),
        file("e.sql", "create or replace view stepwell.v_e as select 1 from stepwell.v_d;"),
    ]
    assert [found.name[0] for found in routines.in_order(given)] == ["b", "c", "a", "e", "d"]
