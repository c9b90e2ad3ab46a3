"""A branch that opens only after a failure is found before the workflow runs."""

from __future__ import annotations

import pytest

from stepwell.define import Conditional, Operation, Parallel, Sequential
from stepwell.reactive.caught_branches import caught_branches
from tests.unit.reactive.calls import graph_of

op = Operation


@pytest.mark.requirement("RX-06")
@pytest.mark.parametrize(
    ("test", "label"),
    [
        ("a", "otherwise"),
        ('$.steps.a.status == "failed"', "then"),
        ('$.steps.a.status != "failed" && $.steps.b.status != "failed"', "otherwise"),
        ("exists($.steps.b.error.type)", "then"),
        ('$.steps.a.status == "failed" && $.input.force == true', "then"),
        ('!($.steps.a.status == "failed" && $.steps.b.output.ok == true)', "otherwise"),
        ("$.input.a == 1 && ($.input.b == 2 || $.steps.a.output.n > 3) && exists($.steps.b.error)", "then"),
    ],
)
def test_a_branch_that_opens_only_after_a_failure_is_named(test: str, label: str):
    graph = graph_of(Sequential(Parallel(op("a"), op("b")), Conditional(test, op("t"), op("e"))))
    found = caught_branches(graph)
    assert [(branch.conditional, branch.label) for branch in found] == [("if.t", label)]
    assert "fails; the failure is then caught" in str(found[0])


@pytest.mark.requirement("RX-06")
@pytest.mark.parametrize(
    "test",
    [
        "$.steps.a.output.ok == true",
        '$.steps.a.status == "skipped"',
        '$.steps.a.status == "failed" || $.steps.b.output.ok == true',
        '$.steps.a.status == "failed" || $.input.force == true',
        '!($.steps.a.status == "failed" || $.input.force == true)',
        '$.steps.a.status == "failed" && $.input.force == true || exists($.input.other)',
        '($.steps.a.status == "failed" && $.input.force == true) is unknown',
        "exists($.steps.a.status ? ($.input.force == true))",
        "$.steps.a.status == $.input.word",
    ],
)
def test_other_branches_are_not_named(test: str):
    graph = graph_of(Sequential(Parallel(op("a"), op("b")), Conditional(test, op("t"), op("e"))))
    assert caught_branches(graph) == []
