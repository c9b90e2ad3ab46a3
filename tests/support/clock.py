"""Moves stepwell.now() for every session of a database: receives durations, returns nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

import psycopg


class Clock:
    """Writes the row of `stepwell.clock_shift`, which all processes use from their next statement on."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)

    def close(self) -> None:
        self._connection.close()

    def advance(
        self, delta: timedelta | None = None, *, seconds: float = 0, minutes: float = 0, hours: float = 0,
        days: float = 0,
    ) -> None:  # fmt: skip
        """Moves the clock forward from its present time; a negative amount moves it back."""
        moved = (delta or timedelta()) + timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        with self._connection.transaction():
            row = self._connection.execute("select shift from stepwell.clock_shift for update").fetchone()
            self._write((row[0] if row else timedelta()) + moved)

    def set_shift(self, delta: timedelta) -> None:
        """Sets the clock to real time plus `delta`."""
        with self._connection.transaction():
            self._write(delta)

    def reset(self) -> None:
        self._connection.execute("delete from stepwell.clock_shift")

    def now(self) -> datetime:
        row = self._connection.execute("select stepwell.now()").fetchone()
        assert row is not None
        found: datetime = row[0]
        return found

    def _write(self, delta: timedelta) -> None:
        self._connection.execute("delete from stepwell.clock_shift")
        self._connection.execute("insert into stepwell.clock_shift (shift) values (%s)", (delta,))
