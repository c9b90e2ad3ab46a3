"""Show a run in one answer, one of its steps, its time: receives numbers, returns JSON of the database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query
from starlette.responses import Response

from stepwell.api.caller import Caller, RunNumber
from stepwell.api.resource import Resource
from stepwell.api.run_shapes import Density, Snapshot, StepBody, Timeline
from stepwell.api.shown import as_json
from stepwell.layout import LAYOUT_VERSION
from stepwell.layout.lanes import LanesBy
from stepwell.layout.time_scale import fold, with_coming
from stepwell.store.calls import live, past, run_time

StepNumber = Annotated[int, Path(ge=1, le=2**20 - 1, description="number of the step in its run")]
Parts = Annotated[
    str,
    Query(
        max_length=200,
        description="parts with commas: why, actions, inputs, outputs, attempts, receipts, tasks, content,"
        " events",
    ),
]

router = Resource("live")


@router.read(
    "/runs/{run_id}/snapshot",
    summary="A run in one answer, now or in the past",
    response_model=Snapshot,
)
async def run_snapshot(
    run_id: RunNumber,
    caller: Caller,
    at: Annotated[
        str | None,
        Query(min_length=1, max_length=40, description="number of an event, or a time with a zone"),
    ] = None,
    lanes: Annotated[LanesBy, Query(description="the drawing that layout_hash names")] = "role",
) -> Response:
    if at is None:
        call = live.snapshot(caller.tenant_id, run_id, lanes, LAYOUT_VERSION)
    else:
        call = live.snapshot_at(caller.tenant_id, run_id, past.read_point(at))
    return as_json(await caller.perform(call))


@router.read(
    "/runs/{run_id}/steps/{no}",
    summary="One step with the parts that are asked for",
    response_model=StepBody,
)
async def step_body(
    run_id: RunNumber,
    no: StepNumber,
    caller: Caller,
    include: Parts = "why,actions,attempts,tasks",
    events_before: Annotated[
        int | None, Query(ge=1, le=2**63 - 1, description="`next` of the page before")
    ] = None,
) -> Response:
    parts = [part.strip() for part in include.split(",") if part.strip()]
    return as_json(
        await caller.perform(run_time.step_body(caller.tenant_id, run_id, no, parts, events_before))
    )


@router.read(
    "/runs/{run_id}/density",
    summary="Events of a run over its time, and marks",
    response_model=Density,
)
async def run_density(
    run_id: RunNumber, caller: Caller, buckets: Annotated[int, Query(ge=1, le=1_000)] = 120
) -> Response:
    return as_json(await caller.perform(run_time.density(caller.tenant_id, run_id, buckets)))


@router.read(
    "/runs/{run_id}/timeline",
    summary="What each step did when, on a folded scale",
    response_model=Timeline,
)
async def run_timeline(run_id: RunNumber, caller: Caller) -> Response:
    found = await caller.perform(run_time.segments(caller.tenant_id, run_id))
    return as_json(json.dumps(_with_scale(found), separators=(",", ":")))


def _with_scale(found: dict[str, Any]) -> dict[str, Any]:
    segments = found["segments"]
    whole = max(found.pop("whole_ms"), 1)
    until = [whole if to is None else to for to in segments["to"]]
    rows = list(zip(segments["kind"], segments["from"], until, strict=True))
    working = found["kinds"].index("working")
    parts = fold([(start, to) for kind, start, to in rows if kind == working], whole)
    parts = with_coming(parts, max(_coming(found), default=0))
    worked = sum(to - start for kind, start, to in rows if kind == working)
    standing = sum(to - start for kind, start, to in rows if kind != working)
    return {**found, "scale": parts, "drawn_ms": parts[-1][3], "worked_ms": worked, "standing_ms": standing}


def _coming(found: dict[str, Any]) -> Iterator[int]:
    """When milestones and steps are expected, in milliseconds after the start of the run."""
    yield from (to for _, to in found["expected"].values())
    begin = datetime.fromisoformat(found["from"])
    for milestone in found["milestones"]:
        if milestone["expected_at"] is not None:
            expected = datetime.fromisoformat(milestone["expected_at"])
            yield int((expected - begin).total_seconds() * 1000)
