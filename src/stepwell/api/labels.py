"""Label runs: receives labels to set and to remove, returns the labels of the run."""

from __future__ import annotations

from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import Caller, RunNumber
from stepwell.api.resource import Resource
from stepwell.store.calls import runs as calls

router = Resource("runs")


class LabelChange(Body):
    """Labels to set, and names of labels to remove."""

    set: dict[str, str] = Field(default={}, max_length=16, examples=[{"customer": "Acme"}])
    remove: list[str] = Field(default=[], max_length=16, examples=[["draft"]])


class Labels(BaseModel):
    labels: dict[str, str] = Field(examples=[{"customer": "Acme"}])


@router.write(
    "/runs/{run_id}/labels", method="PUT", verb="run.label", summary="Set and remove labels of a run",
    problems=("not_found", "limit_exceeded"),
)  # fmt: skip
async def label_run(run_id: RunNumber, change: LabelChange, caller: Caller) -> Labels:
    labels: dict[str, str | None] = {**dict.fromkeys(change.remove), **change.set}
    found = await caller.perform(calls.label_runs(caller.tenant_id, [run_id], labels, caller.actor))
    return Labels(labels=found[run_id])
