"""Calls for published workflows: receives names, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from stepwell import json_text
from stepwell.store.calls.tenants import Caps
from stepwell.store.connection.call import Call, nothing, page_size

if TYPE_CHECKING:
    from stepwell.define import Graph


@dataclass(frozen=True, slots=True)
class PublishedWorkflow(Caps):
    """A workflow, its newest version and its caps."""

    title: str | None
    version_no: int
    version_count: int
    step_count: int
    published_at: datetime
    published_by: str
    # JSON Schema of the input of a run; None accepts every input.
    input_schema: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class WorkflowVersion:
    """One published version; it never changes."""

    name: str
    version_no: int
    title: str | None
    failure_policy: str
    step_count: int
    graph_hash: str
    published_at: datetime
    published_by: str
    input_schema: dict[str, Any] | None
    # The stored document; `graph` reads it.
    document: dict[str, Any]

    @property
    def graph(self) -> Graph:
        from stepwell.define import Graph

        return Graph.from_stored(self.document)

    @property
    def step_numbers(self) -> list[int]:
        """The numbers of its steps; `graph` counts from 1 where the database left out hidden ones."""
        from stepwell.define.graph_reader import step_numbers

        return step_numbers(self.document)


_WORKFLOW = ", ".join(f"w.{field.name}" for field in fields(PublishedWorkflow))
_VERSION = ", ".join(f"v.{field.name}" for field in fields(WorkflowVersion))


def version_columns() -> str:
    return _VERSION


def workflows(
    tenant: int, *, has_caps: bool = False, after: str | None = None, limit: int = 100
) -> Call[list[PublishedWorkflow]]:
    """Workflows by name; with `has_caps` only workflows that have caps."""
    return Call(
        f"select {_WORKFLOW} from stepwell.v_workflow as w"
        " where w.tenant_id = %s and (%s::text is null or w.name > %s) and (not %s or"
        " num_nonnulls(w.max_concurrency, w.max_runs_per_min, w.max_writes_per_run) > 0)"
        " order by w.name limit %s",
        (tenant, after, after, has_caps, page_size(limit)),
        lambda rows: [PublishedWorkflow(*row) for row in rows],
    )


def workflow(tenant: int, name: str) -> Call[PublishedWorkflow | None]:
    return Call(
        f"select {_WORKFLOW} from stepwell.v_workflow as w where w.tenant_id = %s and w.name = %s",
        (tenant, name),
        lambda rows: PublishedWorkflow(*rows[0]) if rows else None,
    )


def versions(tenant: int, name: str, *, before: int | None = None, limit: int) -> Call[list[WorkflowVersion]]:
    """The newest first; `before` is the number of the last one of the page before."""
    return Call(
        f"select {_VERSION} from stepwell.v_workflow_version as v"
        " where v.tenant_id = %s and v.name = %s and (%s::int is null or v.version_no < %s)"
        " order by v.version_no desc limit %s",
        (tenant, name, before, before, page_size(limit)),
        lambda rows: [WorkflowVersion(*row) for row in rows],
    )


def set_workflow_caps(tenant: int, workflow: str, settings: Mapping[str, object]) -> Call[None]:
    return Call(
        "select stepwell.fn_workflow_caps_set(%s, %s, %s::jsonb)",
        (tenant, workflow, json_text.encode(settings, "settings")),
        nothing,
    )
