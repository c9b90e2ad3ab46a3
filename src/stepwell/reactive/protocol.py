"""The values of the projection: call events as input, node statuses as output."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

__all__ = [
    "SATISFYING",
    "SETTLED",
    "CallEvent",
    "CallEventType",
    "CallResult",
    "NodeStatus",
    "RunStatus",
    "UnknownNode",
]


class NodeStatus(StrEnum):
    """`running`, `completed`, `failed` and `aborted` come from calls; the others exist only in a workflow."""

    IDLE = "idle"
    WAITING = "waiting"
    READY = "ready"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    SKIPPED = "skipped"


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


SATISFYING: Final = frozenset({NodeStatus.COMPLETED, NodeStatus.SKIPPED})
SETTLED: Final = SATISFYING | {NodeStatus.FAILED, NodeStatus.ABORTED}


class CallEventType(StrEnum):
    """The call protocol, with one addition: `run.aborted`, which `abort_all` writes to the log."""

    REQUESTED = "call.requested"
    RESPONDED = "call.responded"
    ERROR = "call.error"
    ABORTED = "call.aborted"
    COMPLETED = "call.completed"
    RUN_ABORTED = "run.aborted"


@dataclass(frozen=True, slots=True)
class CallEvent:
    """One event of one call. A request id belongs to one attempt; a retry has a new one.

    `node` may be omitted after `call.requested`. `will_retry` on an error means that another attempt follows:
    the node stays running, and no node that depends on it is aborted.
    """

    type: CallEventType
    request_id: str
    node: str | None = None
    output: Any = None
    error: Any = None
    will_retry: bool = False
    parent_request_id: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class CallResult:
    """The values of an ended node that expressions can read."""

    status: NodeStatus
    output: Any = None
    error: Any = None


class UnknownNode(KeyError):
    """The graph does not have this node, or its map is not expanded yet."""

    def __str__(self) -> str:
        return f"there is no node {self.args[0]!r} in this run"
