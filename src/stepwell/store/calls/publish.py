"""Publish workflows and register operations: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepwell import json_text
from stepwell.store.connection.call import Call, nothing


@dataclass(frozen=True, slots=True)
class Published:
    version_id: int
    version_no: int
    is_new: bool


def publish_workflow(tenant: int, graph: bytes, actor: str) -> Call[Published]:
    return Call(
        "select * from stepwell.fn_workflow_publish(%s, %s::jsonb, %s)",
        (tenant, graph.decode(), actor),
        lambda rows: Published(*rows[0]),
    )


def may_read_operations() -> Call[bool]:
    """False for the role of a worker, which reads no tables."""
    return Call(
        "select has_table_privilege('stepwell.operation', 'select')", (), lambda rows: bool(rows[0][0])
    )


def known_operations(tenant: int) -> Call[set[str]]:
    """The names of all operations that an app or a worker has registered."""
    return Call(
        "select o.operation_name from stepwell.operation as o"
        " where o.tenant_id = %s and o.registered_at is not null",
        (tenant,),
        lambda rows: {row[0] for row in rows},
    )


def register_event_type(
    tenant: int, name: str, description: str, schema: Mapping[str, Any] | None, actor: str
) -> Call[None]:
    return Call(
        "select stepwell.fn_event_type_register(%s, %s, %s, %s::jsonb, %s)",
        (tenant, name, description, None if schema is None else json_text.encode(schema, "schema"), actor),
        nothing,
    )


def register_operations(tenant: int, operations: Sequence[Mapping[str, Any]]) -> Call[None]:
    return Call(
        "select stepwell.fn_operation_register(%s, %s::jsonb)",
        (tenant, json_text.encode(operations, "operations")),
        nothing,
    )
