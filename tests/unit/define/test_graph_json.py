"""A graph in JSON is read strictly: nothing is guessed, and the error names each fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from stepwell.define import (
    Conditional,
    DefinitionError,
    Graph,
    Human,
    Map,
    Operation,
    Parallel,
    Retry,
    Sequential,
    Workflow,
    check_graph,
    freeze,
)

WORKFLOW = Workflow(
    "w",
    Sequential(
        Operation("a", retry=Retry(2), inputs={"x": "$.input.x"}),
        Parallel(Operation("b"), Human("c", role="r"), max_concurrency=1),
        Conditional("b", then=Operation("d"), otherwise=Operation("e")),
        Map("$.input.l", Operation("f"), id="m"),
    ),
)


def data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(freeze(WORKFLOW).canonical)
    return found


def test_null_means_absent_and_a_missing_list_means_empty():
    whole = data()
    whole["title"] = None
    whole["steps"][0]["group"] = None
    whole["branches"][0]["parent"] = None
    assert Graph.from_json(whole) == freeze(WORKFLOW)
    small = {"format": 2, "name": "w", "steps": [{"no": 1, "id": "a", "kind": "operation", "operation": "a"}]}
    assert Graph.from_json(small) == freeze(Workflow("w", Operation("a")))


def test_the_given_list_of_reads_is_ignored_and_computed_again():
    whole = data()
    whole["steps"][3]["reads"] = [1]
    assert Graph.from_json(whole) == freeze(WORKFLOW)


@pytest.mark.requirement("RU-06")
def test_a_cycle_is_refused_and_named():
    whole = data()
    whole["edges"].append({"from": 5, "to": 1})
    with pytest.raises(DefinitionError, match=r"wait for each other in a circle: a → b → if\.d → d → a"):
        Graph.from_json(whole)


def change(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Changes the value at one path, such as `steps.0.kind`. The value `...` removes the key."""

    def apply(whole: dict[str, Any]) -> None:
        at: Any = whole
        *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        for part in way:
            at = at[part]
        if value is ...:
            del at[last]
        else:
            at[last] = value

    return apply


SHAPES = [
    ("format", 3, "format: ", "accepted: 1 or 2"),
    ("name", ..., "graph.name: ", "is missing"),
    ("name", "a b", "name: ", "is not a valid name"),
    ("steps", {}, "steps: ", "accepted: a list"),
    ("steps", [], "steps: ", "at least one"),
    ("extra", 1, "graph: ", '"extra" is not known'),
    ("steps.0", 5, "steps[0]: ", "accepted: an object"),
    ("steps.0.kind", "task", "steps[0].kind: ", "accepted: operation, human"),
    ("steps.0.kind", ..., "steps[0].kind: ", "is missing"),
    ("steps.0.operation", ..., "steps[0].operation: ", "is missing"),
    ("steps.0.evnet", "x", "steps[0]: ", '"evnet" is not known'),
    ("steps.0.role", "x", "steps[0]: ", '"role" is not known'),
    ("steps.0.id", "", "steps[0].id: ", "is not a valid name"),
    ("steps.0.mandatory", 1, "steps[0].mandatory: ", "true or false"),
    ("steps.0.inputs", {"x": []}, "steps[0].inputs.x: ", "is not accepted"),
    ("steps.0.retry", {"max_attempts": 1}, "steps[0].retry.initial_seconds: ", "is missing"),
    ("steps.0.timeout_seconds", -1, "steps[0].timeout_seconds: ", "above zero"),
    ("steps.2.role", ..., "steps[2].role: ", "no person can do the step"),
    ("steps.3.test", {"stp": "a"}, "steps[3].test: ", '"stp" is not known (did you mean "step"?)'),
    ("steps.1.no", 1, "steps.no: ", "1, 2, 3"),
    ("edges.0.to", 99, "edges: ", "99 is not the number of a step"),
    ("edges.0.to", "2", "edges[0].to: ", "a whole number"),
    ("branches.0.label", "else", "branches[0].label: ", "accepted: then, otherwise"),
    ("groups.0.max_concurrency", 0, "groups[0].max_concurrency: ", "from 1"),
    ("failure_policy", "stop", "failure_policy: ", "abort-dependents"),
]


@pytest.mark.parametrize(("path", "value", "field", "message"), SHAPES)
def test_the_error_names_a_wrong_shape(path: str, value: object, field: str, message: str):
    whole = data()
    change(path, value)(whole)
    with pytest.raises(DefinitionError) as refused:
        Graph.from_json(whole)
    assert str(refused.value).startswith(field)
    assert message in str(refused.value)


@pytest.mark.parametrize("value", [None, [], "x", 5])
def test_only_an_object_is_a_graph(value: object):
    with pytest.raises(DefinitionError, match="accepted: an object"):
        Graph.from_json(value)


STRUCTURES = [
    ("steps.1.id", "a", "the id is used twice"),
    ("steps.1.branch", 9, "there is no branch 9"),
    ("steps.1.group", 9, "there is no group 9"),
    ("steps.7.scope", 2, "is not 0 and not a map"),
    ("steps.1.scope", 7, "is not 0 and not a map"),
    ("steps.7.scope", 0, "the map has no body"),
    ("edges.0", {"from": 3, "to": 8}, "which is in another scope"),
    ("edges.0", {"from": 2, "to": 4}, 'waits for "b" twice'),
    ("edges.0.branch", 1, 'branch 1 does not belong to "a"'),
    ("branches.0.conditional", 1, "a branch belongs to a conditional"),
    ("branches.0.conditional", 99, "there is no step 99"),
    ("branches.0.parent", 2, "is not the branch of its conditional"),
    ("branches.0.negated", True, 'accepted: one "then"'),
    ("steps.7.branch", 1, "a conditional of another scope"),
    ("steps.0.branch", 1, "does not wait for the conditional of its branch"),
    ("steps.1.branch", 1, 'waits for "a", past the conditional of its branch'),
    ("steps.4.branch", 2, "is not in the branch that the edge from"),
    ("steps.0.inputs.x", "$.steps.b.output", "may not have ended yet"),
    ("steps.0.inputs.x", "$.input.", "something is missing"),
]


@pytest.mark.parametrize(("path", "value", "message"), STRUCTURES)
def test_the_error_names_a_wrong_structure(path: str, value: object, message: str):
    whole = data()
    change(path, value)(whole)
    problems = check_graph(Graph.from_json(whole))
    assert any(message in str(problem) for problem in problems), problems


def test_an_edge_to_a_lower_number_is_refused():
    whole = data()
    whole["edges"][0] = {"from": 2, "to": 1}
    (problem,) = check_graph(Graph.from_json(whole))
    assert 'waits for "b", which has a higher number' in str(problem)
