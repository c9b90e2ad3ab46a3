"""Sign in and out: receives a name and a password or a link, returns who it is, and sets the cookie."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field, SecretStr

from stepwell.api import catalogue, odd_text
from stepwell.api.accepted import Body
from stepwell.api.caller import NUMBER_LIMIT, Caller
from stepwell.api.conduct import refuse_too_many
from stepwell.api.identity import (
    COOKIE,
    TENANTS_LIMIT,
    check_origin,
    csrf_token,
    identify,
    tenant_cookie,
    tenant_sessions,
)
from stepwell.api.pages import Limit, Page
from stepwell.api.passwords import LENGTH_MAX, LENGTH_MIN
from stepwell.api.problems import ProblemError
from stepwell.api.resource import Resource
from stepwell.api.serving import Serving, serving_of
from stepwell.errors import PermissionDenied
from stepwell.store.calls import principals, requests
from stepwell.store.calls import sign_in as calls
from stepwell.store.calls.sign_in import Session, SignedIn
from stepwell.store.connection.bound import BoundTransaction

router = Resource("session")
# Whoever signs in has no token yet.
doors = APIRouter(
    tags=["session"],
    responses=catalogue.responses(
        ("invalid_request", "sign_in_refused", "origin_refused", "invalid_input", "too_many_requests",
         "content_too_large", "internal", "server_busy", "database_unavailable")
    ),
)  # fmt: skip

Name = Annotated[str, Field(min_length=1, max_length=200, examples=["minh"])]
NewPassword = Annotated[
    SecretStr,
    Field(min_length=LENGTH_MIN, max_length=LENGTH_MAX, examples=["seven green bottles on a wall"]),
]


class Credentials(Body):
    name: Name
    password: SecretStr = Field(max_length=LENGTH_MAX, examples=["seven green bottles on a wall"])
    tenant: str = Field(default="default", min_length=1, max_length=63, examples=["default"])


class LinkUse(Body):
    """A link that works once. One to a new password needs the password."""

    link: str = Field(min_length=1, max_length=200, examples=["swl_0f…"])
    password: NewPassword | None = None


class PasswordChange(Body):
    old_password: SecretStr = Field(max_length=LENGTH_MAX, examples=["seven green bottles on a wall"])
    password: NewPassword


class Entered(BaseModel):
    """A session was opened; its text is only in the cookie."""

    name: str
    expires_at: datetime
    csrf_token: str = Field(description="send it as X-CSRF-Token with every write")


class AccountView(BaseModel):
    """Who calls, and what it may do."""

    name: str = Field(examples=["minh"])
    kind: str = Field(examples=["person"])
    title: str | None = Field(examples=["Minh Trần"])
    tenant: str = Field(examples=["default"])
    roles: list[str] = Field(examples=[["admin"]])
    verbs: list[str] = Field(description="what roles and token allow", examples=[["read", "run.start"]])
    session_id: str | None = Field(description="null for the token of a program")
    operations: list[str] = Field(
        description="the operations of this document that roles and token allow", examples=[["list_runs"]]
    )
    tenants: list[str] = Field(
        description="the tenants whose session this browser has, for PUT /session", examples=[["default"]]
    )
    ends_at: datetime | None = Field(description="when the session ends if nobody uses it")
    csrf_token: str | None = Field(description="null for the token of a program")


class TenantChoice(Body):
    tenant: str = Field(min_length=1, max_length=63, examples=["default"])


class SessionView(BaseModel):
    session_id: str
    name: str
    created_at: datetime
    last_seen_at: datetime
    ends_at: datetime
    address: str | None
    user_agent: str | None
    is_current: bool
    is_valid: bool


@doors.post("/session", summary="Sign in with a password", operation_id="sign_in")
async def sign_in(request: Request, response: Response, given: Credentials) -> Entered:
    """After several wrong passwords for one name from one address both must wait."""
    serving = await _stranger(request)
    return _enter(request, response, await _by_password(request, serving, given))


@doors.post("/session/link", summary="Sign in with a link that works once", operation_id="use_link")
async def use_link(request: Request, response: Response, given: LinkUse) -> Entered:
    """With a password the link sets it; without one it is the link of the development mode."""
    serving = await _stranger(request)
    hashed = None
    if given.password is not None:
        parameters = await serving.perform_unbound(calls.parameters())
        hashed = await serving.hasher.hash(parameters, given.password.get_secret_value())
    try:
        found = await serving.perform_unbound(
            calls.enter_by_link(given.link, hashed, _address(request), _agent(request))
        )
    except PermissionDenied as error:
        raise ProblemError(
            "sign_in_refused", error.message, hint="ask for a new link", field="link"
        ) from None
    return _enter(request, response, found)


@router.read("/session", verb=None, summary="Who calls, and what it may do", problems=())
async def read_session(request: Request, response: Response, caller: Caller) -> AccountView:
    found = await caller.perform(calls.account())
    is_session = found.token_kind == "session"
    cookie = request.cookies.get(COOKIE)
    is_page = bool(is_session and cookie and caller.is_browser)
    tenants = tenant_sessions(request.cookies)
    has_room = found.tenant in tenants or len(tenants) < TENANTS_LIMIT
    if is_page and cookie and tenants.get(found.tenant) != cookie and has_room:
        # Kept beside the session, so that the person returns to this tenant without a password.
        _set(request, response, tenant_cookie(found.tenant), cookie)
        tenants[found.tenant] = cookie
    return AccountView(
        name=found.name,
        kind=found.kind,
        title=found.title,
        tenant=found.tenant,
        roles=found.roles,
        verbs=found.verbs,
        operations=sorted(
            name for name, verb in request.app.state.verbs.items() if verb is None or verb in found.verbs
        ),
        tenants=sorted(tenants) if is_page else [found.tenant],
        session_id=str(found.token_id) if is_session else None,
        ends_at=found.ends_at,
        csrf_token=csrf_token(cookie) if is_page and cookie else None,
    )


@doors.put(
    "/session", summary="Go to another tenant with its session", operation_id="switch_tenant", status_code=204
)
async def switch_tenant(request: Request, response: Response, given: TenantChoice) -> None:
    """The browser must have a session of that tenant. The next call checks what it may do."""
    await _stranger(request)
    token = tenant_sessions(request.cookies).get(given.tenant)
    if token is None:
        raise ProblemError(
            "sign_in_refused",
            f"this browser has no session of {given.tenant}",
            hint="sign in",
            field="body.tenant",
        )
    _set(request, response, COOKIE, token)


@router.write("/session", verb=None, method="DELETE", status=204, summary="Sign out", problems=())
async def sign_out(request: Request, response: Response, caller: Caller) -> None:
    """Ends the session of this request. The token of a program stays."""
    account = await caller.perform(calls.account())
    await caller.perform(calls.sign_out())
    for name in (COOKIE, tenant_cookie(account.tenant)):
        response.delete_cookie(name, path="/", httponly=True, samesite="lax", secure=_is_secure(request))


@router.write(
    "/session/password", verb=None, method="PUT", status=204, summary="Change one's own password",
    problems=("sign_in_refused",), takes_secret=True,
)  # fmt: skip
async def change_password(
    request: Request, response: Response, given: PasswordChange, caller: Caller
) -> None:
    """Needs the old password. All other sessions of the person end."""
    serving = serving_of(request)
    # A transaction of its own, which ends before the password is checked: one connection at a time.
    opening = requests.open_request(requests.Opening(identify(request).token, None))
    async with BoundTransaction(serving.pool, opening) as reading:
        account = await reading.perform(calls.account())
    old = Credentials(name=caller.name, password=given.old_password, tenant=account.tenant)
    checked = await _by_password(request, serving, old)
    assert checked.token_id is not None
    parameters = await caller.perform(calls.parameters())
    hashed = await serving.hasher.hash(parameters, given.password.get_secret_value())
    # This ends all other sessions of the person, also the one that the old password has just opened.
    await caller.perform(calls.set_password(caller.tenant_id, caller.name, hashed))


@router.read("/sessions", verb=None, summary="One's own sessions, the newest first", problems=())
async def list_sessions(caller: Caller, limit: Limit = 100) -> Page[SessionView]:
    found = await caller.perform(calls.sessions(caller.tenant_id, caller.name, limit))
    return Page(items=[session_view(one) for one in found], next=None)


@router.write("/sessions/{session_id}", verb=None, method="DELETE", status=204, summary="End a session")
async def end_session(session_id: Annotated[int, Path(ge=1, le=NUMBER_LIMIT)], caller: Caller) -> None:
    """One's own; that of somebody else with the verb token.change."""
    await caller.perform(principals.revoke_token(caller.tenant_id, session_id))


