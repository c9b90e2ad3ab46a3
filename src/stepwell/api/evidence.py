"""Evidence bundles: asks for the bundle of a run, lists and downloads bundles, verifies one that is sent."""

from __future__ import annotations

import asyncio
import hashlib
import json
from datetime import datetime
from typing import Any

from fastapi import Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from stepwell.api.caller import BoundCaller, Caller, RunNumber
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown
from stepwell.errors import NotFound
from stepwell.govern import verify
from stepwell.store.calls import evidence as calls
from stepwell.store.calls import run_list

router = Resource("evidence")

_ZIP = "application/zip"
_BUNDLE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {_ZIP: {"schema": {"type": "string", "format": "binary"}}},
    }
}


class BundleView(Shown):
    """An exported bundle: its hash and size, and where it was stored last."""

    run_id: Id
    contents_digest: str
    with_payloads: bool
    requested_by: str
    requested_at: datetime
    bundle_sha256: str | None
    size_bytes: int | None
    stored_url: str | None


class Asked(BaseModel):
    """A keeper makes the bundle; `GET` shows it when it is ready."""

    run_id: Id


class FindingView(Shown):
    code: str
    kind: str
    place: str
    detail: str


class Verified(BaseModel):
    """What the verifier found. Without findings a bundle is intact; only an anchor proves its head."""

    sha256: str
    findings: list[FindingView]
    is_recorded: bool = Field(description="the database has recorded a bundle with this hash")


@router.read("/runs/{run_id}/evidence", summary="The bundles of a run, the newest first")
async def list_bundles(run_id: RunNumber, caller: Caller) -> list[BundleView]:
    await _check_run(caller, run_id)
    found = await caller.perform(calls.recorded_bundles(caller.tenant_id, run_id))
    return [BundleView.model_validate(one) for one in found]


@router.write(
    "/runs/{run_id}/evidence",
    verb="evidence.seal",
    status=202,
    summary="Ask for the bundle of an ended run",
    problems=("not_found", "conflict"),
)
async def request_bundle(run_id: RunNumber, caller: Caller) -> Asked:
    await caller.perform(calls.request_bundle(caller.tenant_id, run_id))
    return Asked(run_id=str(run_id))


@router.read(
    "/runs/{run_id}/evidence/bundle",
    verb="payload.read",
    summary="Download the newest bundle of a run",
    response_class=Response,
)
async def download_bundle(run_id: RunNumber, caller: Caller) -> Response:
    await _check_run(caller, run_id)
    data = await caller.perform(calls.stored(caller.tenant_id, run_id))
    if data is None:
        raise NotFound(
            f"the database has no bundle of run {run_id}",
            hint="ask for one: POST to the evidence of the run",
            field="run_id",
        )
    name = f"evidence-run-{run_id}.zip"
    return Response(data, media_type=_ZIP, headers={"Content-Disposition": f'attachment; filename="{name}"'})


@router.write(
    "/evidence/verify",
    verb="read",
    summary="Verify a bundle; nothing is stored",
    problems=(),
    body=_BUNDLE_BODY,
)
async def verify_bundle(request: Request, caller: Caller) -> Verified:
    data = await request.body()
    findings = await asyncio.to_thread(verify.verify, data)
    sha256 = hashlib.sha256(data).hexdigest()
    recorded = await caller.perform(calls.is_recorded(caller.tenant_id, sha256))
    if recorded and not findings:
        # The table of bundles is not sealed, so the head must be a block of the chain too.
        head = json.loads((verify.unpack(data) or {})["manifest.json"])["head"]
        recorded = await caller.perform(calls.is_head(caller.tenant_id, head["block_no"], head["block_hash"]))
    return Verified(
        sha256=sha256,
        findings=[FindingView.model_validate(one) for one in findings[: verify.PROBLEM_LIMIT]],
        is_recorded=recorded,
    )


async def _check_run(caller: BoundCaller, run_id: int) -> None:
    if await caller.perform(run_list.run(caller.tenant_id, run_id)) is None:
        raise NotFound(f"run {run_id} does not exist", field="run_id")
