"""The values of the projection: call events as input, node statuses as output."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal

__all__ = [
    "SATISFYING",
    "SETTLED",
    "CallAction",
    "CallEvent",
    "CallEventType",
    "CallResult",
    "CallStatus",
    "NodeStatus",
    "RunStatus",
    "UnknownNode",
    "UnknownRequest",
    "call_status_to_node_status",
    "node_status_to_call_action",
]

CallAction = Literal["start", "skip", "abort", "none"]


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


class CallStatus(StrEnum):
    """The statuses of one call."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


SATISFYING: Final = frozenset({NodeStatus.COMPLETED, NodeStatus.SKIPPED})
SETTLED: Final = SATISFYING | {NodeStatus.FAILED, NodeStatus.ABORTED}


class CallEventType(StrEnum):
    """The call protocol, with two additions: `run.aborted`, which `abort_all` writes to the log, and
    `node.reopened`, which `reopen_node` writes: an ended node may be called again."""

    REQUESTED = "call.requested"
    RESPONDED = "call.responded"
    ERROR = "call.error"
    ABORTED = "call.aborted"
    COMPLETED = "call.completed"
    RUN_ABORTED = "run.aborted"
    REOPENED = "node.reopened"


def _event_type(text: str) -> CallEventType:
    try:
        return CallEventType(text)
    except ValueError:
        accepted = ", ".join(CallEventType)
        raise ValueError(f"type: {text!r} is not an event of a call; accepted: {accepted}") from None


@dataclass(frozen=True, slots=True)
class CallEvent:
    """One event of one call. A request id belongs to one attempt; a retry has a new one.

    `node` may be omitted after `call.requested`. `will_retry` on an error means that another attempt follows:
    the node stays running, and no node that depends on it is aborted. `operation_id` and `input` say what a
    request calls. The type may be given as text.
    """

    type: CallEventType
    request_id: str
    node: str | None = None
    output: Any = None
    error: Any = None
    will_retry: bool = False
    parent_request_id: str | None = None
    at: str | None = None
    operation_id: str | None = None
    input: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", _event_type(self.type))


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


class UnknownRequest(UnknownNode):
    """An event names no node and its request was not in the log, or its request is one of another node."""

    def __str__(self) -> str:
        request_id, node = self.args
        if node is not None:
            return f"request {request_id!r} is one of node {node!r}; give a request id of its own"
        return f"request {request_id!r} is not known; give the node, or append its call.requested first"


def node_status_to_call_action(status: NodeStatus) -> CallAction:
    """What a coordinator does with the call of a node that has this status."""
    match status:
        case NodeStatus.READY:
            return "start"
        case NodeStatus.SKIPPED:
            return "skip"
        case NodeStatus.ABORTED:
            return "abort"
        case _:
            return "none"


def call_status_to_node_status(status: CallStatus) -> NodeStatus:
    """The status of a node whose call has this status."""
    return NodeStatus(status)
