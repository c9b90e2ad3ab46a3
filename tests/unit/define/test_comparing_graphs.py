"""A difference of two graphs names steps and edges by id, not by number."""

from __future__ import annotations

import json

from stepwell.define import (
    Conditional,
    Diff,
    Map,
    Operation,
    Parallel,
    Sequential,
    Step,
    Workflow,
    diff_graphs,
    freeze,
)

a, b, c, d = (Operation(name) for name in "abcd")


def diff(before: Step, after: Step) -> Diff:
    return diff_graphs(freeze(Workflow("w", before)), freeze(Workflow("w", after)))


def test_a_new_first_step_adds_one_step_and_one_edge():
    found = diff(Sequential(b, c), Sequential(a, b, c))
    assert found.to_json() == {
        "workflow": {},
        "steps": {"added": ["a"], "removed": [], "changed": {}},
        "edges": {"added": [{"from": "a", "to": "b"}], "removed": [], "changed": []},
    }


def test_changed_fields_are_shown_before_and_after():
    changed = Operation("b", timeout="1m", priority=3)
    found = diff(Sequential(a, Operation("b", timeout="30s")), Sequential(a, changed))
    assert found.to_json()["steps"]["changed"] == {
        "b": {"timeout_seconds": {"before": 30, "after": 60}, "priority": {"before": None, "after": 3}}
    }


def test_a_step_that_moves_into_a_branch_is_changed_and_so_is_its_edge():
    test = "$.input.x == 1"
    found = diff(
        Sequential(Conditional(test, then=a, otherwise=b, id="d1"), c),
        Sequential(Conditional(test, then=b, otherwise=a, id="d1"), c),
    )
    assert found.to_json()["steps"]["changed"]["a"] == {
        "branch": {"before": "d1/then", "after": "d1/otherwise"}
    }
    assert {
        "from": "d1",
        "to": "a",
        "branch": {"before": "d1/then", "after": "d1/otherwise"},
    } in found.to_json()["edges"]["changed"]


def test_a_step_that_moves_into_a_map_names_the_map():
    found = diff(Sequential(a, Map("$.input.l", b, id="m")), Map("$.input.l", Sequential(b, a), id="m"))
    assert found.steps_changed["a"]["scope"].after == "m"
    assert found.edges_removed[0].to_json() == {"from": "a", "to": "m"}


def test_only_a_changed_limit_is_shown():
    before = Parallel(a, b, max_concurrency=1)
    assert diff(before, Sequential(Parallel(c, max_concurrency=3), before)).steps_changed == {}
    changed = diff(before, Parallel(a, b, max_concurrency=2)).to_json()["steps"]["changed"]
    assert changed["a"]["group"]["before"] == {"max_concurrency": 1, "with": "a"}
    assert changed["a"]["group"]["after"] == {"max_concurrency": 2, "with": "a"}


def test_the_workflow_itself_can_change():
    before = freeze(Workflow("w", a))
    after = freeze(Workflow("w", a, failure_policy="abort-dependents", title="W"))
    found = diff_graphs(before, after)
    assert set(found.workflow_changed) == {"title", "failure_policy"}
    assert not found.is_empty
    json.dumps(found.to_json())
