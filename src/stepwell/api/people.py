"""People, services and agents, their roles and links: receives names, returns accounts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import BoundCaller, Caller
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.sessions import SessionView, session_view
from stepwell.errors import NotFound
from stepwell.store.calls import principals as calls
from stepwell.store.calls import sign_in, words
from stepwell.store.calls.principals import Principal

router = Resource("people")

Kind = Literal["person", "service", "agent"]
PersonName = Annotated[str, Path(min_length=1, max_length=200, examples=["minh"])]
RoleName = Annotated[str, Field(min_length=1, max_length=200, examples=["reviewer"])]


class PersonView(BaseModel):
    """An account: a person, a service or an agent."""

    name: str = Field(examples=["minh"])
    kind: str = Field(examples=["person"])
    title: str | None = Field(examples=["Minh Trần"])
    is_active: bool
    roles: list[str] = Field(examples=[["reviewer"]])
    created_at: datetime


class NewPerson(Body):
    name: str = Field(min_length=1, max_length=200, examples=["minh"])
    kind: Kind = "person"
    title: str | None = Field(default=None, max_length=200, examples=["Minh Trần"])
    roles: list[RoleName] = Field(default=[], max_length=50, examples=[["reviewer"]])


class PersonChange(Body):
    """What is not given stays."""

    add_roles: list[RoleName] = Field(default=[], max_length=50, examples=[["reviewer"]])
    remove_roles: list[RoleName] = Field(default=[], max_length=50, examples=[[]])
    is_active: bool | None = Field(default=None, examples=[True])


class ShownRoles(Body):
    roles: list[RoleName] = Field(max_length=50, description="none: everybody", examples=[["reviewer"]])


class ShownToView(BaseModel):
    """A step, or the body of a content, and the roles that see it; none: everybody."""

    kind: str = Field(description="step or content", examples=["step"])
    name: str = Field(description="the workflow, or the content", examples=["order.process"])
    step: str | None = Field(examples=["check-credit"])
    roles: list[str] = Field(examples=[["reviewer"]])


class NewLink(Body):
    expires_seconds: int = Field(default=86_400, ge=60, le=604_800, examples=[86_400])


class LinkView(BaseModel):
    link: str | None = Field(description="shown once; the person opens /sign-in#link=<link>")
    expires_at: datetime


class RoleView(BaseModel):
    name: str = Field(examples=["reviewer"])
    verbs: list[str] = Field(description="what the role allows", examples=[["run.cancel"]])
    account_count: int = Field(description="how many active accounts have it")


class Ended(BaseModel):
    ended_count: int


@router.read("/people", summary="Accounts by name", problems=())
async def list_people(
    caller: Caller,
    kind: Annotated[Kind | None, Query(description="only those of this kind")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[PersonView]:
    after = seek(cursor, "people", str)
    found = await caller.perform(
        calls.principals_page(
            caller.tenant_id, after=None if after is None else after[0], kind=kind, limit=limit + 1
        )
    )
    return page_of(found, limit, _view, lambda one: [one.name], "people")


@router.read("/people/{person}", summary="One account")
async def show_person(person: PersonName, caller: Caller) -> PersonView:
    return _view(await _account(caller, person))


@router.write("/people", verb="principal.change", status=201, summary="Add an account")
async def add_person(given: NewPerson, caller: Caller) -> PersonView:
    """For an account that exists, it replaces its roles."""
    await caller.perform(
        calls.set_principal(caller.tenant_id, given.kind, given.name, given.roles, given.title)
    )
    return _view(await _account(caller, given.name))


@router.write(
    "/people/{person}",
    verb="principal.change",
    method="PATCH",
    summary="Change roles, end or begin an account",
)
async def change_person(person: PersonName, given: PersonChange, caller: Caller) -> PersonView:
    """An account that is not active acts no more: its tokens and sessions bind nothing."""
    await caller.perform(
        calls.change_principal(
            caller.tenant_id,
            person,
            add=given.add_roles,
            remove=given.remove_roles,
            is_active=given.is_active,
        )
    )
    return _view(await _account(caller, person))


@router.write(
    "/people/{person}/links", verb="token.change", status=201, shown_once=("link",),
    summary="Make a link to a new password",
)  # fmt: skip
async def make_link(person: PersonName, given: NewLink, caller: Caller) -> LinkView:
    """It works once. Earlier links of the person stop working."""
    link, until = await caller.perform(
        calls.create_link(caller.tenant_id, person, "password_reset", given.expires_seconds)
    )
    return LinkView(link=link, expires_at=until)


@router.read("/people/{person}/sessions", verb=None, summary="Sessions of a person, the newest first")
async def list_sessions_of(person: PersonName, caller: Caller, limit: Limit = 100) -> Page[SessionView]:
    """One's own; those of somebody else with the verb token.change."""
    await _account(caller, person)
    found = await caller.perform(sign_in.sessions(caller.tenant_id, person, limit))
    return Page(items=[session_view(one) for one in found], next=None)


