"""Calls for tenants and caps: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stepwell import json_text
from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps of a tenant or of a workflow; None is no cap."""

    name: str
    max_concurrency: int | None
    max_runs_per_min: int | None
    max_writes_per_run: int | None

    @property
    def has_caps(self) -> bool:
        caps = (self.max_concurrency, self.max_runs_per_min, self.max_writes_per_run)
        return any(cap is not None for cap in caps)


@dataclass(frozen=True, slots=True)
class Tenant(Caps):
    weight: int


@dataclass(frozen=True, slots=True)
class Workspace(Caps):
    """A part of a tenant."""

    workspace_id: int


def caller(code: str | None) -> Call[tuple[int, str | None]]:
    """The number of a tenant, and the name of the principal that acts there if nobody is named.

    Without a code it is the tenant of the token. Raises NotFound, or PermissionDenied if the caller must be
    bound and is not.
    """
    return Call(
        "select c.tenant_id, c.principal_name from stepwell.fn_caller_read(%s) as c",
        (code,),
        lambda rows: (rows[0][0], rows[0][1]),
    )


def set_tenant(code: str, settings: Mapping[str, object]) -> Call[int]:
    """Create or change a tenant; settings that are not given stay, None removes a cap."""
    return Call(
        "select stepwell.fn_tenant_set(%s, %s::jsonb)",
        (code, json_text.encode(settings, "settings")),
        lambda rows: int(rows[0][0]),
    )


def tenants(code: str | None = None) -> Call[list[Tenant]]:
    """All tenants, or the one with this name."""
    return Call(
        "select t.tenant_code, t.max_concurrency, t.max_runs_per_min, t.max_writes_per_run, t.weight"
        " from stepwell.tenant as t where %s::text is null or t.tenant_code = %s order by t.tenant_code",
        (code, code),
        lambda rows: [Tenant(*row) for row in rows],
    )


def set_workspace(tenant_id: int, name: str, settings: Mapping[str, object]) -> Call[int]:
    """Create or change a workspace; settings that are not given stay, None removes a cap."""
    return Call(
        "select stepwell.fn_workspace_set(%s, %s, %s::jsonb)",
        (tenant_id, name, json_text.encode(settings, "settings")),
        lambda rows: int(rows[0][0]),
    )


def workspaces(tenant_id: int) -> Call[list[Workspace]]:
    return Call(
        "select w.workspace_name, w.max_concurrency, w.max_runs_per_min, w.max_writes_per_run, w.workspace_id"
        " from stepwell.workspace as w where w.tenant_id = %s order by w.workspace_name",
        (tenant_id,),
        lambda rows: [Workspace(*row) for row in rows],
    )
