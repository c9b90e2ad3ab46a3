"""Show runs: receives a number, returns why a step or job is not running, or a past state of a run."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell.api.caller import Caller, Number
from stepwell.api.resource import Resource
from stepwell.store.calls import past, views

router = Resource("runs")


class WhyNotRunning(BaseModel):
    """The reason in two languages, and who can act."""

    unit_id: str
    code: str = Field(description="stable name of the reason", examples=["dependency"])
    sentence_en: str
    sentence_vi: str
    who: str | None


class UnitThen(BaseModel):
    unit_id: str
    scope: str
    name: str = Field(description="id of the step, in a map with the item", examples=["pack[3]"])
    state_code: str
    since_at: datetime
    event_id: str | None = Field(description="its last event until then")


class RunThen(BaseModel):
    """A past state of a run. Numbers are texts, because they may be too large for JavaScript."""

    run_id: str
    at: str
    units: list[UnitThen]


@router.read("/units/{unit_id}/why-not-running", summary="Why a step or job is not running")
async def why_not_running(unit_id: Number, caller: Caller) -> WhyNotRunning:
    why = await caller.perform(views.why(caller.tenant_id, unit_id))
    return WhyNotRunning(
        unit_id=str(unit_id),
        code=why.code,
        sentence_en=why.sentence_en,
        sentence_vi=why.sentence_vi,
        who=why.who,
    )


@router.read("/runs/{run_id}/then", summary="A past state of a run")
async def run_then(
    run_id: Number,
    caller: Caller,
    at: Annotated[
        str, Query(min_length=1, max_length=40, description="number of an event, or a time with a zone")
    ],
) -> RunThen:
    units = await caller.perform(past.state_at(caller.tenant_id, run_id, past.read_point(at)))
    return RunThen(
        run_id=str(run_id),
        at=at,
        units=[
            UnitThen(
                unit_id=str(unit.unit_id),
                scope=unit.scope,
                name=unit.name,
                state_code=unit.state_code,
                since_at=unit.since_at,
                event_id=None if unit.event_id is None else str(unit.event_id),
            )
            for unit in units
        ],
    )
