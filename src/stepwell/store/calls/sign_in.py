"""Calls to sign in and out, and about sessions and roles: receives plain values, returns a `Call`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Literal

from stepwell.store.connection.call import Call, nothing, page_size, value


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The answer to a password. `token` is the text of the session, which is returned once."""

    outcome: Literal["signed_in", "refused", "paused"]
    token: str | None
    token_id: int | None
    tenant_id: int | None
    name: str | None
    expires_at: datetime | None
    retry_at: datetime | None
    now_at: datetime


@dataclass(frozen=True, slots=True)
class Account:
    """Who is bound, and what it may do. A token of a program has no `ends_at`."""

    name: str
    kind: str
    title: str | None
    tenant: str
    roles: list[str]
    verbs: list[str]
    token_id: int
    token_kind: str
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class Session:
    token_id: int
    principal_name: str
    created_at: datetime
    last_seen_at: datetime
    ends_at: datetime
    address: str | None
    user_agent: str | None
    is_current: bool
    is_valid: bool


@dataclass(frozen=True, slots=True)
class Role:
    role_name: str
    verbs: list[str]
    account_count: int


_SESSION = ", ".join(f"s.{field.name}" for field in fields(Session))


def salt(tenant: str, name: str) -> Call[str]:
    """The beginning of the hash of somebody's password; also for a name that does not exist."""
    return Call("select stepwell.fn_sign_in_salt(%s, %s)", (tenant, name), value)


def parameters() -> Call[str]:
    """The parameters of new passwords, as the beginning of their hash."""
    return Call(
        "select c.config_value #>> '{}' from stepwell.dot_config as c"
        " where c.config_key = 'sign_in.argon2id'",
        (),
        value,
    )


def sign_in(
    tenant: str, name: str, secret_hash: str, address: str | None, user_agent: str | None
) -> Call[SignedIn]:
    return Call(
        "select s.outcome, s.token, s.token_id, s.tenant_id, s.principal_name, s.expires_at, s.retry_at,"
        " stepwell.now() from stepwell.fn_sign_in(%s, %s, %s, %s, %s) as s",
        (tenant, name, secret_hash, address, user_agent),
        lambda rows: SignedIn(*rows[0]),
    )


def enter_by_link(
    link: str, secret_hash: str | None, address: str | None, user_agent: str | None
) -> Call[SignedIn]:
    """Open a session by a link. It sets the password; without a hash it is the one of development mode."""
    return Call(
        "select 'signed_in', s.token, s.token_id, s.tenant_id, s.principal_name, s.expires_at,"
        " null::timestamptz, stepwell.now() from stepwell.fn_link_enter(%s, %s, %s, %s) as s",
        (link, secret_hash, address, user_agent),
        lambda rows: SignedIn(*rows[0]),
    )


def account() -> Call[Account]:
    return Call(
        "select a.name, a.kind, a.title, a.tenant, a.roles, a.verbs, a.token_id, a.token_kind, a.ends_at"
        " from stepwell.fn_account_read() as a",
        (),
        lambda rows: Account(*rows[0]),
    )


def sign_out() -> Call[bool]:
    """False if the transaction is bound by the token of a program."""
    return Call("select stepwell.fn_sign_out()", (), value)


def set_password(tenant: int, name: str, secret_hash: str) -> Call[None]:
    return Call("select stepwell.fn_password_set(%s, %s, %s)", (tenant, name, secret_hash), nothing)


def sessions(tenant: int, name: str, limit: int) -> Call[list[Session]]:
    return Call(
        f"select {_SESSION} from stepwell.fn_sessions_read(%s, %s, %s) as s",
        (tenant, name, page_size(limit)),
        lambda rows: [Session(*row) for row in rows],
    )


def end_sessions(tenant: int, name: str, *, keeps_current: bool) -> Call[int]:
    return Call("select stepwell.fn_sessions_revoke(%s, %s, %s)", (tenant, name, keeps_current), value)


def roles(tenant: int) -> Call[list[Role]]:
    return Call(
        "select r.role_name, r.verbs, r.account_count from stepwell.fn_roles_read(%s) as r",
        (tenant,),
        lambda rows: [Role(*row) for row in rows],
    )
