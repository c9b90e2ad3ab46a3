"""Every function of the database that the lag of events needs: receives plain values, returns a `Call`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal

from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class Lag:
    """How long events took from a producer to a consumer, and how long they may take."""

    producer: str
    consumer: str
    event_count: int
    # Null when no event arrived in the window.
    p50_ms: Decimal | None
    p95_ms: Decimal | None
    p99_ms: Decimal | None
    # The oldest event that a reader or a route has not taken.
    waits_since: datetime | None
    waits_ms: int | None
    threshold_p50_ms: int
    threshold_p95_ms: int
    threshold_p99_ms: int
    # green, yellow or red
    light: str


@dataclass(frozen=True, slots=True)
class LagPoint:
    """The same of one pair, of the events that arrived from `at` until the next point."""

    at: datetime
    event_count: int
    p50_ms: Decimal
    p95_ms: Decimal
    p99_ms: Decimal


def lags(tenant: int, window: timedelta) -> Call[list[Lag]]:
    """The pairs of producer and consumer, the one that is farthest over its threshold first."""
    names = ", ".join(f"l.{field.name}" for field in fields(Lag))
    return Call(
        f"select {names} from stepwell.fn_event_lag_compute(%s, %s) as l",
        (tenant, window),
        lambda rows: [Lag(*row) for row in rows],
    )


def trend(tenant: int, producer: str, consumer: str, window: timedelta) -> Call[list[LagPoint]]:
    """At most 300 points, the oldest first."""
    names = ", ".join(f"l.{field.name}" for field in fields(LagPoint))
    return Call(
        f"select {names} from stepwell.fn_event_lag_trend(%s, %s, %s, %s) as l",
        (tenant, producer, consumer, window),
        lambda rows: [LagPoint(*row) for row in rows],
    )