@router.write(
    "/people/{person}/sessions",
    verb=None,
    method="DELETE",
    summary="End all sessions of a person but this one",
)
async def end_sessions_of(person: PersonName, caller: Caller) -> Ended:
    """One's own; those of somebody else with the verb token.change."""
    count = await caller.perform(sign_in.end_sessions(caller.tenant_id, person, keeps_current=True))
    return Ended(ended_count=count)


@router.read("/roles", summary="Roles and what they allow", problems=())
async def list_roles(caller: Caller) -> Page[RoleView]:
    found = await caller.perform(sign_in.roles(caller.tenant_id))
    views = [RoleView(name=one.role_name, verbs=one.verbs, account_count=one.account_count) for one in found]
    return Page(items=views, next=None)


async def _account(caller: BoundCaller, name: str) -> Principal:
    found = await caller.perform(calls.principals(caller.tenant_id, name))
    if not found:
        hint = await caller.perform(words.suggestion(caller.tenant_id, "person", name))
        raise NotFound(f"{name} does not exist", hint=hint, field="path.person")
    return found[0]


def _view(found: Principal) -> PersonView:
    return PersonView(
        name=found.name,
        kind=found.kind,
        title=found.title,
        is_active=found.is_active,
        roles=found.roles,
        created_at=found.created_at,
    )


@router.read(
    "/permissions",
    verb="principal.change",
    summary="Steps and contents that are not for everybody, with their roles",
    problems=(),
)
async def list_permissions(caller: Caller) -> list[ShownToView]:
    found = await caller.perform(calls.shown_to(caller.tenant_id))
    return [ShownToView(kind=one.kind, name=one.name, step=one.step, roles=one.roles) for one in found]


@router.write(
    "/workflows/{name}/steps/{step_id}/roles",
    method="PUT",
    verb="principal.change",
    summary="Which roles see a step, in all versions of its workflow",
    problems=("not_found",),
)
async def set_step_roles(
    name: Annotated[str, Path(min_length=1, max_length=200)],
    step_id: Annotated[str, Path(min_length=1, max_length=200)],
    shown: ShownRoles,
    caller: Caller,
) -> ShownToView:
    await caller.perform(calls.set_step_roles(caller.tenant_id, name, step_id, shown.roles))
    return ShownToView(kind="step", name=name, step=step_id, roles=sorted(set(shown.roles)))


@router.write(
    "/content/{code}/roles",
    method="PUT",
    verb="principal.change",
    summary="Which roles read the body of a content, in all its versions",
    problems=("not_found",),
)
async def set_content_roles(
    code: Annotated[str, Path(min_length=1, max_length=200)], shown: ShownRoles, caller: Caller
) -> ShownToView:
    await caller.perform(calls.set_content_roles(caller.tenant_id, code, shown.roles))
    return ShownToView(kind="content", name=code, step=None, roles=sorted(set(shown.roles)))
