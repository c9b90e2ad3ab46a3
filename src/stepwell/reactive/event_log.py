"""Read a stored log as call events: receives rows of `event_log`, returns events for a projection.

It reads only events of calls. Readiness, conditionals, skips, map items and aborts are derived again, so that
the derived state can be compared with the stored one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stepwell.define.graph import Graph
from stepwell.reactive.protocol import CallEvent, CallEventType
from stepwell.unit_numbers import PLACES

__all__ = ["LogRow", "UnitRow", "call_events", "paths_of"]

_DERIVED_KINDS = ("conditional", "map")


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A row of `work_unit`: its node, and its map and item if it has one."""

    unit_id: int
    def_no: int
    parent_id: int | None = None
    item_no: int | None = None


@dataclass(frozen=True, slots=True)
class LogRow:
    """A row of `event_log`, with the output of the attempt if it completed."""

    unit_id: int
    request_id: int | None
    event_type: str
    to_state: str | None
    output: Any = None
    error: Any = None
    at: str | None = None


def paths_of(graph: Graph, units: Iterable[UnitRow]) -> dict[int, str]:
    """Unit id → instance path such as `pack_all[3].pack`. The unit of a map comes before its items."""
    paths: dict[int, str] = {}
    for unit in sorted(units, key=lambda row: row.unit_id):
        prefix = ""
        if unit.item_no is not None and unit.parent_id is not None:
            prefix = f"{paths[unit.parent_id]}[{unit.item_no}]."
        paths[unit.unit_id] = prefix + graph.step(unit.def_no).id
    return paths


def call_events(graph: Graph, paths: Mapping[int, str], rows: Iterable[LogRow]) -> Iterator[CallEvent]:
    """The call events of the rows, in the order of the rows."""
    kinds = {node.id: node.kind for node in graph.steps}
    for row in rows:
        path = paths.get(row.unit_id)
        if path is None:
            # An event of the run itself, or of a task or approval in it. Other states of the run are derived.
            if row.to_state == "cancelled" and row.unit_id % PLACES == 0:
                yield CallEvent(CallEventType.RUN_ABORTED, f"run:{row.unit_id}", at=row.at)
            continue
        if kinds[path.rpartition("]")[2].removeprefix(".")] in _DERIVED_KINDS and row.to_state != "cancelled":
            continue
        request_id = f"{row.unit_id}:{row.request_id}"
        match row.to_state:
            case "ready" if row.event_type == "step.replayed":
                yield CallEvent(CallEventType.REOPENED, f"{request_id}:replayed", path, at=row.at)
            case "in_progress":
                yield CallEvent(CallEventType.REQUESTED, request_id, path, at=row.at)
            case "completed":
                yield CallEvent(CallEventType.RESPONDED, request_id, path, output=row.output, at=row.at)
            case "failed":
                yield CallEvent(
                    CallEventType.ERROR, request_id, path, error=row.error, will_retry=True, at=row.at
                )
            case "cannot_complete":
                yield CallEvent(CallEventType.ERROR, request_id, path, error=row.error, at=row.at)
            case "cancelled" if row.event_type != "step.aborted":
                yield CallEvent(CallEventType.ABORTED, request_id, path, at=row.at)
            case _:
                pass  # ready, waiting, blocked, skipped: derived, or not about a call
