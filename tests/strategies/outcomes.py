"""Random inputs for a drawn workflow: its input, outcomes of every call, signals, cancellations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from stepwell.define import Graph, Workflow, freeze
from stepwell.define.graph import GraphStep
from stepwell.outcome import Completed, Dead, RetryLater, Waiting
from stepwell.reactive.script import NEVER, Outcome, Raises
from tests.strategies.templates import Shape, workflows

EXCEPTIONS = ("ValueError", "TypeError", "TimeoutError", "shop.OutOfStock", "KeyError", "PermissionError")


@dataclass(frozen=True)
class Fate:
    """Everything that decides how a run ends, with a seed for the order of events."""

    input: Any
    outcomes: Mapping[str, Sequence[Outcome]]
    signals: Mapping[str, Any]
    seed: int
    cancel_after: int | None = None
    abort_after: int | None = None
    # How often the dead steps of the failed run are replayed, and if one is cancelled before its call.
    replays: int = 0
    cancels_replayed: bool = False


@dataclass(frozen=True)
class Example:
    graph: Graph
    fate: Fate
    workflows: Mapping[str, Graph] = field(default_factory=dict)


def values() -> SearchStrategy[Any]:
    """Outputs, items and payloads for the drawn expressions: flags, numbers, lists of items."""
    plain = st.fixed_dictionaries(
        {},
        optional={
            "flag": st.sampled_from([True, False, True, False, None, "yes"]),
            "number": st.integers(0, 6),
            "items": st.lists(st.fixed_dictionaries({}, optional={"flag": st.booleans()}), max_size=3),
        },
    )
    return st.one_of(plain, plain, st.none(), st.lists(plain, max_size=3), st.integers(0, 9))


def inputs() -> SearchStrategy[Any]:
    item = st.fixed_dictionaries(
        {},
        optional={"flag": st.booleans(), "items": st.lists(st.integers(0, 3), max_size=2)},
    )
    usual = st.fixed_dictionaries(
        {"flag": st.booleans(), "number": st.integers(0, 6), "items": st.lists(item, max_size=4)}
    )
    return st.one_of(usual, usual, usual, st.just({}), st.just({"items": "no list", "flag": "no boolean"}))


def failures() -> SearchStrategy[Outcome]:
    return st.one_of(
        st.builds(Raises, st.sampled_from(EXCEPTIONS), st.just("it failed")),
        st.just(Dead("it is dead")),
        st.just(RetryLater(reason="not yet")),
    )


def endings(node: GraphStep) -> SearchStrategy[list[Outcome]]:
    """The outcomes of the calls of one step, one after the other; the last one repeats."""
    done = st.builds(Completed, values())
    if node.kind == "human":
        filled = st.builds(
            Completed, st.fixed_dictionaries({"ok": st.booleans()}, optional={"flag": st.booleans()})
        )
        return st.lists(st.one_of(filled, filled, filled, st.just(NEVER)), min_size=1, max_size=1)
    waiting = st.just(Waiting(f"event.of.{node.id}", timeout=60))
    begun = st.lists(st.one_of(failures(), waiting), max_size=2)
    last = st.one_of(done, done, done, failures())
    return st.builds(lambda before, end: [*before, end], begun, last) | st.builds(lambda end: [end], last)


@st.composite
def fates(draw: DrawFn, graphs: Sequence[Graph]) -> Fate:
    outcomes: dict[str, list[Outcome]] = {}
    signals: dict[str, Any] = {}
    for graph in graphs:
        for node in graph.steps:
            if node.kind in ("operation", "human"):
                outcomes[node.id] = draw(endings(node))
                signals[f"event.of.{node.id}"] = draw(st.sampled_from([{"flag": True}, {}, None]))
                if node.scope and node.kind == "operation":
                    # One item of a map has other outcomes than the rest.
                    owner = graph.step(node.scope).id
                    outcomes[f"{owner}[1].{node.id}"] = draw(endings(node))
            elif node.kind == "wait":
                signals[str(node.event)] = draw(st.sampled_from([{"flag": True}, {"items": [1]}, {}, None]))
    return Fate(
        draw(inputs()),
        outcomes,
        signals,
        draw(st.integers(0, 2**16)),
        draw(st.sampled_from([None, None, None, 0, 2, 5, 9])),
        draw(st.sampled_from([None, None, None, None, 1, 3])),
        draw(st.sampled_from([0, 1, 2])),
        draw(st.booleans()),
    )


@st.composite
def examples(draw: DrawFn, shape: Shape, prefix: str = "drawn") -> Example:
    """A workflow, the workflows of its sub-workflow steps, and random outcomes for all of them."""
    graph = freeze(draw(workflows(shape)))
    if any(node.kind == "subworkflow" and node.scope for node in graph.steps):
        # If an item fails while the sub-runs of other items start, one transaction decides how many have
        # started. The memory engine has no transactions, so this policy is not compared.
        graph = replace(graph, failure_policy="continue-running")
    inner = Shape(max_depth=2, max_nodes=6, leaves=("operation",), letter="t")
    named = sorted({str(node.workflow) for node in graph.steps if node.kind == "subworkflow"})
    others: dict[str, Graph] = {}
    for name in named:
        if draw(st.integers(0, 9)):  # sometimes the named workflow is not published
            root = draw(workflows(inner))
            others[name] = freeze(Workflow(name, root.root, failure_policy=root.failure_policy))
    return Example(graph, draw(fates([graph, *others.values()])), others)


@st.composite
def uncut_examples(draw: DrawFn, shape: Shape) -> Example:
    """Every call completes or dies at once and nothing is cancelled: only the order can change the end."""
    example = draw(examples(shape))
    endings = st.sampled_from([Completed({"flag": True}), Dead("it is dead")])
    outcomes = {name: [draw(endings)] for name in example.fate.outcomes}
    fate = replace(example.fate, outcomes=outcomes, cancel_after=None, abort_after=None, replays=0)
    return replace(example, fate=fate)


def reported(outcome: Outcome) -> tuple[str, Any]:
    """The outcome and the body that a worker reports for it."""
    match outcome:
        case Completed(value=value):
            return "completed", value
        case Waiting(event=event, timeout=timeout):
            return "waiting", {"event": event, "seconds": timeout}
        case RetryLater(reason=reason):
            return "retry", {"error": {"type": "RetryLater", "message": reason}}
        case Dead(reason=reason):
            return "dead", {"error": {"type": "Dead", "message": reason}}
        case Raises():
            return "failed", {"error": outcome.error}
        case _:
            raise TypeError(f"{outcome!r} is not reported")
