"""Mark a database that stepwell creates itself: receives its name; its first migration reads the mark."""

from __future__ import annotations

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from stepwell.config import user_name


def mark_created(connection: psycopg.Connection[TupleRow], database: str) -> None:
    """The first migration of this database enters development mode, for the user of this process."""
    statement = sql.SQL("alter database {} set stepwell.created_for = {}")
    connection.execute(statement.format(sql.Identifier(database), sql.Literal(user_name())))
