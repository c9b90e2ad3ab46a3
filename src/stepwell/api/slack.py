"""Receive the buttons of Slack: passes a signed callback to `govern`, answers as Slack expects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, BackgroundTasks, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from stepwell.api import catalogue
from stepwell.client import Client
from stepwell.errors import PermissionDenied
from stepwell.govern.slack.callback import SlackCallback
from stepwell.govern.slack.settings import SlackSettings

# Its own path and its own signature: no token and no session is read here.
router = APIRouter(tags=["slack"])
_PROBLEMS = catalogue.responses(
    ("invalid_request", "not_signed_in", "not_found", "content_too_large", "invalid_input", "internal",
     "database_unavailable")
)  # fmt: skip


class SlackEnd:
    """What this process needs for Slack: settings, and one client, made when needed."""

    def __init__(self, settings: SlackSettings | None, conninfo: str) -> None:
        self.settings = settings
        self._conninfo = conninfo
        self._client: Client | None = None
        self._making = asyncio.Lock()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if self._client is not None:
                await self._client.close()

    async def client(self) -> Client:
        assert self.settings is not None
        async with self._making:
            if self._client is None:
                self._client = await Client.connect(
                    self._conninfo, tenant=self.settings.tenant, actor="slack", pool_max_size=2
                )
        return self._client


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
    responses=_PROBLEMS,
)
async def slack_callback(request: Request, later: BackgroundTasks) -> Response:
    end: SlackEnd = request.app.state.slack
    settings = end.settings
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
    answered = await callback.take(await end.client(), body, signature, sent_epoch)
    if answered.later is not None:
        later.add_task(answered.later)
    # An empty response tells Slack that the callback was received.
    return Response(status_code=200) if answered.body is None else JSONResponse(answered.body)
