"""The frozen graph that is published: steps, edges, branches, groups, canonical bytes.

Steps are numbered from 1 in topological order: first scope 0, then the body of each map, with consecutive
numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final, Literal, get_args

from stepwell.define.expression import ExpressionError, read_expression

__all__ = [
    "FORMAT",
    "Branch",
    "Edge",
    "Graph",
    "GraphStep",
    "Group",
    "Kind",
    "catches_of",
    "find_cycle",
    "reads_of",
]

FORMAT: Final = 2

Kind = Literal["operation", "human", "wait", "subworkflow", "conditional", "map"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStep:
    """One step. A field that does not belong to its kind has its default value."""

    no: int
    id: str
    kind: Kind
    scope: int = 0
    branch: int | None = None
    group: int | None = None
    mandatory: bool = True
    priority: int = 0
    title: str | None = None
    milestone: str | None = None
    inputs: Mapping[str, str] | None = None
    operation: str | None = None
    retry: Mapping[str, Any] | None = None
    timeout_seconds: int | float | None = None
    executor: str | None = None
    role: str | None = None
    assignee: str | None = None
    form: Mapping[str, Any] | None = None
    deadline: int | float | None = None
    deadline_from: str | None = None
    due_at: str | None = None
    calendar: str | None = None
    postcondition: str | None = None
    tasks: tuple[Mapping[str, Any], ...] | None = None
    escalation: tuple[Mapping[str, Any], ...] | None = None
    content: str | None = None
    event: str | None = None
    workflow: str | None = None
    test: str | Mapping[str, str] | None = None
    # The steps that its expressions read; None if it has no expression.
    reads: tuple[int, ...] | None = None
    # For a conditional: the steps whose failure it catches; None: all steps that it reads.
    catches: tuple[int, ...] | None = None
    over: str | None = None
    max_concurrency: int | None = None
    # Only in templates of job graphs: the database makes these graphs.
    join: str | None = None
    delay_seconds: int | float | None = None
    source_ref: str | None = None
    target_ref: str | None = None
    payload_ref: str | None = None

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"no": self.no, "id": self.id, "kind": self.kind}
        for name, default in _STEP_DEFAULTS:
            value = getattr(self, name)
            if value != default:
                found[name] = list(value) if isinstance(value, tuple) else value
        return found

    def caught(self) -> tuple[int, ...]:
        """The numbers of the steps whose failure this step catches; only a conditional catches."""
        if self.kind != "conditional":
            return ()
        return (self.reads or ()) if self.catches is None else self.catches

    def expressions(self) -> list[tuple[str, str]]:
        """Every (field, path text) of the step. A step id as a test is not a path and is left out."""
        found = [(f"inputs.{name}", text) for name, text in (self.inputs or {}).items()]
        if isinstance(self.test, str):
            found.append(("test", self.test))
        if self.over is not None:
            found.append(("over", self.over))
        return found


_STEP_DEFAULTS: Final = tuple(
    (f.name, f.default) for f in fields(GraphStep) if f.name not in ("no", "id", "kind")
)


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """`to_no` waits for `from_no`. An edge from a conditional has the branch that it opens."""

    from_no: int
    to_no: int
    branch: int | None = None

    def to_json(self) -> dict[str, Any]:
        found = {"from": self.from_no, "to": self.to_no}
        return found if self.branch is None else {**found, "branch": self.branch}


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of a conditional; `parent` is the branch that contains the conditional itself."""

    no: int
    conditional: int
    label: Literal["then", "otherwise"]
    negated: bool = False
    parent: int | None = None

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"no": self.no, "conditional": self.conditional, "label": self.label}
        found["negated"] = self.negated
        if self.parent is not None:
            found["parent"] = self.parent
        return found


@dataclass(frozen=True, slots=True)
class Group:
    """A concurrency limit that several steps share."""

    no: int
    max_concurrency: int

    def to_json(self) -> dict[str, Any]:
        return {"no": self.no, "max_concurrency": self.max_concurrency}


