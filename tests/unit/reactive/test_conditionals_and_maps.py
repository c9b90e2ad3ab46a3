"""Data decides which branch is taken, which failure is caught, and which items a map has."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.define import Conditional, Map, Operation, Parallel, Sequential, Step
from stepwell.reactive import NodeStatus, Projection, RunStatus
from stepwell.reactive.rules import MAX_MAP_ITEMS
from tests.unit.reactive.calls import complete, fail, graph_of, requested, responded

S = NodeStatus
op = Operation


def run_of(root: Step, input: Any = None, policy: Any = "continue-running") -> Projection:
    return Projection(graph_of(root, policy), input=input)


def words(run: Projection) -> dict[str, str]:
    return {path: str(status) for path, status in run.statuses().items()}


@pytest.mark.requirement("RX-10")
@pytest.mark.parametrize(("flag", "taken", "skipped"), [(True, "b", "c"), (False, "c", "b")])
def test_a_conditional_takes_one_branch_and_skips_the_other(flag: bool, taken: str, skipped: str):
    run = run_of(Sequential(op("a"), Conditional("$.steps.a.output.flag == true", op("b"), op("c")), op("d")))
    complete(run, "a", output={"flag": flag})
    assert (run.get_status(taken), run.get_status(skipped)) == (S.READY, S.SKIPPED)
    assert run.get_result("if.b").output is flag
    assert run.get_result(skipped) is None
    complete(run, taken)
    assert run.get_status("d") is S.READY


@pytest.mark.requirement("RX-03")
def test_all_nodes_of_a_branch_are_skipped_and_the_next_node_is_ready():
    inner = Conditional("$.input.flag == true", op("b"), Sequential(op("c"), op("d")))
    run = run_of(Sequential(Conditional("$.input.no == 1", Sequential(op("a"), inner)), op("z")), {"no": 2})
    assert set(words(run).values()) == {"skipped", "completed", "ready"}
    assert [path for path, word in words(run).items() if word == "skipped"] == ["a", "if.b", "b", "c", "d"]
    assert run.get_status("z") is S.READY


@pytest.mark.requirement("RX-06")
def test_a_conditional_that_reads_a_failed_node_catches_the_failure():
    run = run_of(
        Sequential(
            op("fetch"),
            Conditional(
                '$.steps.fetch.status != "failed"', Sequential(op("transform"), op("store")), op("notify")
            ),
            op("after"),
        )
    )
    fail(run, "fetch")
    assert words(run) == {
        "fetch": "failed",
        "if.transform": "completed",
        "transform": "skipped",
        "store": "skipped",
        "notify": "ready",
        "after": "idle",
    }
    complete(run, "notify", "after")
    assert run.run_status is RunStatus.COMPLETED


@pytest.mark.requirement("RX-06")
def test_a_conditional_that_reads_another_node_catches_nothing():
    run = run_of(Sequential(op("a"), op("b"), Conditional("a", op("c")), op("d")))
    complete(run, "a")
    fail(run, "b")
    assert words(run) == {"a": "completed", "b": "failed", "if.c": "aborted", "c": "aborted", "d": "aborted"}
    assert run.run_status is RunStatus.FAILED


@pytest.mark.requirement("RX-06")
def test_a_failure_is_caught_through_the_nodes_it_aborted():
    run = run_of(Sequential(op("a"), op("b"), Conditional("b", op("c"), op("d"))))
    fail(run, "a")
    assert words(run) == {"a": "failed", "b": "aborted", "if.c": "completed", "c": "skipped", "d": "ready"}
    complete(run, "d")
    assert run.run_status is RunStatus.COMPLETED


@pytest.mark.requirement("RX-06")
def test_an_error_boundary_waits_for_all_nodes_before_it():
    run = run_of(Sequential(Parallel(op("a"), op("b")), Conditional("a", op("c"), op("d"))))
    fail(run, "a")
    assert run.get_status("if.c") is S.WAITING
    fail(run, "b")
    assert run.get_status("if.c") is S.ABORTED
    assert run.run_status is RunStatus.FAILED


@pytest.mark.requirement("RX-06")
@pytest.mark.parametrize("order", ["acy", "cay", "ayc", "yca"])
def test_an_error_boundary_catches_all_failures_in_every_order(order: str):
    before = Parallel(Sequential(Parallel(op("a"), op("c")), op("x")), op("y"))
    run = run_of(Sequential(before, Conditional("x", op("d"), op("e"))))
    for step in order:
        assert run.get_status("if.d") in (S.IDLE, S.WAITING)
        if step == "y":
            complete(run, step)
        else:
            fail(run, step)
    complete(run, "e")
    assert run.run_status is RunStatus.COMPLETED


@pytest.mark.requirement("RX-06")
def test_an_error_boundary_waits_again_when_the_failed_node_is_retried():
    run = run_of(Sequential(Parallel(op("a"), op("c")), op("x"), Conditional("x", op("d"), op("e"))))
    fail(run, "a")
    run.append(requested("a", 2))
    complete(run, "c")
    run.append(responded("a", attempt=2))
    complete(run, "x")
    assert (run.get_status("d"), run.get_status("e")) == (S.READY, S.SKIPPED)


@pytest.mark.requirement("RX-10")
@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("$.input.word", 'test: gives "no"; accepted: true or false'),
        ("$.input.missing", "test: gives nothing; accepted: true or false"),
        ("$.input.word > 3", "test: gives null; accepted: true or false"),
        ("$.input.word + 1 > 3", "test: gives null; accepted: true or false"),
    ],
)
def test_a_conditional_without_a_boolean_fails_for_good(test: str, message: str):
    run = run_of(Sequential(Conditional(test, op("a"), op("b")), op("c")), {"word": "no"})
    assert run.get_result("if.a").error == {"type": "ExpressionError", "message": message}
    assert words(run) == {"if.a": "failed", "a": "aborted", "b": "aborted", "c": "aborted"}
    assert run.run_status is RunStatus.FAILED


@pytest.mark.requirement("RX-10")
def test_a_map_runs_its_body_for_each_item_and_collects_results_in_order():
    run = run_of(
        Sequential(op("list"), Map("$.steps.list.output", Sequential(op("a"), op("b")), id="all"), op("z"))
    )
    complete(run, "list", output=[{"n": 1}, {"n": 2}])
    assert run.get_status("all") is S.RUNNING
    assert run.get_status("z") is S.WAITING
    complete(run, "all[1].a", "all[0].a")
    complete(run, "all[1].b", output="second")
    complete(run, "all[0].b", output="first")
    assert run.get_result("all").output == ["first", "second"]
    assert run.get_status("z") is S.READY


@pytest.mark.requirement("RX-10")
def test_an_empty_list_completes_at_once_and_a_skipped_map_has_no_items():
    run = run_of(Sequential(Map("$.input.items", op("a"), id="all"), op("z")), {"items": []})
    assert (run.get_status("all"), run.get_result("all").output) == (S.COMPLETED, [])
    run = run_of(Conditional("$.input.go == true", Map("$.input.items", op("a"), id="all")), {"items": [1]})
    assert words(run) == {"if.all": "completed", "all": "skipped"}


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("no list", "over: gives a value of type str; accepted: a list"),
        (None, "over: gives a value of type NoneType; accepted: a list"),
        ([0] * (MAX_MAP_ITEMS + 1), "over: gives 10,001 items; the limit is 10,000"),
    ],
)
def test_a_value_that_is_no_list_or_too_long_fails_the_map_for_good(items: Any, message: str):
    run = run_of(Sequential(Map("$.input.items", op("a"), id="all"), op("z")), {"items": items})
    assert run.get_result("all").error == {"type": "ExpressionError", "message": message}
    assert run.get_status("z") is S.ABORTED


@pytest.mark.requirement("RX-08")
def test_max_concurrency_of_a_map_limits_how_many_nodes_of_its_items_run():
    body = Sequential(op("a"), op("b"))
    run = run_of(Map("$.input.items", body, id="all", max_concurrency=2), {"items": [1, 2, 3]})
    assert list(run.ready) == ["all[0].a", "all[1].a"]
    complete(run, "all[0].a")
    assert list(run.ready) == ["all[1].a", "all[0].b"]
    complete(run, "all[1].a")
    assert list(run.ready) == ["all[0].b", "all[1].b"]


@pytest.mark.requirement("RX-05")
def test_a_failed_item_fails_the_map_after_the_others_have_settled():
    run = run_of(Map("$.input.items", Sequential(op("a"), op("b")), id="all"), {"items": [1, 2]})
    fail(run, "all[0].a")
    assert run.get_status("all[0].b") is S.ABORTED
    assert run.get_status("all") is S.RUNNING
    complete(run, "all[1].a", "all[1].b")
    assert run.get_result("all").error == {"type": "MapFailed", "message": "1 item of 2 failed"}
    assert run.run_status is RunStatus.FAILED


@pytest.mark.requirement("RX-05")
def test_abort_dependents_aborts_the_other_items_of_a_failed_map():
    run = run_of(Map("$.input.items", op("a"), id="all"), {"items": [1, 2]}, "abort-dependents")
    run.append(requested("all[1].a"))
    fail(run, "all[0].a")
    assert words(run) == {"all": "failed", "all[0].a": "failed", "all[1].a": "aborted"}
    run.append(responded("all[1].a"))
    assert run.get_status("all[1].a") is S.ABORTED


def test_a_caught_or_not_mandatory_failure_in_an_item_does_not_fail_the_map():
    body = Sequential(op("a"), Conditional("a", op("b"), op("c")))
    run = run_of(Map("$.input.items", body, id="all"), {"items": [1]})
    fail(run, "all[0].a")
    complete(run, "all[0].c", output=5)
    assert run.get_result("all").output == [{"b": None, "c": 5}]
    run = run_of(Map("$.input.items", op("a", mandatory=False), id="all"), {"items": [1]})
    fail(run, "all[0].a")
    assert run.get_result("all").output == [None]


def test_items_of_nested_maps_have_paths_and_read_their_own_item():
    inner = Map("$.item.parts", Sequential(op("a"), Conditional("$.index > 0", op("b"))), id="parts")
    run = run_of(Map("$.input.items", inner, id="all"), {"items": [{"parts": [1, 2]}]})
    complete(run, "all[0].parts[0].a", "all[0].parts[1].a")
    assert run.get_status("all[0].parts[0].b") is S.SKIPPED
    assert run.get_status("all[0].parts[1].b") is S.READY
    complete(run, "all[0].parts[1].b", output="done")
    assert run.get_result("all").output == [[None, "done"]]
    assert run.run_status is RunStatus.COMPLETED
