"""Read payloads for verification without being the owner: receives a query, returns one for a reader.

The owner reads the tables. For every other role the columns of payloads are closed; views show them to
whoever is bound and may read payloads, and take the place of the tables in the query.
"""

from __future__ import annotations

import re
from typing import Final

import psycopg
from psycopg.rows import TupleRow

from stepwell.errors import PermissionDenied
from stepwell.sql import support_text
from stepwell.store.connection.perform import BIND

Connection = psycopg.Connection[TupleRow]

# Table → the view of its payloads, and the key of both beside the tenant.
_VIEWS: Final = {
    "run_detail": ("v_run_payload", "run_id"),
    "job_detail": ("v_job_payload", "job_id"),
    "action_receipt": ("v_receipt_payload", "receipt_id"),
    "approval_detail": ("v_approval_payload", "approval_id"),
}
_TABLE = re.compile(rf"\bstepwell\.({'|'.join(_VIEWS)}) as\b")


def bind(connection: Connection, token: str | None) -> None:
    """Bind the transaction. Who may not read payloads is refused: every one would look changed."""
    if token is not None:
        connection.execute(BIND, (token,))
    if connection.execute("select stepwell.payload_tenant()").fetchone() == (None,):
        raise PermissionDenied(
            "the log is verified with its payloads, which this caller may not read",
            hint="give a token (STEPWELL_TOKEN) of an account with the verb payload.read",
        )


class Readable:
    """Rewrites queries for the role of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sources: dict[str, str] | None = None

    def query(self, text: str) -> str:
        if not _TABLE.search(text):
            return text
        if self._sources is None:
            self._sources = self._find()
        sources = self._sources
        return _TABLE.sub(lambda found: f"{sources[found[1]]} as", text)

    def _find(self) -> dict[str, str]:
        """Table → what to read instead of it."""
        names = [*_VIEWS, *(view for view, _ in _VIEWS.values())]
        columns: dict[str, list[str]] = {name: [] for name in names}
        for relation, column in self._connection.execute(
            support_text("audit_columns").encode(), (names,)
        ).fetchall():
            columns[relation].append(column)
        return {table: self._source(table, columns) for table in _VIEWS}

    @staticmethod
    def _source(table: str, columns: dict[str, list[str]]) -> str:
        view, key = _VIEWS[table]
        closed = [f"p.{column}" for column in columns[view] if column not in columns[table]]
        if not closed:
            return f"stepwell.{table}"
        chosen = ", ".join([*(f"t.{column}" for column in columns[table]), *closed])
        return (
            f"(select {chosen} from stepwell.{table} as t left join stepwell.{view} as p"
            f" on t.tenant_id = p.tenant_id and t.{key} = p.{key})"
        )
