"""Times in the texts that are hashed: receives a column or a text, returns SQL or a time."""

from __future__ import annotations

from datetime import datetime


def read_moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def moment_text(column: str) -> str:
    """A time as the texts that are hashed have it; what no such text can have, such as infinity, as it is."""
    return (
        f"case when {column} between '0001-01-01 00:00+00' and '9999-12-31 23:59:59.999999+00' then to_char("
        f"({column}) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') else ({column})::text end"
    )
