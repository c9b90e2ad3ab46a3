"""Read the declared state machines: receives a conninfo, returns the registry as frozen values."""

from __future__ import annotations

import psycopg

from stepwell.errors import UNDEFINED_SQLSTATES, NotFound, SchemaError, from_database
from stepwell.machines.model import Registry
from stepwell.store.connection.call import Call
from stepwell.store.connection.pool import named

CONNECT_LIMIT_SECONDS = 10


def read(conninfo: str) -> Registry:
    """The whole registry in one call; raises SchemaError if the database was never migrated."""
    try:
        with psycopg.connect(
            named(conninfo, "stepwell registry"), autocommit=True, connect_timeout=CONNECT_LIMIT_SECONDS
        ) as connection:
            row = connection.execute("select stepwell.fn_registry_read()").fetchone()
    except psycopg.Error as error:
        if error.sqlstate in UNDEFINED_SQLSTATES:
            raise SchemaError("the database has no registry", hint="run 'stepwell db migrate'") from error
        raise from_database(error) from error
    if row is None or row[0] is None:
        raise NotFound("the registry is empty", hint="run 'stepwell doctor'")
    return Registry.from_document(row[0])


def check() -> Call[list[tuple[str, bool, str | None]]]:
    """The checks of the registry on its own rows: the name of each rule, whether it holds, and a detail."""
    return Call(
        "select c.* from stepwell.fn_registry_check() as c",
        (),
        lambda rows: [(row[0], row[1], row[2]) for row in rows],
    )
