"""Tenants and caps in the database: receives plain values, hands on calls for whoever has a connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stepwell import json_text
from stepwell.store.connection.call import Call, value_or_none


@dataclass(frozen=True, slots=True)
class Caps:
    """What a tenant, or one of its workflows, may use; None is no cap."""

    name: str
    max_concurrency: int | None
    max_runs_per_min: int | None
    max_writes_per_run: int | None


@dataclass(frozen=True, slots=True)
class Tenant(Caps):
    weight: int


def tenant_id(code: str) -> Call[int | None]:
    return Call(
        "select t.tenant_id from stepwell.tenant as t where t.tenant_code = %s", (code,), value_or_none
    )


def set_tenant(code: str, settings: Mapping[str, int | None]) -> Call[int]:
    """Make or change it; settings not given stay, None takes a cap away."""
    return Call(
        "select stepwell.fn_tenant_set(%s, %s::jsonb)",
        (code, json_text.encode(settings, "settings")),
        lambda rows: int(rows[0][0]),
    )


def set_workflow_caps(tenant: int, workflow: str, settings: Mapping[str, int | None]) -> Call[None]:
    return Call(
        "select stepwell.fn_workflow_caps_set(%s, %s, %s::jsonb)",
        (tenant, workflow, json_text.encode(settings, "settings")),
        lambda rows: None,
    )


def tenants() -> Call[list[Tenant]]:
    return Call(
        "select t.tenant_code, t.max_concurrency, t.max_runs_per_min, t.max_writes_per_run, t.weight"
        " from stepwell.tenant as t order by t.tenant_code",
        (),
        lambda rows: [Tenant(*row) for row in rows],
    )


def capped_workflows(tenant: int) -> Call[list[Caps]]:
    return Call(
        "select w.workflow_name, w.max_concurrency, w.max_runs_per_min, w.max_writes_per_run"
        " from stepwell.workflow_registry as w where w.tenant_id = %s"
        " and num_nonnulls(w.max_concurrency, w.max_runs_per_min, w.max_writes_per_run) > 0"
        " order by w.workflow_name",
        (tenant,),
        lambda rows: [Caps(*row) for row in rows],
    )
