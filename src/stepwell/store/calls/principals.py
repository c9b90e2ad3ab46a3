"""Calls for accounts and tokens: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from stepwell.store.connection.call import Call, nothing, page_size, value


@dataclass(frozen=True, slots=True)
class Principal:
    """A person, a service or an agent of a tenant; `verbs` are what its roles allow."""

    name: str
    kind: str
    title: str | None
    is_active: bool
    roles: list[str]
    verbs: list[str]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its text. `verbs`: what it is narrowed to; None: everything that its owner may do."""

    token_id: int
    principal_name: str
    principal_kind: str
    kind: str
    label: str
    verbs: list[str] | None
    created_at: datetime
    created_by: str
    expires_at: datetime
    revoked_at: datetime | None
    is_valid: bool


_TOKEN = ", ".join(f"t.{field.name}" for field in fields(Token))


def set_principal(tenant: int, kind: str, name: str, roles: Sequence[str], title: str | None) -> Call[int]:
    return Call(
        "select stepwell.fn_principal_set(%s, %s, %s, %s, %s)",
        (tenant, kind, name, list(roles), title),
        value,
    )


def change_principal(
    tenant: int,
    name: str,
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    is_active: bool | None = None,
) -> Call[list[str]]:
    """Add and remove roles, and set whether it is active; returns the roles after it."""
    return Call(
        "select stepwell.fn_principal_change(%s, %s, %s, %s, %s)",
        (tenant, name, list(add), list(remove), is_active),
        value,
    )


def rename_principal(tenant: int, name: str, new_name: str) -> Call[int]:
    """Another name for an account whose name is not accepted any more; `name` may be `#` and its number."""
    return Call("select stepwell.fn_principal_rename(%s, %s, %s)", (tenant, name, new_name), value)


@dataclass(frozen=True, slots=True)
class ShownTo:
    """A step, or the body of a content, that only these roles see; `step` is None for a content."""

    kind: str
    name: str
    step: str | None
    roles: list[str]


def set_step_roles(tenant: int, workflow: str, step: str, roles: Sequence[str]) -> Call[None]:
    """Only these roles see the step; none: everybody."""
    return Call(
        "select stepwell.fn_step_permission_set(%s, %s, %s, %s::text[])",
        (tenant, workflow, step, list(roles)),
        nothing,
    )


def set_content_roles(tenant: int, code: str, roles: Sequence[str]) -> Call[None]:
    """Only these roles read the body of the content; none: everybody."""
    return Call(
        "select stepwell.fn_content_permission_set(%s, %s, %s::text[])", (tenant, code, list(roles)), nothing
    )


def shown_to(tenant: int) -> Call[list[ShownTo]]:
    """Every step and content that is not for everybody."""
    return Call(
        "select p.kind, p.name, p.step_id, p.roles from stepwell.fn_permissions_read(%s) as p",
        (tenant,),
        lambda rows: [ShownTo(*row) for row in rows],
    )


def principals(tenant: int, name: str | None = None) -> Call[list[Principal]]:
    """The accounts of a tenant, or the one with this name."""
    return Call(
        "select p.principal_name, p.kind, p.display_name, p.is_active, p.roles, p.verbs, p.created_at"
        " from stepwell.v_principal as p where p.tenant_id = %s"
        " and (%s::text is null or p.name_key = stepwell._name_fold(%s)) order by p.principal_name limit 500",
        (tenant, name, name),
        lambda rows: [Principal(*row) for row in rows],
    )


def principals_page(tenant: int, *, after: str | None, kind: str | None, limit: int) -> Call[list[Principal]]:
    """Accounts by name; `after` is the name of the last one of the page before."""
    return Call(
        "select p.principal_name, p.kind, p.display_name, p.is_active, p.roles, p.verbs, p.created_at"
        " from stepwell.v_principal as p where p.tenant_id = %s and (%s::text is null or p.kind = %s)"
        ' and (%s::text is null or p.principal_name collate "C" > %s)'
        ' order by p.principal_name collate "C" limit %s',
        (tenant, kind, kind, after, after, page_size(limit)),
        lambda rows: [Principal(*row) for row in rows],
    )


def create_token(
    tenant: int, name: str, label: str, seconds: int, verbs: Sequence[str] | None
) -> Call[tuple[int, str]]:
    """The number and the text of a new token; the text cannot be read again."""
    return Call(
        "select t.token_id, t.token from stepwell.fn_token_create(%s, %s, %s, %s, %s) as t",
        (tenant, name, label, seconds, None if verbs is None else list(verbs)),
        lambda rows: (rows[0][0], rows[0][1]),
    )


def tokens(tenant: int, name: str | None, limit: int, *, before: int | None = None) -> Call[list[Token]]:
    """The newest first; `before` is the number of the last one of the page before."""
    return Call(
        f"select {_TOKEN} from stepwell.fn_tokens_page(%s, %s, %s, %s) as t",
        (tenant, name, before, page_size(limit)),
        lambda rows: [Token(*row) for row in rows],
    )


def create_link(tenant: int, name: str, purpose: str, seconds: int) -> Call[tuple[str, datetime]]:
    """The text of a link that works once, and until when; the text cannot be read again."""
    return Call(
        "select k.link, k.expires_at from stepwell.fn_link_create(%s, %s, %s, %s) as k",
        (tenant, name, purpose, seconds),
        lambda rows: (rows[0][0], rows[0][1]),
    )


def revoke_token(tenant: int, token_id: int) -> Call[None]:
    return Call("select stepwell.fn_token_revoke(%s, %s)", (tenant, token_id), nothing)
