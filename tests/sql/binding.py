"""Bind a connection of a test: receives a tenant and a database role, returns tokens and bound blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg

APPLICATION_ROLES = [
    "stepwell_api",
    "stepwell_keeper",
    "stepwell_reader",
    "stepwell_slack",
    "stepwell_worker",
]


def token(
    db: psycopg.Connection,
    tenant_id: int,
    name: str = "binder",
    roles: Sequence[str] = ("admin",),
    *,
    verbs: Sequence[str] | None = None,
    seconds: int = 3600,
) -> str:
    """A new token of a person of the tenant, made by the owner."""
    db.execute("select stepwell.fn_person_set(%s, %s, %s)", (tenant_id, name, list(roles)))
    row = db.execute(
        "select token from stepwell.fn_token_create(%s, %s, 'test', %s, %s)",
        (tenant_id, name, seconds, None if verbs is None else list(verbs)),
    ).fetchone()
    assert row is not None
    found: str = row[0]
    return found


@contextmanager
def as_role(db: psycopg.Connection, role: str, text: str | None = None) -> Iterator[None]:
    """A transaction with the rights of the role, bound by the token if there is one; it is rolled back."""
    with db.transaction(force_rollback=True):
        db.execute(f"set local role {role}")
        if text is not None:
            bind(db, text)
        yield


def bind(db: psycopg.Connection, text: str) -> None:
    db.execute("select stepwell.fn_session_bind(%s)", (text,))


@contextmanager
def bound(db: psycopg.Connection, tenant_id: int, role: str | None = None) -> Iterator[None]:
    """Inside the block the transaction is bound to an admin of the tenant, with the rights of the role."""
    text = token(db, tenant_id)
    with db.transaction(force_rollback=True):
        if role is not None:
            db.execute(f"set local role {role}")
        bind(db, text)
        yield
