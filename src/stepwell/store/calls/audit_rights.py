"""Bind a transaction that verifies: receives a token, refuses whoever may not read payloads."""

from __future__ import annotations

import psycopg
from psycopg.rows import TupleRow

from stepwell.errors import PermissionDenied
from stepwell.store.connection.perform import BIND

Connection = psycopg.Connection[TupleRow]


def bind(connection: Connection, token: str | None) -> None:
    """Bind the transaction. Who may not read payloads is refused: every one would look changed."""
    if token is not None:
        connection.execute(BIND, (token,))
    if connection.execute("select stepwell.payload_tenant()").fetchone() == (None,):
        raise PermissionDenied(
            "the log is verified with its payloads, which this caller may not read",
            hint="give a token (STEPWELL_TOKEN) of an account with the verb payload.read",
        )
