"""The login roles of the processes in tests: receives a conninfo of the owner, returns one of a process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import stepwell as sw
from stepwell.app import AppCalls
from stepwell.client import Client
from stepwell.config import Settings
from stepwell.store.embedded import roles
from tests.support.server import RunServer

ALL_ROLES = ("admin", "operator", "publisher", "reviewer")
_LOCK_KEY = 0x726F_6C65_73


def let_log_in(server: RunServer) -> None:
    """Once for the server of the test run; the roles belong to the server, not to a database."""
    password = conninfo_to_dict(server.admin_conninfo).get("password")
    with psycopg.connect(server.admin_conninfo) as admin:
        admin.execute("select pg_advisory_xact_lock(%s)", (_LOCK_KEY,))
        roles.let_log_in(admin, {role: str(password) for role in roles.ROLES} if password else None)


def as_process(dsn: str, process: str) -> str:
    """The same database for the role of a process: api, worker, keeper, slack or reader."""
    return make_conninfo(dsn, user=f"stepwell_{process}")


def api(dsn: str) -> str:
    """The same database for a command or a program: the role of the API."""
    return as_process(dsn, "api")


def process_settings(dsn: str, data_dir: Path = Path("/nonexistent"), token: str | None = None) -> Settings:
    """Each process with its own role. Without a token the client is the owner: the hands of the test."""
    settings = Settings(
        database_url=dsn if token is None else as_process(dsn, "api"),
        data_dir=data_dir,
        worker_url=as_process(dsn, "worker"),
        keeper_url=as_process(dsn, "keeper"),
        slack_url=as_process(dsn, "slack"),
    )
    return replace(settings, token=token)


def process_app(dsn: str, token: str | None = None, **options: Any) -> sw.App:
    """An app whose workers and keepers have the roles of their processes; with a token its client has too."""
    made = sw.App(database_url=dsn, **options)
    made.use_settings(process_settings(dsn, token=token))
    return made


class ProcessApp(sw.App):
    """An app of which each part has the role of its process. Its client acts as a service with all rights;
    `acting_as` is a person with a token of their own, on the same connections."""

    def __init__(self, dsn: str, tenant: str = "default", **options: Any) -> None:
        super().__init__(database_url=dsn, tenant=tenant, **options)
        self._owner = dsn
        token = bound_token(dsn, "test", "service", *ALL_ROLES, tenant=tenant)
        self.use_settings(process_settings(dsn, token=token))

    def acting_as(self, actor: str) -> AppCalls:
        return _Person(self, actor, person_token(self._owner, actor.rpartition(":")[2]))


class _Person(AppCalls):
    def __init__(self, app: sw.App, actor: str, token: str) -> None:
        self._app = app
        self._actor = actor
        self._token = token

    async def _connected(self) -> Client:
        found = (await self._app._connected()).acting_as(self._actor)
        found.token = self._token
        return found


def client_app(dsn: str, **options: Any) -> sw.App:
    return ProcessApp(dsn, **options)


def person_token(dsn: str, name: str) -> str:
    """A new token of somebody of tenant 1, who may also oversee runs; a person who is not there is added."""
    with psycopg.connect(dsn, autocommit=True) as owner:
        known = owner.execute(
            "select from stepwell.principal where tenant_id = 1 and principal_name = %s", (name,)
        ).fetchone()
        if known is None:
            owner.execute("select stepwell.fn_person_set(1, %s)", (name,))
        owner.execute("select stepwell.fn_principal_change(1, %s, array['operator'])", (name,))
        return _token(owner, name)


def process_environment(dsn: str, process: str = "worker") -> dict[str, str]:
    """For a command: the address of its process, and that of the keeper that a worker runs."""
    return {
        "STEPWELL_DATABASE_URL": as_process(dsn, process),
        "STEPWELL_KEEPER_URL": as_process(dsn, "keeper"),
        "STEPWELL_SLACK_URL": as_process(dsn, "slack"),
    }


def client_environment(dsn: str) -> dict[str, str]:
    """For a command of somebody with all rights."""
    token = bound_token(dsn, "typist", "person", *ALL_ROLES)
    return {"STEPWELL_DATABASE_URL": as_process(dsn, "api"), "STEPWELL_TOKEN": token}


def bound_token(
    dsn: str, name: str = "billing", kind: str = "service", *held: str | None, tenant: str = "default"
) -> str:
    """A new token of a principal; without roles given it is an admin, with None it has none."""
    with psycopg.connect(dsn, autocommit=True) as owner:
        given = [role for role in held if role is not None] if held else ["admin"]
        owner.execute(
            "select stepwell.fn_principal_set(stepwell.fn_tenant_find(%s), %s, %s, %s)",
            (tenant, kind, name, given),
        )
        return _token(owner, name, tenant)


def _token(owner: psycopg.Connection[Any], name: str, tenant: str = "default") -> str:
    """It lasts for months, because tests move the clock."""
    made = "select token from stepwell.fn_token_create(stepwell.fn_tenant_find(%s), %s, 'test', 31536000)"
    row = owner.execute(made, (tenant, name)).fetchone()
    assert row is not None
    return str(row[0])
