"""Name what the log says and what is derived from it: call events in, node statuses out. Pure values."""

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
    """`running`, `completed`, `failed`, `aborted` come from calls; the others exist only in a workflow."""

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
    """The call protocol; `run.aborted` is the one addition: abort_all, kept in the log like the rest."""

    REQUESTED = "call.requested"
    RESPONDED = "call.responded"
    ERROR = "call.error"
    ABORTED = "call.aborted"
    COMPLETED = "call.completed"
    RUN_ABORTED = "run.aborted"


@dataclass(frozen=True, slots=True)
class CallEvent:
    """One fact about one call. A request id stands for one attempt; a retry has a new one.

    `node` may be left out after `call.requested`. `will_retry` on an error says that another attempt follows:
    the node goes on running, and nothing that depends on it is aborted.
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
    """What expressions see of a node that has ended."""

    status: NodeStatus
    output: Any = None
    error: Any = None


class UnknownNode(KeyError):
    """The event or question names a node that the graph does not have (or not yet: an item not expanded)."""

    def __str__(self) -> str:
        return f"there is no node {self.args[0]!r} in this run"
