"""Check a whole graph: ids, references, limits, recursion. Returns every problem it finds.

`freeze` is the main function of define: it receives a Workflow and returns a checked Graph, or raises one
DefinitionError with all problems.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stepwell.define.expression import ExpressionError, Reading, read_expression
from stepwell.define.flatten import flatten
from stepwell.define.graph import Graph, GraphStep
from stepwell.define.limits import MAX_NESTING, MAX_PROBLEMS
from stepwell.define.problem import DefinitionError, Problem, did_you_mean, quoted
from stepwell.define.template import Workflow

__all__ = ["check_graph", "freeze"]


def freeze(
    workflow: Workflow,
    *,
    operations: Collection[str] | None = None,
    workflows: Mapping[str, Collection[str]] | None = None,
) -> Graph:
    """The checked graph of a workflow.

    `operations` are the registered operations; `workflows` maps each known workflow to the workflows that it
    calls. What is not given is not checked.
    """
    flat = flatten(workflow)
    problems = list(flat.problems)
    problems += check_graph(flat.graph, operations=operations, workflows=workflows, sources=flat.sources)
    if problems:
        raise DefinitionError(problems[:MAX_PROBLEMS])
    return flat.graph


def check_graph(
    graph: Graph,
    *,
    operations: Collection[str] | None = None,
    workflows: Mapping[str, Collection[str]] | None = None,
    sources: Sequence[object] = (),
    unread: Collection[str] = (),
) -> list[Problem]:
    """Every problem of a graph, in the order of its steps. `sources`: the template object of each step.

    `unread` are possible ids of steps that could not be read; a reference to one of them is no problem.
    """
    checking = _Checking(graph, sources, unread)
    problems = list(checking.structure())
    if problems:
        # In a wrong structure the checks of references would only repeat the same problems.
        return [*checking.duplicates(), *problems]
    problems += checking.duplicates()
    problems += checking.milestones()
    problems += checking.expressions()
    if operations is not None:
        problems += checking.operations(operations)
    problems += checking.recursion(workflows or {})
    return problems


@dataclass(frozen=True)
class _Checking:
    graph: Graph
    sources: Sequence[object]
    unread: Collection[str]

    def problem(self, step: GraphStep, field: str | None, message: str) -> Problem:
        source = self.sources[step.no - 1] if self.sources else None
        return Problem(message, step_id=step.id, field=field, source=source)

    def duplicates(self) -> Iterator[Problem]:
        seen: set[str] = set()
        for step in self.graph.steps:
            if step.id in seen:
                yield self.problem(step, "id", "the id is used twice; give one of the steps another id")
            seen.add(step.id)

    def milestones(self) -> Iterator[Problem]:
        """A run reaches a milestone once, so each has one step, and none is in the body of a map."""
        seen: dict[str, str] = {}
        for step in self.graph.steps:
            if step.milestone is None:
                continue
            if step.scope:
                owner = self.graph.step(step.scope)
                message = f"is in the body of {quoted(owner.id)}, which runs once for each item; accepted: on"
                yield self.problem(step, "milestone", f"{message} the map itself")
            elif step.milestone in seen:
                message = (
                    f"{quoted(step.milestone)} is already the milestone of {quoted(seen[step.milestone])}"
                )
                yield self.problem(step, "milestone", message)
            else:
                seen[step.milestone] = step.id

    def structure(self) -> Iterator[Problem]:
        """Problems that only a graph from JSON can have; a graph made from a template is correct here."""
        yield from self.step_places()
        broken_branches = list(self.branch_places())
        yield from broken_branches
        if not broken_branches:
            yield from self.branch_entries()
        seen: set[tuple[int, int]] = set()
        for edge in self.graph.edges:
            before, after = self.graph.step(edge.from_no), self.graph.step(edge.to_no)
            if (edge.from_no, edge.to_no) in seen:
                yield self.problem(after, "edges", f"waits for {quoted(before.id)} twice")
            seen.add((edge.from_no, edge.to_no))
            if edge.from_no >= edge.to_no:
                message = f"waits for {quoted(before.id)}, which has a higher number; accepted: from < to"
                yield self.problem(after, "edges", message)
            if before.scope != after.scope:
                yield self.problem(
                    after, "edges", f"waits for {quoted(before.id)}, which is in another scope (Map body)"
                )
            if edge.branch is not None and self.conditional_of(edge.branch) != edge.from_no:
                yield self.problem(
                    after, "edges", f"branch {edge.branch} does not belong to {quoted(before.id)}"
                )

    def step_places(self) -> Iterator[Problem]:
        depth = {0: 0}
        last_scope = 0
        finished: set[int] = set()
        for step in self.graph.steps:
            if step.scope != last_scope:
                finished.add(last_scope)
                last_scope = step.scope
            if step.scope in finished:
                yield self.problem(step, "scope", "the steps of a scope are not numbered one after the other")
            elif step.scope not in depth:
                yield self.problem(step, "scope", f"{step.scope} is not 0 and not a map with a lower number")
                continue
            if step.kind == "map":
                depth[step.no] = depth[step.scope] + 1
                if depth[step.no] > MAX_NESTING:
                    yield self.problem(step, "scope", f"is nested more than {MAX_NESTING} levels deep")
            if step.branch is not None and not 1 <= step.branch <= len(self.graph.branches):
                yield self.problem(step, "branch", f"there is no branch {step.branch}")
            if step.group is not None and not 1 <= step.group <= len(self.graph.groups):
                yield self.problem(step, "group", f"there is no group {step.group}")
        for step in self.graph.steps:
            if step.kind == "map" and step.no not in self.graph.scopes:
                yield self.problem(
                    step, "over", "the map has no body; accepted: at least one step in its scope"
                )

    def branch_places(self) -> Iterator[Problem]:
        labels: set[tuple[int, bool]] = set()
        for branch in self.graph.branches:
            field = f"branches[{branch.no - 1}]"
            if not 1 <= branch.conditional <= len(self.graph.steps):
                yield Problem(f"there is no step {branch.conditional}", field=f"{field}.conditional")
                continue
            conditional = self.graph.step(branch.conditional)
            if conditional.kind != "conditional":
                yield self.problem(
                    conditional, field, "a branch belongs to a conditional; this step is not one"
                )
            if branch.parent != conditional.branch or (branch.parent or 0) >= branch.no:
                yield self.problem(conditional, f"{field}.parent", "is not the branch of its conditional")
            way = (branch.conditional, branch.negated)
            if way in labels or branch.negated != (branch.label == "otherwise"):
                yield self.problem(
                    conditional, field, 'accepted: one "then", and one "otherwise" that is negated'
                )
            labels.add(way)
        for step in self.graph.steps:
            conditional_no = self.conditional_of(step.branch)
            if conditional_no and self.graph.step(conditional_no).scope != step.scope:
                yield self.problem(step, "branch", "belongs to a conditional of another scope")

    def branch_entries(self) -> Iterator[Problem]:
        """A step of a branch must wait for its conditional; otherwise it could run before it is skipped."""
        inside: dict[int | None, frozenset[int]] = {None: frozenset()}
        for branch in self.graph.branches:  # a parent has a lower number
            inside[branch.no] = inside[branch.parent] | {branch.no}
            if len(inside[branch.no]) > MAX_NESTING:
                conditional = self.graph.step(branch.conditional)
                yield self.problem(conditional, "branch", f"is nested more than {MAX_NESTING} levels deep")
                return
        entered: set[int] = set()
        for edge in self.graph.edges:
            before, after = self.graph.step(edge.from_no), self.graph.step(edge.to_no)
            if edge.branch is not None and edge.branch != after.branch:
                yield self.problem(
                    after, "edges", f"is not in the branch that the edge from {quoted(before.id)} opens"
                )
            if after.branch is None or after.branch in inside[before.branch] or edge.branch == after.branch:
                entered.add(after.no)
            else:
                message = f"waits for {quoted(before.id)}, past the conditional of its branch"
                yield self.problem(after, "edges", message)
        for step in self.graph.steps:
            if step.branch is not None and step.no not in entered:
                yield self.problem(step, "branch", "does not wait for the conditional of its branch")

    def conditional_of(self, branch: int | None) -> int | None:
        if branch is None or not 1 <= branch <= len(self.graph.branches):
            return None
        conditional = self.graph.branches[branch - 1].conditional
        return conditional if 1 <= conditional <= len(self.graph.steps) else None

    def expressions(self) -> Iterator[Problem]:
        readings: list[tuple[GraphStep, str, Reading]] = []
        for step in self.graph.steps:
            for field, text in step.expressions():
                try:
                    reading = read_expression(text)
                except ExpressionError as error:
                    yield self.problem(step, field, f"{error} (in {quoted(text)})")
                    continue
                if reading.reads_item and step.scope == 0:
                    yield self.problem(step, field, "$.item and $.index exist only inside the body of a Map")
                readings.append((step, field, reading))
            if step.test is not None and not isinstance(step.test, str):
                readings.append((step, "test", Reading((step.test["step"],))))
        numbers = {step.id: step.no for step in self.graph.steps}
        pairs = [
            (step.no, numbers[id]) for step, _, reading in readings for id in reading.steps if id in numbers
        ]
        refused = _not_before(self.graph, pairs)
        for step, field, reading in readings:
            for step_id in reading.steps:
                if step_id not in numbers and step_id in self.unread:
                    continue
                if step_id not in numbers:
                    yield self.problem(step, field, self.unknown(step_id))
                elif (step.no, numbers[step_id]) in refused:
                    yield self.problem(step, field, self.unreadable(step, self.graph.step(numbers[step_id])))

    def unknown(self, step_id: str) -> str:
        longer = [id for id in self.graph.by_id if id.startswith((f"{step_id}.", f"{step_id}-"))]
        if longer:
            return f'reads step {quoted(step_id)}, which does not exist; did you mean $.steps."{longer[0]}"?'
        return f"reads step {quoted(step_id)}, which does not exist{did_you_mean(step_id, self.graph.by_id)}"

    def unreadable(self, step: GraphStep, target: GraphStep) -> str:
        if target.no == step.no:
            return "reads its own step, which has not run yet"
        if target.scope not in self.enclosing(step):
            owner = self.graph.step(target.scope)
            return (
                f"reads step {quoted(target.id)}, which runs once for each item of {quoted(owner.id)}; "
                f"read the list of results of {quoted(owner.id)} instead"
            )
        return (
            f"reads step {quoted(target.id)}, which may not have ended yet; an expression may read "
            "the input and the steps that always end before this one"
        )

    def enclosing(self, step: GraphStep) -> set[int]:
        scopes = {0, step.scope}
        scope = step.scope
        while scope:
            scope = self.graph.step(scope).scope
            scopes.add(scope)
        return scopes

    def operations(self, known: Collection[str]) -> Iterator[Problem]:
        for step in self.graph.steps:
            name = step.operation
            if name is not None and name not in known and name not in self.graph.callables:
                yield self.problem(
                    step, "operation", f"{quoted(name)} is not registered{did_you_mean(name, known)}"
                )

    def recursion(self, workflows: Mapping[str, Collection[str]]) -> Iterator[Problem]:
        """Refuse a workflow that calls itself, directly or through other workflows: it would never end."""
        name = self.graph.name
        paths: dict[str, list[str] | None] = {}
        for step in self.graph.steps:
            callee = step.workflow
            if callee is None:
                continue
            if callee not in paths:
                paths[callee] = _call_path(workflows, callee, name)
            path = paths[callee]
            if path is not None:
                circle = " → ".join([name, *path])
                yield self.problem(step, "workflow", f"the workflow would call itself without end: {circle}")


def _call_path(workflows: Mapping[str, Collection[str]], start: str, goal: str) -> list[str] | None:
    """The shortest chain of calls from one workflow to another; None if there is none."""
    came_from: dict[str, str | None] = {start: None}
    pending = deque([start])
    while pending:
        at = pending.popleft()
        if at == goal:
            path = [at]
            while (before := came_from[path[-1]]) is not None:
                path.append(before)
            return path[::-1]
        for callee in sorted(workflows.get(at, ())):
            if callee not in came_from:
                came_from[callee] = at
                pending.append(callee)
    return None


def _not_before(graph: Graph, pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """The (reader, read) pairs where the read step may not have ended when the reader starts.

    One bit for each read step is passed along the edges, and freed when the last successor has it. So a graph
    of 50,000 steps needs memory only for its widest part.
    """
    wanted: dict[int, list[int]] = {}
    for reader, read in pairs:
        wanted.setdefault(reader, []).append(read)
    bit = {no: 1 << at for at, no in enumerate(sorted({no for read in wanted.values() for no in read}))}
    refused: set[tuple[int, int]] = set()
    at_map: dict[int, int] = {}
    carried: dict[int, int] = {}
    waiting = {no: len(after) for no, after in graph.successors.items()}
    for step in graph.steps if wanted else ():
        bits = at_map[step.scope] if step.scope else 0
        for before in graph.predecessors[step.no]:
            bits |= carried[before] | bit.get(before, 0)
            waiting[before] -= 1
            if not waiting[before]:
                del carried[before]
        if waiting[step.no]:
            carried[step.no] = bits
        if step.kind == "map":
            at_map[step.no] = bits
        refused.update((step.no, read) for read in wanted.get(step.no, ()) if not bits & bit[read])
    return refused
