"""Receive the buttons of Slack: passes a signed callback to `govern`, answers as Slack expects."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, BackgroundTasks, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from stepwell.api import problems
from stepwell.client import Client
from stepwell.errors import PermissionDenied
from stepwell.govern.slack.callback import SlackCallback
from stepwell.govern.slack.settings import SlackSettings

router = APIRouter(tags=["slack"], responses=problems.RESPONSES)

_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "properties": {"payload": {"type": "string", "description": "JSON, as Slack sends it"}},
                    "required": ["payload"],
                }
            }
        },
    },
    "parameters": [
        {"name": name, "in": "header", "required": True, "schema": {"type": "string"}, "description": what}
        for name, what in (
            ("X-Slack-Request-Timestamp", "time of the signature; accepted once, within five minutes"),
            ("X-Slack-Signature", "v0= and an HMAC with the signing secret"),
        )
    ],
}


@router.post(
    "/slack/callback",
    summary="A pressed button in Slack",
    description="The Interactivity Request URL of the Slack app. The request is signed and needs no token.",
    openapi_extra=_FORM,
)
async def slack_callback(request: Request, later: BackgroundTasks) -> Response:
    settings: SlackSettings | None = request.app.state.slack
    if settings is None:
        raise HTTPException(404, "Slack is not set up on this server")
    callback = SlackCallback(settings)
    body = await request.body()
    signature = request.headers.get("X-Slack-Signature", "")
    try:
        sent_epoch = callback.check_signature(
            body, request.headers.get("X-Slack-Request-Timestamp", ""), signature
        )
    except PermissionDenied as error:
        raise HTTPException(401, error.sentence()) from None
    client = await Client.connect(
        request.app.state.slack_conninfo, tenant=settings.tenant, actor="slack", pool_max_size=1
    )
    try:
        answered = await callback.take(client, body, signature, sent_epoch)
    finally:
        await client.close()
    if answered.later is not None:
        later.add_task(answered.later)
    # An empty response tells Slack that the callback was received.
    return Response(status_code=200) if answered.body is None else JSONResponse(answered.body)
