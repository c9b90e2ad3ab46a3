"""Project the event log: receives a graph and call events, returns statuses, past states and simulations."""

from stepwell.reactive.call_graph import Call, CallEdge, CallGraph
from stepwell.reactive.event_log import LogRow, UnitRow, call_events, paths_of
from stepwell.reactive.memory_engine import Action, MemoryEngine, Simulation
from stepwell.reactive.projection import Projection
from stepwell.reactive.protocol import (
    CallEvent,
    CallEventType,
    CallResult,
    NodeStatus,
    RunStatus,
    UnknownNode,
)
from stepwell.reactive.root import Disposed, WorkflowReactiveRoot
from stepwell.reactive.script import NEVER, Raises, Script, read_outcomes

__all__ = [
    "NEVER",
    "Action",
    "Call",
    "CallEdge",
    "CallEvent",
    "CallEventType",
    "CallGraph",
    "CallResult",
    "Disposed",
    "LogRow",
    "MemoryEngine",
    "NodeStatus",
    "Projection",
    "Raises",
    "RunStatus",
    "Script",
    "Simulation",
    "UnitRow",
    "UnknownNode",
    "WorkflowReactiveRoot",
    "call_events",
    "paths_of",
    "read_outcomes",
]
