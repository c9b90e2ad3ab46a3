"""Short functions for call events: receives a projection or root, appends events of its nodes."""

from __future__ import annotations

from typing import Any, Protocol

from stepwell.define import FailurePolicy, Graph, Step, Workflow, freeze
from stepwell.reactive import CallEvent, CallEventType


class Taker(Protocol):
    def append(self, event: CallEvent) -> bool: ...


def graph_of(root: Step, failure_policy: FailurePolicy = "continue-running") -> Graph:
    return freeze(Workflow("tested", root, failure_policy=failure_policy))


def requested(node: str, attempt: int = 1, parent: str | None = None) -> CallEvent:
    return CallEvent(CallEventType.REQUESTED, f"{node}#{attempt}", node, parent_request_id=parent)


def responded(node: str, output: Any = None, attempt: int = 1) -> CallEvent:
    return CallEvent(CallEventType.RESPONDED, f"{node}#{attempt}", node, output=output)


def failed(node: str, attempt: int = 1, will_retry: bool = False) -> CallEvent:
    error = {"type": "ValueError", "message": "no"}
    return CallEvent(CallEventType.ERROR, f"{node}#{attempt}", node, error=error, will_retry=will_retry)


def aborted(node: str, attempt: int = 1) -> CallEvent:
    return CallEvent(CallEventType.ABORTED, f"{node}#{attempt}", node)


def complete(taker: Taker, *nodes: str, output: Any = None) -> None:
    for node in nodes:
        taker.append(requested(node))
        taker.append(responded(node, output))


def fail(taker: Taker, *nodes: str) -> None:
    for node in nodes:
        taker.append(requested(node))
        taker.append(failed(node))