@dataclass(frozen=True)
class Graph:
    """A workflow as the database stores it. Equal content gives equal bytes."""

    name: str
    steps: tuple[GraphStep, ...]
    edges: tuple[Edge, ...]
    branches: tuple[Branch, ...] = ()
    groups: tuple[Group, ...] = ()
    failure_policy: str = "continue-running"
    workflow_class: str = "default"
    title: str | None = None
    input_schema: Mapping[str, Any] | None = None
    # Operation name → function that is used as a test or source; `publish` registers them as operations.
    callables: Mapping[str, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)

    def operations(self) -> set[str]:
        """The names of the operations that its steps call."""
        return {step.operation for step in self.steps if step.operation is not None}

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "format": FORMAT,
            "name": self.name,
            "failure_policy": self.failure_policy,
            "steps": [step.to_json() for step in self.steps],
            "edges": [edge.to_json() for edge in self.edges],
            "branches": [branch.to_json() for branch in self.branches],
            "groups": [group.to_json() for group in self.groups],
        }
        if self.workflow_class != "default":
            found["workflow_class"] = self.workflow_class
        if self.title is not None:
            found["title"] = self.title
        if self.input_schema is not None:
            found["input"] = dict(self.input_schema)
        return found

    @classmethod
    def from_json(cls, data: object) -> Graph:
        """Read a graph from JSON. Finds wrong fields and cycles; `check_graph` does the other checks."""
        from stepwell.define.graph_reader import read_graph

        return read_graph(data)

    @classmethod
    def from_stored(cls, data: object) -> Graph:
        """Read the graph of a published version. The database decided which names it accepts."""
        from stepwell.define.graph_reader import read_graph

        return read_graph(data, is_stored=True)

    @cached_property
    def canonical(self) -> bytes:
        """The bytes that are sent and stored: sorted keys, no spaces, UTF-8."""
        return json.dumps(
            self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        ).encode()

    @cached_property
    def by_id(self) -> Mapping[str, GraphStep]:
        return {step.id: step for step in self.steps}

    def step(self, no: int) -> GraphStep:
        return self.steps[no - 1]

    @cached_property
    def predecessors(self) -> Mapping[int, tuple[int, ...]]:
        """Number of a step → the numbers of the steps that it waits for, in order."""
        found: dict[int, list[int]] = {step.no: [] for step in self.steps}
        for edge in self.edges:
            found[edge.to_no].append(edge.from_no)
        return {no: tuple(before) for no, before in found.items()}

    @cached_property
    def successors(self) -> Mapping[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {step.no: [] for step in self.steps}
        for edge in self.edges:
            found[edge.from_no].append(edge.to_no)
        return {no: tuple(after) for no, after in found.items()}

    @cached_property
    def scopes(self) -> Mapping[int, tuple[GraphStep, ...]]:
        """Scope → its steps: 0 is the run, any other number is the body of that map."""
        found: dict[int, list[GraphStep]] = {0: []}
        for step in self.steps:
            found.setdefault(step.scope, []).append(step)
        return {scope: tuple(steps) for scope, steps in found.items()}

    def exits(self, scope: int = 0) -> tuple[GraphStep, ...]:
        """The steps that no step waits for: their outputs are the result of the run or of one map item."""
        return tuple(step for step in self.scopes.get(scope, ()) if not self.successors[step.no])

    def branch_steps(self, branch_no: int) -> tuple[GraphStep, ...]:
        """Every step in a branch and its nested branches: these are skipped if the branch is not taken."""
        inside = {branch_no}
        for branch in self.branches:  # parents come before their children
            if branch.parent in inside:
                inside.add(branch.no)
        return tuple(step for step in self.steps if step.branch in inside)


def reads_of(fields: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[int, ...] | None:
    """The numbers of the steps that inputs, test and over read; unknown ids are ignored here."""
    inputs, test, over = fields.get("inputs"), fields.get("test"), fields.get("over")
    if not inputs and test is None and over is None:
        return None
    ids = [] if test is None or isinstance(test, str) else [test["step"]]
    for text in (*(inputs or {}).values(), test, over):
        if isinstance(text, str):
            with suppress(ExpressionError):
                ids += read_expression(text).steps
    return tuple(sorted({numbers[id] for id in ids if id in numbers}))


def catches_of(
    test: object, reads: tuple[int, ...] | None, numbers: Mapping[str, int]
) -> tuple[int, ...] | None:
    """The steps whose failure a test catches: those whose `.status` or `.error` it reads. None if these are
    all steps that it reads, as for a step id as a test."""
    if not isinstance(test, str):
        return None
    judged: tuple[str, ...] = ()
    with suppress(ExpressionError):
        judged = read_expression(test).judged
    found = tuple(sorted({numbers[id] for id in judged if id in numbers}))
    return None if found == (reads or ()) else found


def find_cycle(edges: Mapping[int, tuple[int, ...]] | Mapping[str, tuple[str, ...]]) -> list[Any] | None:
    """One cycle of a `from → to` mapping, as a path that ends where it began, or None. Not recursive."""
    done: set[Any] = set()
    after: Mapping[Any, tuple[Any, ...]] = edges
    for start in after:
        if start in done:
            continue
        path: list[Any] = [start]
        on_path = {start}
        pending = [iter(after.get(start, ()))]
        while pending:
            step = next(pending[-1], None)
            if step is None:
                pending.pop()
                left = path.pop()
                on_path.discard(left)
                done.add(left)
            elif step in on_path:
                return [*path[path.index(step) :], step]
            elif step not in done:
                path.append(step)
                on_path.add(step)
                pending.append(iter(after.get(step, ())))
    return None
