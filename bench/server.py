"""Serve: one Postgres for all contestants, with durability checked, and a fresh database per cell.

Receives a URL, or none (then the embedded PostgreSQL starts in a temporary folder); returns a `BenchServer`.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import psycopg
from psycopg import conninfo, sql

from stepwell.store.embedded.server import EmbeddedServer
from stepwell.store.schema.migrate import migrate

MUST_BE_ON = ("fsync", "synchronous_commit", "full_page_writes")

# What can change a speed and is not as PostgreSQL comes; the value that it comes with stands beside it.
_NOT_DEFAULT = """
    select name, current_setting(name) || ' (default ' || coalesce(
        case unit
            when '8kB' then pg_size_pretty(nullif(boot_val, '-1')::bigint * 8192)
            when 'kB' then pg_size_pretty(nullif(boot_val, '-1')::bigint * 1024)
            when 'MB' then pg_size_pretty(nullif(boot_val, '-1')::bigint * 1048576)
            when 's' then make_interval(secs => boot_val::int)::text
        end, boot_val) || ')'
    from pg_settings
    where setting is distinct from boot_val and source in ('configuration file', 'command line')
      and (category ~ '^(Resource Usage|Write-Ahead Log|Query Tuning|Vacuuming|Autovacuum)'
           or name ~ '^(max_connections|max_locks_per_transaction)$')"""


@dataclass(frozen=True, eq=False)
class BenchServer:
    admin_url: str
    version: str
    settings: dict[str, str]

    @contextlib.contextmanager
    def fresh_database(self, name: str, *, is_migrated: bool = False) -> Iterator[str]:
        """A database that exists for one cell only, so that no cell finds rows of another cell."""
        database = f"bench_{name}_{next(_numbers)}".lower()
        identifier = sql.Identifier(database)
        template = sql.Identifier(_migrated(self) if is_migrated else "template1")
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute(sql.SQL("drop database if exists {} with (force)").format(identifier))
            connection.execute(sql.SQL("create database {} template {}").format(identifier, template))
            # The dirty pages of the previous cell must not be written during this cell.
            connection.execute("checkpoint")
        try:
            yield self.url_of(database)
        finally:
            with psycopg.connect(self.admin_url, autocommit=True) as connection:
                connection.execute(sql.SQL("drop database if exists {} with (force)").format(identifier))

    def url_of(self, database: str) -> str:
        return as_url(self.admin_url, database)


_numbers = itertools.count(1)
MIGRATED = "bench_migrated"


@functools.cache
def _migrated(server: BenchServer) -> str:
    """The database with our schema of which the cells get copies: to migrate takes seconds."""
    identifier = sql.Identifier(MIGRATED)
    with psycopg.connect(server.admin_url, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(identifier))
        connection.execute(sql.SQL("create database {}").format(identifier))
    migrate(server.url_of(MIGRATED))
    return MIGRATED


def as_url(url: str, database: str) -> str:
    """A URL, not a conninfo string, because not every peer can read a conninfo string."""
    parts = conninfo.conninfo_to_dict(url)
    user = quote(str(parts.get("user") or "postgres"), safe="")
    password = f":{quote(str(parts['password']), safe='')}" if parts.get("password") else ""
    host, port = str(parts.get("host") or ""), str(parts.get("port") or "")
    if host.startswith("/"):
        query = urlencode({"host": host, **({"port": port} if port else {})})
        return f"postgresql://{user}{password}@/{quote(database)}?{query}"
    address = f"{host or 'localhost'}{':' + port if port else ''}"
    return f"postgresql://{user}{password}@{address}/{quote(database)}"


@contextlib.contextmanager
def bench_server(database_url: str | None) -> Iterator[BenchServer]:
    """Refuses a server that does not wait for the disk: its numbers could not be compared."""
    if database_url is not None:
        server = _described(database_url)
        try:
            yield server
        finally:
            with psycopg.connect(server.admin_url, autocommit=True) as connection:
                connection.execute(f"drop database if exists {MIGRATED} with (force)")
        return
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder, EmbeddedServer(folder) as server:
        yield _described(server.conninfo())


def _described(url: str) -> BenchServer:
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "select name, current_setting(name) from pg_settings where name = any(%s)",
            [list(MUST_BE_ON)],
        )
        settings: dict[str, str] = dict(rows.fetchall())
        others: dict[str, str] = dict(connection.execute(_NOT_DEFAULT).fetchall())
        version = connection.execute("select current_setting('server_version')").fetchone()
    for name in MUST_BE_ON:
        if settings[name] not in {"on", "remote_apply"}:
            raise SystemExit(
                f"bench: the server has {name} = {settings[name]}; it must be on to measure durable work"
            )
    assert version is not None
    return BenchServer(
        as_url(url, str(conninfo.conninfo_to_dict(url).get("dbname") or "postgres")),
        version[0],
        settings | others,
    )
