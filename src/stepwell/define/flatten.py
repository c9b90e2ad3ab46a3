"""Turn a template tree into the steps and edges of the graph, in one pass; containers become edges.

Receives a Workflow, returns a Flat: the graph, the template object of each step, and the problems found.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from stepwell.define.duration import seconds_of
from stepwell.define.expression import is_step_id, step_path
from stepwell.define.graph import Branch, Edge, Graph, GraphStep, Group, catches_of, reads_of
from stepwell.define.limits import MAX_EDGES, MAX_NESTING, MAX_STEPS
from stepwell.define.problem import DefinitionError, Problem, quoted
from stepwell.define.template import (
    Conditional,
    Human,
    Map,
    Operation,
    Parallel,
    Retry,
    Sequential,
    Step,
    SubWorkflow,
    Wait,
    Workflow,
    callable_name,
)

__all__ = ["Flat", "flatten"]

Source = str | Callable[..., Any] | Operation


@dataclass(frozen=True)
class Flat:
    """A graph with its origin: `sources[no - 1]` is the template object that made step `no`."""

    graph: Graph
    sources: tuple[object, ...]
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class _Limit:
    """The limit of a Parallel. It becomes a group when its first step is added."""

    max_concurrency: int
    group_no: int | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a step in the tree: what it inherits from the containers around it."""

    scope: int = 0
    branch: int | None = None
    limit: _Limit | None = None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class _Ends:
    """The first steps of a part (they wait for the part before) and its last steps (the next part waits)."""

    entries: list[int]
    exits: list[int]


def flatten(workflow: Workflow) -> Flat:
    """Raises DefinitionError if there are too many steps or edges, or if steps are nested too deeply."""
    flattening = _Flattening()
    flattening.step(workflow.root, _Place())
    while flattening.bodies:
        step, place = flattening.bodies.popleft()
        flattening.step(step, place)
    graph = Graph(
        name=workflow.name,
        steps=tuple(flattening.steps),
        edges=tuple(sorted(flattening.edges, key=lambda edge: (edge.from_no, edge.to_no))),
        branches=tuple(flattening.branches),
        groups=tuple(flattening.groups),
        failure_policy=workflow.failure_policy,
        workflow_class=workflow.workflow_class,
        title=workflow.title,
        input_schema=workflow.input_schema,
        callables=flattening.callables,
    )
    return Flat(graph, tuple(flattening.sources), tuple(flattening.problems))


