"""Examples in which the two engines once differed: each must end in the same states in both."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.define import (
    Conditional,
    FailurePolicy,
    Human,
    Map,
    Operation,
    Parallel,
    Sequential,
    Step,
    SubWorkflow,
    Wait,
    Workflow,
    freeze,
)
from stepwell.outcome import Completed, Dead, Waiting
from stepwell.reactive.script import NEVER, Raises
from tests.model.compare import differences, stored_statuses
from tests.model.postgres_side import PostgresSide
from tests.strategies.outcomes import Example, Fate

op = Operation


def example(
    root: Step,
    *,
    input: Any = None,
    outcomes: dict[str, Any] | None = None,
    signals: dict[str, Any] | None = None,
    policy: FailurePolicy = "continue-running",
    workflows: dict[str, Step] | None = None,
    **more: Any,
) -> Example:
    others = {name: freeze(Workflow(name, step)) for name, step in (workflows or {}).items()}
    graph = freeze(Workflow("kept", root, failure_policy=policy))
    return Example(graph, Fate(input or {}, outcomes or {}, signals or {}, 7, **more), others)


ITEMS = {"items": [1, 2, 3]}
OPTIONAL = op("a", mandatory=False)
NEVER_ENDS = Sequential(op("t1"), op("t2"))
IN_A_CLOSED_BRANCH = Conditional(
    "a", Sequential(op("x"), Conditional("x", op("y"), op("z"), id="inner")), id="outer"
)
KEPT = {
    "nothing runs in a branch that never opened": example(
        Sequential(Parallel(op("a"), op("b")), IN_A_CLOSED_BRANCH), outcomes={"b": Dead("no")}
    ),
    "a test that reads only an output catches nothing": example(
        Sequential(op("a"), op("b"), Conditional("$.steps.b.output.ok == true", op("t"), op("e"))),
        outcomes={"a": Dead("no")},
    ),
    "a test about one of two steps catches only that one": example(
        Sequential(
            Parallel(op("a"), op("b")),
            Conditional('$.steps.a.status == "failed" || $.steps.b.output.ok == true', op("t"), op("e")),
        ),
        outcomes={"b": Dead("no")},
    ),
    "a branch of a conditional that cannot be decided never opens": example(
        Sequential(op("a"), Conditional("$.steps.a.output", IN_A_CLOSED_BRANCH.then, id="odd")),
        outcomes={"a": Completed("neither true nor false")},
    ),
    "a run without a chosen step ends while it starts": example(
        Conditional("$.input.flag == true", op("a")), input={"flag": False}
    ),
    "a run over an empty list ends while it starts": example(
        Map("$.input.items", op("a"), id="all"), input={"items": []}
    ),
    "a run whose first conditional cannot be decided fails while it starts": example(
        Sequential(Conditional("$.input.word", op("a")), op("b")), input={"word": "x"}
    ),
    "a sub-workflow that ends while it starts completes its step": example(
        Sequential(SubWorkflow("inner", id="sub"), op("z")),
        workflows={"inner": Conditional("$.input.flag == true", op("t1"))},
        input={"flag": False},
    ),
    "an aborted item cancels the run of its sub-workflow": example(
        Map("$.input.items", Parallel(op("a"), SubWorkflow("inner", id="sub")), id="all"),
        input=ITEMS,
        outcomes={"a": Completed(), "all[1].a": Dead("no")},
        workflows={"inner": NEVER_ENDS},
        policy="abort-dependents",
    ),
    "a cancelled step cancels the run of its sub-workflow": example(
        SubWorkflow("inner", id="sub"),
        outcomes={"t1": [Waiting("never"), Completed()]},
        signals={"never": None},
        workflows={"inner": NEVER_ENDS},
        abort_after=0,
    ),
    "a cancelled map cancels its items": example(
        Map("$.input.items", Sequential(op("a"), op("b")), id="all"), input=ITEMS, abort_after=1
    ),
    "a conditional is cancelled at once by a failure it does not read": example(
        Sequential(Parallel(Human("h", role="clerk"), op("a")), Conditional("$.input.flag == true", op("b"))),
        outcomes={"h": NEVER, "a": Dead("no")},
    ),
    "a failure is caught through the steps it cancelled": example(
        Sequential(op("a"), op("b"), Conditional("b", op("c"), op("d"))), outcomes={"a": Dead("no")}
    ),
    "a failure caught inside an item does not fail the map": example(
        Map("$.input.items", Sequential(op("a"), Conditional("a", op("b"), op("c"))), id="all"),
        input=ITEMS,
        outcomes={"a": Raises("TypeError")},
        policy="abort-dependents",
    ),
    "several failures before one cancelled step are caught in any order": example(
        Sequential(
            Parallel(Sequential(Parallel(op("a"), op("b"), op("c")), op("x")), op("y")),
            Conditional("x", op("d"), op("e")),
        ),
        outcomes={"a": Dead("no"), "c": Dead("no")},
    ),
    "a conditional does not read a step that still runs": example(
        Sequential(
            Parallel(op("a"), op("c")),
            op("x"),
            Conditional(
                '$.steps.a.status == "completed" && !($.steps.x.status == "completed")', op("d"), op("e")
            ),
        ),
        outcomes={"c": Dead("no")},
    ),
    "a sub-workflow that waits without an event ends with its step": example(
        Sequential(
            Parallel(SubWorkflow("inner", id="sub", timeout="1h"), op("a")), Conditional("sub", op("b"))
        ),
        outcomes={"t1": [Waiting("never"), Completed()]},
        signals={"never": None},
        workflows={"inner": NEVER_ENDS},
    ),
    "maps inside a map that fail at the same time end with their own failure": example(
        Map(
            "$.input.items",
            Map("$.input.items", Map("$.item.items", Wait("e", id="w"), id="in"), id="mid"),
            id="out",
        ),
        input={"items": [{"items": [3, 0]}, {"flag": False}]},
        signals={"e": {}},
        policy="abort-dependents",
    ),
    "a mandatory step behind a failed optional one fails the run": example(
        Sequential(OPTIONAL, op("b")), outcomes={"a": Dead("no")}
    ),
    "a mandatory step behind a failed optional one fails its map": example(
        Map("$.input.items", Sequential(OPTIONAL, op("b")), id="all"),
        input=ITEMS,
        outcomes={"a": Completed(), "all[1].a": Dead("no")},
        policy="abort-dependents",
    ),
    "a boundary catches a cancelled step and not the one beside it": example(
        Sequential(OPTIONAL, Parallel(op("c"), Sequential(op("b"), Conditional("b", op("t"), op("e"))))),
        outcomes={"a": Dead("no")},
    ),
    "of steps that can start together the one with the highest priority gets the slot": example(
        Sequential(
            Parallel(op("a", priority=-3), op("b", priority=2), max_concurrency=1),
            Parallel(Sequential(op("c", priority=1), op("d", priority=5)), op("e"), max_concurrency=1),
        ),
    ),
    "the freed slot of a map goes to its first item that can use it": example(
        Map("$.input.items", Sequential(op("a"), op("b")), id="all", max_concurrency=2), input=ITEMS
    ),
    "waiting items do not use the slots of their map": example(
        Map("$.input.items", Sequential(Wait("e", id="w"), op("a")), id="all", max_concurrency=1), input=ITEMS
    ),
}


@pytest.mark.requirement("RX-13")
@pytest.mark.parametrize("name", KEPT)
def test_both_engines_end_in_the_same_states(side: PostgresSide, name: str):
    assert differences(side, KEPT[name]) == {}
    assert side.broken_invariants() == []


@pytest.mark.requirement("JW-10")
def test_a_cancelled_step_cancels_the_run_of_its_sub_workflow(side: PostgresSide):
    driven = side.drive(side.named(KEPT["a cancelled step cancels the run of its sub-workflow"]))
    assert stored_statuses(driven)["run:sub/"] == "cancelled"