def session_view(found: Session) -> SessionView:
    return SessionView(
        session_id=str(found.token_id),
        name=found.principal_name,
        created_at=found.created_at,
        last_seen_at=found.last_seen_at,
        ends_at=found.ends_at,
        address=found.address,
        user_agent=found.user_agent,
        is_current=found.is_current,
        is_valid=found.is_valid,
    )


async def _stranger(request: Request) -> Serving:
    serving = serving_of(request)
    check_origin(request)
    odd_text.check_body(await request.body())
    refuse_too_many(serving.strangers.take(_address(request) or "unknown"))
    return serving


async def _by_password(request: Request, serving: Serving, given: Credentials) -> SignedIn:
    salt = await serving.perform_unbound(calls.salt(given.tenant, given.name))
    hashed = await serving.hasher.hash(salt, given.password.get_secret_value())
    found = await serving.perform_unbound(
        calls.sign_in(given.tenant, given.name, hashed, _address(request), _agent(request))
    )
    if found.outcome == "paused":
        assert found.retry_at is not None
        raise ProblemError(
            "too_many_requests",
            "too many wrong passwords",
            hint="wait, or ask an administrator for a link to a new password",
            retry_after_seconds=max(1.0, (found.retry_at - found.now_at).total_seconds()),
        )
    if found.outcome == "refused":
        raise ProblemError(
            "sign_in_refused",
            "name and password do not belong together",
            hint="check both; an administrator can make a link to a new password",
            field="body.password",
        )
    return found


def _enter(request: Request, response: Response, found: SignedIn) -> Entered:
    assert found.token is not None
    assert found.name is not None
    assert found.expires_at is not None
    _set(request, response, COOKIE, found.token, int((found.expires_at - found.now_at).total_seconds()))
    return Entered(name=found.name, expires_at=found.expires_at, csrf_token=csrf_token(found.token))


def _set(request: Request, response: Response, name: str, token: str, seconds: int | None = None) -> None:
    """Without `seconds` the browser forgets it when it is closed; the session itself ends on the server."""
    response.set_cookie(
        name, token, max_age=seconds, path="/", httponly=True, samesite="lax", secure=_is_secure(request)
    )


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _address(request: Request) -> str | None:
    return request.client.host if request.client else None


def _agent(request: Request) -> str | None:
    return request.headers.get("User-Agent", "")[:400] or None
