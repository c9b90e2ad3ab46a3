"""Evaluate tests, map sources, inputs and results: receives units, returns values or a failure
`{"type", "message"}`. An error in the workflow is a failure, never an exception.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stepwell.define.graph import Graph, GraphStep
from stepwell.define.template import FAILURE_POLICIES
from stepwell.reactive import jsonpath
from stepwell.reactive.frames import Frame, Unit
from stepwell.reactive.protocol import NodeStatus

__all__ = [
    "MAX_MAP_ITEMS",
    "behind",
    "bind_inputs",
    "catches",
    "caught_by",
    "document_of",
    "evaluate_test",
    "failure",
    "item_result_of",
    "items_of",
    "map_error",
    "must_wait",
    "require_policy",
    "result_of",
]

MAX_MAP_ITEMS: Final = 10_000


def failure(type: str, message: str) -> dict[str, str]:
    return {"type": type, "message": message}


def require_policy(policy: str) -> str:
    if policy not in FAILURE_POLICIES:
        accepted = ", ".join(FAILURE_POLICIES)
        raise ValueError(f"failure_policy: {policy!r} is not known; accepted: {accepted}")
    return policy


def catches(node: GraphStep, broken: GraphStep) -> bool:
    """A conditional catches only failures that its test is about: it reads the status or the error of the
    failed step."""
    return broken.no in node.caught()


def behind(graph: Graph, conditional: Unit) -> Iterator[Unit]:
    """The steps before a conditional, and the steps before those of them that were aborted. All steps before
    a step that ran have ended, and their failures were caught.
    """
    units = conditional.frame.units
    seen: set[int] = set()
    pending = list(graph.predecessors[conditional.node.no])
    while pending:
        no = pending.pop()
        if no not in seen:
            seen.add(no)
            yield units[no]
            if units[no].status is NodeStatus.ABORTED:
                pending.extend(graph.predecessors[no])


def must_wait(graph: Graph, conditional: Unit) -> bool:
    """A conditional waits until all steps before it have ended; so the order of events does not matter."""
    return conditional.blockers > 0 and any(not unit.is_settled for unit in behind(graph, conditional))


def caught_by(graph: Graph, conditional: Unit) -> Iterator[Unit]:
    """The steps before a conditional that failed or were aborted: predecessors, and what aborted them."""
    broken = (NodeStatus.FAILED, NodeStatus.ABORTED)
    return (unit for unit in behind(graph, conditional) if unit.status in broken)


def document_of(unit: Unit, run_input: Any) -> dict[str, Any]:
    """The document of the expressions of a unit: input, the steps that it reads, and in a map the item."""
    steps: dict[str, Any] = {}
    for no in unit.node.reads or ():
        read = unit.frame.find(no)
        if read is not None:
            entry = {"status": str(read.status), "output": read.output}
            if read.status is NodeStatus.FAILED:
                entry["error"] = read.error
            steps[read.node.id] = entry
    document: dict[str, Any] = {"input": run_input, "steps": steps}
    if unit.frame.owner is not None:
        document |= {"item": unit.frame.item, "index": unit.frame.index}
    return document


def evaluate_test(unit: Unit, run_input: Any) -> bool | dict[str, str]:
    """True or false, or a failure if the test gives neither."""
    test = unit.node.test
    if isinstance(test, Mapping):
        no = (unit.node.reads or (0,))[0]
        read = unit.frame.find(no)
        return read is not None and read.status is NodeStatus.COMPLETED
    try:
        found = jsonpath.first(str(test), document_of(unit, run_input))
    except (jsonpath.PathError, jsonpath.PathSyntaxError) as error:
        return failure("ExpressionError", f"test: {error}")
    if isinstance(found, bool):
        return found
    shown = "nothing" if found is jsonpath.MISSING else json.dumps(found, default=str)[:100]
    return failure("ExpressionError", f"test: gives {shown}; accepted: true or false")


def items_of(unit: Unit, run_input: Any) -> list[Any] | dict[str, str]:
    """The list of a map, or a failure."""
    try:
        found = jsonpath.first(str(unit.node.over), document_of(unit, run_input))
    except (jsonpath.PathError, jsonpath.PathSyntaxError) as error:
        return failure("ExpressionError", f"over: {error}")
    if not isinstance(found, list):
        what = "nothing" if found is jsonpath.MISSING else f"a value of type {type(found).__name__}"
        return failure("ExpressionError", f"over: gives {what}; accepted: a list")
    if len(found) > MAX_MAP_ITEMS:
        message = f"over: gives {len(found):,} items; the limit is {MAX_MAP_ITEMS:,}"
        return failure("ExpressionError", message)
    return found


def bind_inputs(unit: Unit, run_input: Any) -> Any:
    """The input of a sub-workflow: the values of its paths, or the input of the run if it has none."""
    if not unit.node.inputs:
        return run_input
    document = document_of(unit, run_input)
    return {name: _found(path, document) for name, path in unit.node.inputs.items()}


def _found(path: str, document: Any) -> Any:
    try:
        found = jsonpath.first(path, document)
    except jsonpath.PathError:
        return None
    return None if found is jsonpath.MISSING else found


def result_of(graph: Graph, frame: Frame) -> Any:
    """The result of a run: the output of its last node; if several completed, an object with their ids."""
    last = [frame.units[node.no] for node in graph.exits()]
    done = [unit for unit in last if unit.status is NodeStatus.COMPLETED]
    if len(done) == 1:
        return done[0].output
    return {unit.node.id: unit.output for unit in done} if done else None


def item_result_of(graph: Graph, frame: Frame) -> Any:
    """The result of a map item: the output of the last node, or an object by id if there are several."""
    last = [frame.units[node.no] for node in graph.exits(frame.owner.node.no if frame.owner else 0)]
    return last[0].output if len(last) == 1 else {unit.node.id: unit.output for unit in last}


def map_error(owner: Unit) -> dict[str, str]:
    count = owner.failed_item_count
    what = "1 item" if count == 1 else f"{count} items"
    return failure("MapFailed", f"{what} of {len(owner.items)} failed")
