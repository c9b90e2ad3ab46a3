"""Drawings of graphs: receives the name of a version or of a drawing, returns it or keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepwell import json_text
from stepwell.store.calls.workflows import WorkflowVersion, version_columns
from stepwell.store.connection.call import Call, value, value_or_none


def version(tenant: int, name: str, version_no: int) -> Call[WorkflowVersion | None]:
    return Call(
        f"select {version_columns()} from stepwell.v_workflow_version as v"
        " where v.tenant_id = %s and v.name = %s and v.version_no = %s",
        (tenant, name, version_no),
        lambda rows: WorkflowVersion(*rows[0]) if rows else None,
    )


def by_hash(tenant: int, layout_hash: str) -> Call[dict[str, Any] | None]:
    return Call(
        "select l.drawing from stepwell.graph_layout as l where l.tenant_id = %s and l.layout_hash = %s",
        (tenant, layout_hash),
        value_or_none,
    )


def by_graph(tenant: int, graph_hash: str, lanes_by: str, version: int) -> Call[dict[str, Any] | None]:
    return Call(
        "select l.drawing from stepwell.graph_layout as l"
        " where l.tenant_id = %s and l.graph_hash = %s and l.lanes_by = %s and l.layout_version = %s",
        (tenant, graph_hash, lanes_by, version),
        value_or_none,
    )


def keep(tenant: int, graph_hash: str, lanes_by: str, version: int, drawing: dict[str, Any]) -> Call[str]:
    return Call(
        "select stepwell.fn_layout_keep(%s, %s, %s, %s, %s::jsonb)",
        (tenant, graph_hash, lanes_by, version, json_text.encode(drawing, "drawing")),
        value,
    )


def content_labels(tenant: int, names: Sequence[str]) -> Call[dict[str, list[str]]]:
    """Name of the content → its labels in all languages, and those of what a bundle holds."""
    return Call("select stepwell.fn_content_labels(%s, %s::text[])", (tenant, list(names)), value)
