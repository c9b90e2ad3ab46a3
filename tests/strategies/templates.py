"""Random workflows that `define` accepts: every kind of step, nested, expressions that read only ancestors.

The differential test of the two engines uses `workflows()`. Step ids are `s1`, `s2` … and `m3` for maps (`s`
is `shape.letter`); each operation has the name of its id, so that it can get an outcome by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from stepwell.define import (
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
)

STATUSES = ("completed", "failed", "aborted", "skipped")


@dataclass(frozen=True)
class Shape:
    """What a drawn workflow may contain. `leaves` are kinds: operation, human, wait, subworkflow."""

    max_depth: int = 5
    max_nodes: int = 60
    # How many more steps are allowed to finish an error boundary that was begun within the limit.
    surplus_nodes: int = 0
    leaves: tuple[str, ...] = ("operation", "human", "wait", "subworkflow")
    containers: tuple[str, ...] = ("sequential", "parallel", "conditional", "map", "boundary")
    details: bool = True
    letter: str = "s"


@dataclass
class _Drawing:
    draw: DrawFn
    shape: Shape
    node_count: int = 0

    @property
    def has_room(self) -> bool:
        # A Conditional or a Map is a step itself, before its first inner step.
        return self.node_count + 2 <= self.shape.max_nodes

    def next_id(self) -> str:
        self.node_count += 1
        return f"{self.shape.letter}{self.node_count}"


@dataclass(frozen=True)
class _Place:
    """The place of a drawn step: which steps it may read, and whether it is inside a map."""

    readable: tuple[str, ...] = ()
    in_map: bool = False
    depth: int = 0

    def after(self, ids: tuple[str, ...]) -> _Place:
        return replace(self, readable=self.readable + ids)

    @property
    def inner(self) -> _Place:
        return replace(self, depth=self.depth + 1)


# A drawn step and the ids that the following steps may read.
Drawn = tuple[Step, tuple[str, ...]]


@st.composite
def workflows(draw: DrawFn, shape: Shape = Shape()) -> Workflow:  # noqa: B008 - frozen, never changed
    """A workflow of at most `shape.max_nodes` steps, nested at most `shape.max_depth` deep."""
    drawing = _Drawing(draw, shape)
    # Most random trees are very small, so every second one begins with a longer chain.
    if draw(st.booleans()):
        root, _ = _sequential(drawing, _Place().inner, longest=10)
    else:
        root, _ = _step(drawing, _Place())
    assume(drawing.node_count <= shape.max_nodes + shape.surplus_nodes)
    policy: Any = draw(st.sampled_from(["continue-running", "abort-dependents"]))
    title = draw(_titles()) if shape.details else None
    return Workflow("drawn.workflow", root, failure_policy=policy, title=title)


def _step(drawing: _Drawing, place: _Place) -> Drawn:
    kinds = [*drawing.shape.leaves]
    if place.depth < drawing.shape.max_depth and drawing.has_room:
        kinds = [*drawing.shape.containers, *kinds] if place.depth else [*drawing.shape.containers, kinds[0]]
    kind = drawing.draw(st.sampled_from(kinds))
    match kind:
        case "sequential":
            return _sequential(drawing, place.inner)
        case "parallel":
            return _parallel(drawing, place.inner)
        case "conditional":
            return _conditional(drawing, place.inner)
        case "map":
            return _map(drawing, place.inner)
        case "boundary":
            return _boundary(drawing, place.inner)
        case _:
            return _leaf(drawing, place, kind)


def _sequential(drawing: _Drawing, place: _Place, longest: int = 4) -> Drawn:
    steps: list[Step] = []
    ids: tuple[str, ...] = ()
    for _ in range(drawing.draw(st.integers(1, longest))):
        if steps and not drawing.has_room:
            break
        step, made = _step(drawing, place.after(ids))
        steps.append(step)
        ids += made
    return Sequential(*steps), ids


def _parallel(drawing: _Drawing, place: _Place, fewest: int = 1) -> Drawn:
    steps: list[Step] = []
    ids: tuple[str, ...] = ()
    for _ in range(drawing.draw(st.integers(fewest, 4))):
        if len(steps) >= fewest and not drawing.has_room:
            break
        step, made = _step(drawing, place)
        steps.append(step)
        ids += made
    limit = drawing.draw(st.none() | st.integers(1, 3))
    return Parallel(*steps, max_concurrency=limit), ids


def _conditional(drawing: _Drawing, place: _Place) -> Drawn:
    drawing.node_count += 1
    test = drawing.draw(_tests(place))
    parts = drawing.draw(st.sampled_from(["then", "otherwise", "both"]))
    then = otherwise = None
    ids: tuple[str, ...] = ()
    if parts != "otherwise":
        then, ids = _step(drawing, place)
    if then is None or (parts == "both" and drawing.has_room):
        otherwise, made = _step(drawing, place)
        ids += made
    return Conditional(test, then=then, otherwise=otherwise), ids


def _boundary(drawing: _Drawing, place: _Place) -> Drawn:
    """A Conditional that can catch several failures: the step it reads has parallel predecessors, and another
    step may run in parallel to it, so that each of them can be the last to end.
    """
    before, ids = _parallel(drawing, place, fewest=2)
    joined, made = _leaf(drawing, place.after(ids), "operation")
    step, ids = Sequential(before, joined), ids + made
    if drawing.has_room and drawing.draw(st.booleans()):
        parallel, others = _leaf(drawing, place, "operation")
        step, ids = Sequential(Parallel(step, parallel)), others + ids
    then, inner = _conditional(drawing, place.after(ids))
    return Sequential(step, then), ids + inner


def _map(drawing: _Drawing, place: _Place) -> Drawn:
    drawing.node_count += 1
    map_id = f"m{drawing.node_count}"
    sources = ["$.input.items", *(f"$.steps.{id}.output.items" for id in place.readable[-3:])]
    if place.in_map:
        sources.append("$.item.items")
    over = drawing.draw(st.sampled_from(sources))
    body, _ = _step(drawing, replace(place, in_map=True))
    step = Map(over, body, id=map_id, max_concurrency=drawing.draw(st.none() | st.integers(1, 3)))
    return step, (map_id,)


def _leaf(drawing: _Drawing, place: _Place, kind: str) -> Drawn:
    step_id = drawing.next_id()
    draw = drawing.draw
    details: dict[str, Any] = {}
    if drawing.shape.details:
        details = {"mandatory": draw(st.booleans()), "title": draw(_titles())}
    match kind:
        case "human":
            form = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
            step: Step = Human(
                step_id,
                role="clerk",
                deadline=draw(_durations()),
                form=draw(st.sampled_from([None, form])),
                **details,
            )
        case "wait":
            step = Wait(f"event.{step_id}", id=step_id, timeout=draw(_durations()), **details)
        case "subworkflow":
            limit = draw(st.sampled_from([None, None, "4h"]))
            inputs = draw(_inputs(place))
            step = SubWorkflow(f"workflow.{step_id}", id=step_id, inputs=inputs, timeout=limit, **details)
        case _:
            if drawing.shape.details:
                details |= {
                    "retry": draw(_retries()),
                    "timeout": draw(_durations()),
                    "priority": draw(st.integers(-5, 5)),
                    "executor": draw(st.sampled_from([None, "process"])),
                }
            step = Operation(step_id, inputs=draw(_inputs(place)), **details)
    return step, (step_id,)


def _tests(place: _Place) -> SearchStrategy[str]:
    choices: list[SearchStrategy[str]] = [st.sampled_from(["$.input.flag == true", "$.input.number > 3"])]
    if place.readable:
        # The step right before is drawn often: a test that reads it catches its failure.
        ids = st.sampled_from(place.readable[-4:]) | st.just(place.readable[-1])
        statuses = st.sampled_from(STATUSES)
        choices += [
            st.builds('$.steps.{}.status == "{}"'.format, ids, statuses),
            st.builds('!($.steps.{}.status == "{}")'.format, ids, statuses),
            st.builds("$.steps.{}.output.flag == true".format, ids),
            ids,  # a step id means that the step completed
            st.builds(
                '$.steps.{}.status == "{}" || $.steps.{}.status == "{}"'.format, ids, statuses, ids, statuses
            ),
        ]
    if place.in_map:
        choices.append(st.sampled_from(["$.index < 2", "$.item.flag == true"]))
    return st.one_of(choices)


def _inputs(place: _Place) -> SearchStrategy[dict[str, Any]]:
    values: list[SearchStrategy[Any]] = [
        st.just("$.input.number"),
        st.integers(-9, 9),
        st.booleans(),
        st.none(),
    ]
    if place.readable:
        values.append(st.builds("$.steps.{}.output".format, st.sampled_from(place.readable[-4:])))
    if place.in_map:
        values.append(st.sampled_from(["$.item", "$.index"]))
    return st.dictionaries(st.sampled_from(["a", "b", "c"]), st.one_of(values), max_size=2)


def _titles() -> SearchStrategy[str | None]:
    return st.none() | st.sampled_from(["Kiểm tra đơn hàng", "yes", "- 5: # not a comment", "null", "a: b"])


def _durations() -> SearchStrategy[Any]:
    return st.none() | st.sampled_from(["4h", "PT90S", "500ms", 90, 1.5])


def _retries() -> SearchStrategy[Retry | None]:
    made = st.builds(
        Retry,
        st.integers(1, 5),
        initial=st.sampled_from(["1s", "0s", 0.25]),
        max=st.sampled_from(["1m", "2h"]),
        multiplier=st.sampled_from([1, 2.0, 1.5]),
        non_retryable=st.sampled_from([(), ("ValueError",), (KeyError, "shop.OutOfStock")]),
    )
    return st.none() | made
