"""For all resources of the API: a client of the server's database, and the type of numbers in paths."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Path, Request

from stepwell.client import Client

NUMBER_LIMIT = 2**63 - 1
Number = Annotated[int, Path(ge=1, le=NUMBER_LIMIT)]


def token_of(request: Request) -> str | None:
    """The token of the request, which binds its transactions; else that of the server, if it has one."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and text.strip():
        return text.strip()
    found: str | None = request.app.state.token
    return found


async def _client(request: Request) -> AsyncIterator[Client]:
    client = await Client.connect(
        request.app.state.conninfo, actor="api", pool_max_size=1, token=token_of(request)
    )
    try:
        yield client
    finally:
        await client.close()


Connected = Annotated[Client, Depends(_client)]
