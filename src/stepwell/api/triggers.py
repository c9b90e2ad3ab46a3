"""Triggers over HTTP: receives a signed request of another system, starts a run or sends it an event.

`/hooks/{address}` reads no token and no session: the signature is the proof. People make and delete triggers.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request
from pydantic import Field

from stepwell.api import catalogue
from stepwell.api.accepted import Body
from stepwell.api.caller import Caller
from stepwell.api.conduct import refuse_too_many
from stepwell.api.resource import Resource
from stepwell.api.serving import serving_of
from stepwell.api.shown import Id, Shown
from stepwell.errors import InvalidInput, NotFound
from stepwell.store.calls import triggers as calls

router = Resource("triggers")
hooks = APIRouter(tags=["triggers"])

SIGNATURE_HEADER: Final = "Stepwell-Signature"
DELIVERY_HEADER: Final = "Stepwell-Delivery"
_SIGNATURE = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-fA-F]{64})")
_DELIVERY = re.compile(r"[!-~]{1,200}")

TriggerName = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
PlainPath = Annotated[str, Field(max_length=500, examples=["$.incident.sys_id"])]


class TriggerView(Shown):
    trigger_name: str
    workflow_name: str
    event_type: str | None
    ref_path: str | None
    key_path: str | None
    input_path: str | None
    acts_as: str
    created_at: datetime
    created_by: str
    expires_at: datetime
    is_valid: bool


class TriggerSettings(Body):
    """What a signed request does, and as whom."""

    workflow: str = Field(min_length=1, max_length=200, examples=["incident.triage"])
    acts_as: str = Field(
        min_length=1, max_length=200, description="a service, agent or person", examples=["servicenow"]
    )
    expires_seconds: int = Field(default=31_536_000, ge=1, lt=10**9, examples=[31_536_000])
    ref_path: PlainPath | None = Field(
        default=None, description="where the body has the sender's number of the request; it is done once"
    )
    input_path: PlainPath | None = Field(
        default=None, description="the part of the body that is the input; without it the body"
    )
    event_type: str | None = Field(
        default=None,
        max_length=200,
        description="send this event to a run, instead of a start",
        examples=["incident.changed"],
    )
    key_path: PlainPath | None = Field(default=None, description="where the body has the key of that run")


class NewTrigger(Shown):
    """Where requests are sent, and what signs them. Both are shown once."""

    address: str = Field(description="requests are sent to /api/v1/hooks/{address}")
    secret: str = Field(description="HMAC-SHA-256 with this text over t, a dot, and the body")


class FiredView(Shown):
    run_id: Id
    is_new: bool = Field(description="false: a request with the same number came before")


@router.read("/triggers", summary="Triggers, by name", problems=())
async def list_triggers(caller: Caller) -> list[TriggerView]:
    found = await caller.perform(calls.triggers(caller.tenant_id))
    return [TriggerView.model_validate(one) for one in found]


@router.write(
    "/triggers/{name}",
    method="PUT",
    verb="token.change",
    summary="Make a trigger, or give it a new address and secret",
    shown_once=("address", "secret"),
)
async def set_trigger(name: TriggerName, settings: TriggerSettings, caller: Caller) -> NewTrigger:
    given = settings.model_dump(exclude_none=True)
    given["as"] = given.pop("acts_as")
    return NewTrigger.model_validate(await caller.perform(calls.set_trigger(caller.tenant_id, name, given)))


@router.write(
    "/triggers/{name}", method="DELETE", status=204, verb="token.change", summary="Delete a trigger"
)
async def delete_trigger(name: TriggerName, caller: Caller) -> None:
    if not await caller.perform(calls.delete_trigger(caller.tenant_id, name)):
        raise NotFound(f"trigger {name} does not exist", field="name")


_SIGNED: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
    "parameters": [
        {
            "name": SIGNATURE_HEADER,
            "in": "header",
            "required": True,
            "schema": {"type": "string", "pattern": f"^{_SIGNATURE.pattern}$"},
            "description": "t=<seconds since 1970>,v1=<HMAC-SHA-256 with the secret over t, a dot, the body>",
        },
        {
            "name": DELIVERY_HEADER,
            "in": "header",
            "required": False,
            "schema": {"type": "string", "pattern": f"^{_DELIVERY.pattern}$"},
            "description": "the sender's number of the request; a repeat changes nothing",
        },
    ],
}


@hooks.post(
    "/hooks/{address}",
    summary="A signed request of another system",
    status_code=202,
    openapi_extra=_SIGNED,
    responses=catalogue.responses(
        (
            "invalid_request",
            "invalid_input",
            "not_found",
            "permission_denied",
            "conflict",
            "content_too_large",
            "too_many_requests",
            "internal",
            "database_unavailable",
        )
    ),
)
async def fire_trigger(
    address: Annotated[str, Path(pattern=r"^swt_[0-9a-f]{64}$")], request: Request
) -> FiredView:
    serving = serving_of(request)
    refuse_too_many(serving.strangers.take(request.client.host if request.client else "unknown"))
    signed = _SIGNATURE.fullmatch(request.headers.get(SIGNATURE_HEADER, ""))
    delivery = request.headers.get(DELIVERY_HEADER)
    if signed is None or (delivery is not None and not _DELIVERY.fullmatch(delivery)):
        field = SIGNATURE_HEADER if signed is None else DELIVERY_HEADER
        raise InvalidInput(
            f"{field} is missing or not accepted",
            hint="t=<seconds since 1970>,v1=<64 hex digits>"
            if signed is None
            else "1 to 200 ASCII characters",
            field=f"header.{field}",
        )
    call = calls.fire(address, int(signed[1]), signed[2], await request.body(), delivery)
    return FiredView.model_validate(await serving.perform_unbound(call))