class _Flattening:
    def __init__(self) -> None:
        self.steps: list[GraphStep] = []
        self.sources: list[object] = []
        self.numbers: dict[str, int] = {}
        self.edges: list[Edge] = []
        self.branches: list[Branch] = []
        self.groups: list[Group] = []
        self.callables: dict[str, Callable[..., Any]] = {}
        self.problems: list[Problem] = []
        # Bodies of maps are numbered after the scope around them, so that each scope has consecutive numbers.
        self.bodies: deque[tuple[Step, _Place]] = deque()

    def step(self, step: Step, place: _Place) -> _Ends:
        if place.depth > MAX_NESTING:
            raise DefinitionError.one(
                f"steps are nested more than {MAX_NESTING} levels deep; make the inner part a sub-workflow",
                field="steps",
                source=step,
            )
        match step:
            case Sequential():
                return self.sequential(step, _deeper(place))
            case Parallel():
                return self.parallel(step, _deeper(place))
            case Conditional():
                return self.conditional(step, _deeper(place))
            case Map():
                return self.map(step, _deeper(place))
            case _:
                return self.leaf(step, place)

    def sequential(self, step: Sequential, place: _Place) -> _Ends:
        first = before = self.step(step.steps[0], place)
        for follower in step.steps[1:]:
            after = self.step(follower, place)
            self.join(before.exits, after.entries, None, follower)
            before = after
        return _Ends(first.entries, before.exits)

    def parallel(self, step: Parallel, place: _Place) -> _Ends:
        if step.max_concurrency is not None:
            place = replace(place, limit=_Limit(step.max_concurrency))
        entries: list[int] = []
        exits: list[int] = []
        for member in step.steps:
            ends = self.step(member, place)
            entries += ends.entries
            exits += ends.exits
        return _Ends(entries, exits)

    def conditional(self, step: Conditional, place: _Place) -> _Ends:
        before, text = self.source(step.test, f"{step.id}.test", step, place)
        test = {"step": text} if before is None and is_step_id(text) else text
        number = self.add(step, place, id=step.id, kind="conditional", test=test)
        entry = number
        if before is not None:
            self.join([before], [number], None, step)
            entry = before
        exits: list[int] = []
        for label, part in (("then", step.then), ("otherwise", step.otherwise)):
            if part is None:
                exits.append(number)
                continue
            negated = label == "otherwise"
            branch = Branch(len(self.branches) + 1, number, label, negated, place.branch)  # type: ignore[arg-type]
            self.branches.append(branch)
            ends = self.step(part, replace(place, branch=branch.no))
            self.join([number], ends.entries, branch.no, part)
            exits += ends.exits
        return _Ends([entry], exits)

    def map(self, step: Map, place: _Place) -> _Ends:
        before, over = self.source(step.over, f"{step.id}.over", step, place)
        number = self.add(
            step,
            place,
            id=step.id,
            kind="map",
            over=over,
            max_concurrency=step.max_concurrency,
            deadline=seconds_of(step.deadline),
            mandatory=step.mandatory,
            title=step.title,
            milestone=step.milestone,
        )
        # The body does not inherit branch and group: each item runs like a small separate run.
        self.bodies.append((step.body, _Place(scope=number, depth=place.depth)))
        if before is None:
            return _Ends([number], [number])
        self.join([before], [number], None, step)
        return _Ends([before], [number])

    def source(
        self, source: Source, id: str, owner: Conditional | Map, place: _Place
    ) -> tuple[int | None, str]:
        """A function or an operation as a test or source becomes a step; the path reads its output."""
        if isinstance(source, str):
            return None, source
        if not isinstance(source, Operation):
            name = callable_name(source)
            known = self.callables.setdefault(name, source)
            if known is not source:
                self.problems.append(
                    Problem(f"two different functions share the name {quoted(name)}", owner.id, source=owner)
                )
            source = Operation(name, id=id)
            return self.leaf(source, place, owner).entries[0], step_path(id)
        return self.leaf(source, place).entries[0], step_path(source.id)

    def leaf(
        self, step: Operation | Human | Wait | SubWorkflow, place: _Place, owner: object = None
    ) -> _Ends:
        number = self.add(step if owner is None else owner, place, **_leaf_fields(step))
        return _Ends([number], [number])

    def add(self, source: object, place: _Place, **fields: Any) -> int:
        number = len(self.steps) + 1
        if number > MAX_STEPS:
            raise DefinitionError.one(
                f"the workflow has more than {MAX_STEPS:,} steps; the limit is {MAX_STEPS:,}", field="steps"
            )
        # A step may read only earlier steps, and their numbers are already known.
        fields["reads"] = reads_of(fields, self.numbers)
        fields["catches"] = catches_of(fields.get("test"), fields["reads"], self.numbers)
        self.numbers[fields["id"]] = number
        self.steps.append(
            GraphStep(
                no=number, scope=place.scope, branch=place.branch, group=self.group(place.limit), **fields
            )
        )
        self.sources.append(source)
        return number

    def group(self, limit: _Limit | None) -> int | None:
        if limit is None:
            return None
        if limit.group_no is None:
            limit.group_no = len(self.groups) + 1
            self.groups.append(Group(limit.group_no, limit.max_concurrency))
        return limit.group_no

    def join(self, exits: list[int], entries: list[int], branch: int | None, follower: object) -> None:
        if len(self.edges) + len(exits) * len(entries) > MAX_EDGES:
            raise DefinitionError.one(
                f"{len(exits):,} steps followed by {len(entries):,} steps make "
                f"{len(exits) * len(entries):,} dependencies; the limit of a workflow is {MAX_EDGES:,}: "
                "put one step between the two groups",
                field="steps",
                step_id=self.steps[entries[0] - 1].id,
                source=follower,
            )
        self.edges.extend(Edge(before, after, branch) for before in exits for after in entries)


def _deeper(place: _Place) -> _Place:
    return replace(place, depth=place.depth + 1)


def _leaf_fields(step: Operation | Human | Wait | SubWorkflow) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": step.id,
        "mandatory": step.mandatory,
        "title": step.title,
        "milestone": step.milestone,
        "deadline": seconds_of(step.deadline),
    }
    match step:
        case Operation():
            fields |= {
                "kind": "operation",
                "operation": step.name,
                "retry": None if step.retry is None else _retry_json(step.retry),
                "timeout_seconds": seconds_of(step.timeout),
                "executor": step.executor,
            }
        case Human():
            fields |= {
                "kind": "human",
                "role": step.role,
                "assignee": step.assignee,
                "form": step.form,
                "deadline_from": step.deadline_from,
                "due_at": step.due_at,
                "calendar": step.calendar,
                "postcondition": step.postcondition,
                "tasks": step.tasks or None,
                "escalation": step.escalation or None,
                "content": step.content,
            }
        case Wait():
            fields |= {"kind": "wait", "event": step.event, "timeout_seconds": seconds_of(step.timeout)}
            return fields
        case SubWorkflow():
            fields |= {
                "kind": "subworkflow",
                "workflow": step.workflow,
                "timeout_seconds": seconds_of(step.timeout),
            }
    return fields | {"inputs": dict(step.inputs) or None, "priority": step.priority}


def _retry_json(retry: Retry) -> dict[str, Any]:
    found: dict[str, Any] = {
        "max_attempts": retry.max_attempts,
        "initial_seconds": seconds_of(retry.initial),
        "max_seconds": seconds_of(retry.max),
        "multiplier": retry.multiplier,
    }
    if retry.delays:
        found["delays_seconds"] = [seconds_of(delay) for delay in retry.delays]
    return found | {"non_retryable": list(retry.non_retryable)} if retry.non_retryable else found
