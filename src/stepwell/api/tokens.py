"""Tokens of programs: receives a name and a label, returns the token once, lists and revokes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import Caller, Number
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.store.calls import principals as calls
from stepwell.store.calls.principals import Token

router = Resource("tokens")

SECONDS_LIMIT = 31_622_400


class TokenView(BaseModel):
    """A token without its text."""

    token_id: str = Field(examples=["12"])
    name: str = Field(description="whose it is", examples=["billing"])
    kind: str = Field(description="person, service or agent", examples=["service"])
    label: str = Field(examples=["nightly import"])
    verbs: list[str] | None = Field(description="what it is narrowed to; null: all that its owner may do")
    created_at: datetime
    created_by: str
    expires_at: datetime
    revoked_at: datetime | None
    is_valid: bool


class NewToken(Body):
    name: str | None = Field(
        default=None, min_length=1, max_length=200, description="whose; default: the caller", examples=[None]
    )
    label: str = Field(min_length=1, max_length=200, examples=["nightly import"])
    expires_seconds: int = Field(ge=1, le=SECONDS_LIMIT, examples=[86_400])
    verbs: list[Annotated[str, Field(min_length=1, max_length=100)]] | None = Field(
        default=None, max_length=100, description="narrow it to these", examples=[["read"]]
    )


class MadeToken(BaseModel):
    token_id: str
    token: str | None = Field(description="shown once; the database has only its hash")


@router.read("/tokens", verb=None, summary="Tokens, the newest first", problems=())
async def list_tokens(
    caller: Caller,
    name: Annotated[
        str | None, Query(min_length=1, max_length=200, description="of this account; default: the caller")
    ] = None,
    everybody: Annotated[bool, Query(description="of all accounts")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[TokenView]:
    """One's own; those of others with the verb token.change."""
    before = seek(cursor, "tokens", int)
    found = await caller.perform(
        calls.tokens(
            caller.tenant_id,
            None if everybody else name or caller.name,
            limit + 1,
            before=None if before is None else before[0],
        )
    )
    return page_of(found, limit, _view, lambda one: [one.token_id], "tokens")


@router.write("/tokens", verb=None, status=201, shown_once=("token",), summary="Make a token")
async def make_token(given: NewToken, caller: Caller) -> MadeToken:
    """For oneself; for others with the verb token.change. A narrowed token makes no wider one."""
    token_id, token = await caller.perform(
        calls.create_token(
            caller.tenant_id, given.name or caller.name, given.label, given.expires_seconds, given.verbs
        )
    )
    return MadeToken(token_id=str(token_id), token=token)


@router.write("/tokens/{token_id}", verb=None, method="DELETE", status=204, summary="Revoke a token")
async def revoke_token(token_id: Number, caller: Caller) -> None:
    """One's own; that of somebody else with the verb token.change. A revoked token stays revoked."""
    await caller.perform(calls.revoke_token(caller.tenant_id, token_id))


def _view(found: Token) -> TokenView:
    return TokenView(
        token_id=str(found.token_id),
        name=found.principal_name,
        kind=found.principal_kind,
        label=found.label,
        verbs=found.verbs,
        created_at=found.created_at,
        created_by=found.created_by,
        expires_at=found.expires_at,
        revoked_at=found.revoked_at,
        is_valid=found.is_valid,
    )
