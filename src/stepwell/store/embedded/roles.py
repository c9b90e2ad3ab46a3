"""The login roles of the processes: makes them and their passwords, or writes the SQL that does.

What each role may do is granted by `fn_privileges_apply`, which every migration calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from stepwell.errors import PermissionDenied, from_database
from stepwell.sql import support_text

Connection = psycopg.Connection[TupleRow]

ROLES: Final = ("stepwell_api", "stepwell_keeper", "stepwell_reader", "stepwell_slack", "stepwell_worker")
PASSWORD_BYTES = 24


@contextmanager
def connecting(conninfo: str) -> Iterator[Connection]:
    """A connection whose changes are committed at the end of the block, all of them or none."""
    try:
        connection = psycopg.connect(conninfo)
    except psycopg.Error as error:
        raise from_database(error) from error
    with connection:
        yield connection


def new_passwords() -> dict[str, str]:
    """Role → a new password."""
    # Imported here: a command that finds the roles made needs no passwords.
    import secrets

    return {role: secrets.token_urlsafe(PASSWORD_BYTES) for role in ROLES}


def let_log_in(connection: Connection, passwords: Mapping[str, str] | None = None) -> None:
    """Make the roles that are missing, and let all of them log in. Needs the right to create roles."""
    try:
        for statement in statements(connection, passwords or {}):
            connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege as error:
        raise PermissionDenied(
            f"this role may not create roles: {error.diag.message_primary}",
            hint="connect as a superuser or a role with CREATEROLE, or give it the SQL of 'db roles --print'",
        ) from error
    except psycopg.Error as error:
        raise from_database(error) from error


def apply_rights(connection: Connection) -> bool:
    """Grant each role what it may do; false if the database has no schema of ours yet."""
    try:
        if connection.execute("select to_regproc('stepwell.fn_privileges_apply')").fetchone() == (None,):
            return False
        connection.execute("select stepwell.fn_privileges_apply()")
    except psycopg.Error as error:
        raise from_database(error) from error
    return True


def statements(connection: Connection, passwords: Mapping[str, str]) -> Iterator[sql.Composed]:
    """The statements for this server. A password is sent and printed only as its hash."""
    found = connection.execute(support_text("roles_known"), (list(ROLES),)).fetchall()
    known: dict[str, bool] = dict(found)
    for role in ROLES:
        name = sql.Identifier(role)
        if role not in known:
            # Another database of the server may make it at the same time.
            yield sql.SQL(
                "do $$ begin create role {} login; exception when duplicate_object or unique_violation"
                " then alter role {} login; end $$"
            ).format(name, name)
        elif not known[role]:
            yield sql.SQL("alter role {} login").format(name)
        if role in passwords:
            hashed = connection.pgconn.encrypt_password(
                passwords[role].encode(), role.encode(), b"scram-sha-256"
            ).decode()
            yield sql.SQL("alter role {} password {}").format(name, sql.Literal(hashed))
