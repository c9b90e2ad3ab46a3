"""Project the event log: receives a graph and call events, returns statuses, past states and simulations."""

from stepwell.reactive.call_graph import Call, CallEdge, CallGraph
from stepwell.reactive.event_log import LogRow, UnitRow, call_events, paths_of
from stepwell.reactive.flow_graph import FlowEdge, FlowGraph
from stepwell.reactive.host import ReactiveHost, WorkflowNode
from stepwell.reactive.memory_engine import Action, MemoryEngine, Simulation
from stepwell.reactive.projection import Projection
from stepwell.reactive.protocol import (
    CallEvent,
    CallEventType,
    CallResult,
    CallStatus,
    NodeStatus,
    RunStatus,
    UnknownNode,
    UnknownRequest,
    call_status_to_node_status,
    node_status_to_call_action,
)
from stepwell.reactive.root import Disposed, NodeSignals, WorkflowReactiveRoot
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
    "CallStatus",
    "Disposed",
    "FlowEdge",
    "FlowGraph",
    "LogRow",
    "MemoryEngine",
    "NodeSignals",
    "NodeStatus",
    "Projection",
    "Raises",
    "ReactiveHost",
    "RunStatus",
    "Script",
    "Simulation",
    "UnitRow",
    "UnknownNode",
    "UnknownRequest",
    "WorkflowNode",
    "WorkflowReactiveRoot",
    "call_events",
    "call_status_to_node_status",
    "node_status_to_call_action",
    "paths_of",
    "read_outcomes",
]
