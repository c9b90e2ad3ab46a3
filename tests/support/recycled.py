"""Uses one database for many tests: receives clones of the template, returns them as they were made.

A new database costs each test a copy of a thousand files, and a session that plans every function again.
Here the rows of a test are removed after it, and what it changed comes back from a copy; the session stays.
A database is not used again if the test changed its schema or its settings, or after some tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

import psycopg
from psycopg.rows import tuple_row

from tests.support.databases import Databases

# What was removed stays in the files until then.
USES_LIMIT = 40

_SCHEMA = """
create schema test_reset;
create sequence test_reset.schema_changes;
create function test_reset.note() returns event_trigger language plpgsql security definer as
    $$ begin perform nextval('test_reset.schema_changes'); end $$;
"""
_WATCH = "create event trigger test_reset_note on ddl_command_end execute function test_reset.note()"

# Each table of the product, with the columns that can be written.
_TABLES = """
select c.relname,
    string_agg(quote_ident(a.attname), ', ' order by a.attnum) filter (where a.attgenerated = '')
from pg_class as c
inner join pg_attribute as a on c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'stepwell'::regnamespace and c.relkind = 'r'
group by c.relname order by c.relname
"""
_SEQUENCES = """
select format('perform setval(%L, %s, %L);', format('stepwell.%I', c.relname),
    coalesce(pg_sequence_last_value(c.oid), s.seqstart), pg_sequence_last_value(c.oid) is not null)
from pg_class as c inner join pg_sequence as s on c.oid = s.seqrelid
where c.relnamespace = 'stepwell'::regnamespace order by c.relname
"""
_OTHERS = """
select count(pg_terminate_backend(a.pid, 10000)) from pg_stat_activity as a
where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type = 'client backend'
"""
_CHANGED = """
select is_called from test_reset.schema_changes
union all select true from pg_db_role_setting as s inner join pg_database as d on s.setdatabase = d.oid
    where d.datname = current_database()
"""
_SESSION = (
    "reset session authorization", "reset all", "unlisten *", "close all", "discard temp",
    "select pg_advisory_unlock_all()",
)  # fmt: skip


@dataclass
class Recycled:
    dsn: str
    connection: psycopg.Connection
    stack: ExitStack
    base: int
    uses: int = field(default=0)


class Recycler:
    """Keeps databases between tests; `close` drops them."""

    def __init__(self, databases: Databases, template: str) -> None:
        self._databases, self._template = databases, template
        self._idle: list[Recycled] = []

    @contextmanager
    def used(self) -> Iterator[Recycled]:
        """A database that looks like a new one, with a session of its owner."""
        taken = self._idle.pop() if self._idle else self._make()
        try:
            yield taken
        finally:
            taken.uses += 1
            is_clean = False
            if taken.uses < USES_LIMIT:
                with suppress(psycopg.OperationalError):
                    is_clean = _clean(taken)
            if is_clean:
                self._idle.append(taken)
            else:
                taken.stack.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().stack.close()

    def _make(self) -> Recycled:
        stack = ExitStack()
        dsn = stack.enter_context(self._databases.fresh(self._template))
        options = "-csearch_path=stepwell,public"
        connection = psycopg.connect(dsn, autocommit=True, options=options)
        stack.callback(connection.close)
        connection.execute(_SCHEMA)
        connection.execute(_reset_function(connection))
        (base,) = connection.execute("select pg_current_xact_id()::text::bigint").fetchone() or (0,)
        connection.execute(_WATCH)
        connection.execute("select setval('test_reset.schema_changes', 1, false)")
        return Recycled(dsn, connection, stack, base)


def _reset_function(connection: psycopg.Connection) -> bytes:
    """A function that removes what was written since `p_base`, and brings back what was there."""
    lines = []
    for table, columns in connection.execute(_TABLES).fetchall():
        lines.append(f"delete from stepwell.{table} where xmin::text::bigint >= p_base;")
        (count,) = connection.execute(f"select count(*) from stepwell.{table}".encode()).fetchone() or (0,)
        if count:
            connection.execute(f"create table test_reset.{table} as table stepwell.{table}".encode())
            lines.append(
                f"if (select count(*) from stepwell.{table}) <> {count} then delete from stepwell.{table};"
                f" insert into stepwell.{table} ({columns}) overriding system value"
                f" select {columns} from test_reset.{table}; end if;"
            )
    lines += [line for (line,) in connection.execute(_SEQUENCES).fetchall()]
    body = "\n".join(lines)
    return (
        "create function test_reset.clean(p_base bigint) returns void language plpgsql"
        f" set session_replication_role = replica as $clean$ begin\n{body}\nend $clean$"
    ).encode()


def _clean(taken: Recycled) -> bool:
    """Whether the database is again as it was made."""
    connection = taken.connection
    if connection.closed or connection._notice_handlers or connection._notify_handlers:
        return False
    connection.rollback()
    connection.autocommit, connection.row_factory = True, tuple_row
    connection.isolation_level = connection.read_only = connection.deferrable = None
    for statement in _SESSION:
        connection.execute(statement.encode())
    if any(changed for (changed,) in connection.execute(_CHANGED).fetchall()):
        return False
    connection.execute(_OTHERS)
    connection.execute("select test_reset.clean(%s)", (taken.base,))
    return True
