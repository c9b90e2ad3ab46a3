"""How far consumers are behind their producers: receives a window, returns quantiles and trends."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from stepwell.api.caller import Caller
from stepwell.api.resource import Resource
from stepwell.api.shown import Shown
from stepwell.store.calls import problems as calls

router = Resource("problems")

Window = Annotated[
    int, Query(ge=300, le=604_800, description="so many seconds back: 5 minutes to 7 days", examples=[3600])
]


class EventLag(Shown):
    """A pair of producer and consumer. The quantiles are exact within 5 percent, or 1 ms."""

    producer: str = Field(examples=["log", "queue", "approvals"])
    consumer: str = Field(examples=["reader:mail", "route:paid", "seal", "default/send_mail", "slack"])
    event_count: int = Field(description="that arrived in the window; of the queue: of the sample")
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    waits_since: datetime | None = Field(
        description="the oldest event that a reader or a route has not taken"
    )
    waits_ms: int | None
    threshold_p50_ms: int
    threshold_p95_ms: int
    threshold_p99_ms: int
    light: Literal["green", "yellow", "red"] = Field(
        description="red: p99, or an event that waits, is over the threshold of p99; yellow: p50 or p95 is"
    )


class EventLagPoint(Shown):
    """Events that arrived from here until the next point."""

    at: datetime
    event_count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


@router.read("/governance/lag", summary="How far consumers are behind their producers")
async def list_lag(caller: Caller, window: Window = 3600) -> list[EventLag]:
    found = await caller.perform(calls.lags(caller.tenant_id, timedelta(seconds=window)))
    return [EventLag.model_validate(one) for one in found]


@router.read("/governance/lag/trend", summary="The lag of one consumer over time")
async def show_lag_trend(
    caller: Caller,
    producer: Annotated[str, Query(min_length=1, max_length=100)],
    consumer: Annotated[str, Query(min_length=1, max_length=400)],
    window: Window = 86_400,
) -> list[EventLagPoint]:
    found = await caller.perform(calls.trend(caller.tenant_id, producer, consumer, timedelta(seconds=window)))
    return [EventLagPoint.model_validate(one) for one in found]
