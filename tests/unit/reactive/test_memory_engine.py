"""Runs in memory: scripted outcomes, retries, waits, human steps, sub-workflows, cancellation."""

from __future__ import annotations

import psycopg
import pytest

from stepwell.define import Conditional, Human, Map, Operation, Parallel, Retry, Sequential, SubWorkflow, Wait
from stepwell.errors import InvalidInput
from stepwell.outcome import Completed, Dead, RetryLater, Waiting
from stepwell.reactive import NEVER, Action, MemoryEngine, Raises, RunStatus, Script, read_outcomes
from stepwell.reactive.memory_engine import NotPossible
from stepwell.reactive.script import PERMANENT_EXCEPTIONS
from tests.unit.reactive.calls import graph_of

op = Operation


def words(run) -> dict[str, str]:
    return {path: str(status) for path, status in run.statuses.items()}


def test_without_a_script_every_node_completes():
    graph = graph_of(
        Sequential(op("a"), Parallel(op("b"), Wait("e")), Human("h", role="clerk"), SubWorkflow("other"))
    )
    run = MemoryEngine(graph).run()
    assert run.status is RunStatus.COMPLETED
    assert set(words(run).values()) == {"completed"}


@pytest.mark.parametrize(
    ("outcome", "call_count", "status"),
    [
        (ValueError("x"), 3, "failed"),
        ([ValueError("x"), RetryLater(), 5], 3, "completed"),
        (TypeError("x"), 1, "failed"),
        (KeyError, 1, "failed"),
        (Dead("no"), 1, "failed"),
        (Raises("TimeoutError"), 3, "failed"),
        ([Waiting("e"), ValueError("x"), Completed(1)], 3, "completed"),
    ],
)
def test_attempts_end_with_success_at_the_limit_or_with_a_permanent_failure(outcome, call_count, status):
    graph = graph_of(op("a", retry=Retry(3, non_retryable=(KeyError,))))
    run = MemoryEngine(graph, outcomes={"a": outcome}).run()
    assert words(run) == {"a": status}
    requests = [event for event in run.projections[""].log if event.type == "call.requested"]
    assert len(requests) == call_count
    assert len({event.request_id for event in requests}) == call_count


def test_the_permanent_exceptions_are_those_of_the_registry(db: psycopg.Connection):
    rows = db.execute(
        "select unnest(exception_names) from failure_class_registry where classification = 'permanent'"
    )
    assert {name for (name,) in rows} == PERMANENT_EXCEPTIONS


def test_a_wait_ends_by_its_event_by_its_timeout_or_never():
    graph = graph_of(Sequential(Wait("e", id="w", timeout="1h"), op("a")))
    run = MemoryEngine(graph, signals={"e": {"ok": True}}).run()
    assert run.projections[""].get_result("w").output == {"ok": True}
    run = MemoryEngine(graph, signals={"e": None}).run()
    assert words(run) == {"w": "failed", "a": "aborted"}
    run = MemoryEngine(graph_of(Wait("e", id="w")), signals={"e": None}).run()
    assert (run.status, words(run)) == (RunStatus.RUNNING, {"w": "running"})


def test_a_handler_that_waits_runs_again_after_its_event_or_timeout():
    outcomes = {"a": [Waiting("e", timeout=5), Completed("woken")]}
    for signals in ({}, {"e": None}):
        run = MemoryEngine(graph_of(op("a")), outcomes=outcomes, signals=signals).run()
        assert run.result == "woken"
    assert run.actions == (Action("call", "a"), Action("timeout", "a"), Action("call", "a"))


def test_a_human_step_with_the_outcome_never_stays_ready():
    run = MemoryEngine(graph_of(Sequential(Human("h", role="r"), op("a"))), outcomes={"h": NEVER}).run()
    assert words(run) == {"h": "ready", "a": "idle"}


def test_an_outcome_for_a_path_comes_before_one_for_a_step_id():
    graph = graph_of(Map("$.input.items", op("a"), id="all"))
    run = MemoryEngine(graph, input={"items": [1, 2]}, outcomes={"a": 1, "all[1].a": 2}).run()
    assert run.result == [1, 2]


@pytest.mark.requirement("JW-10")
def test_a_sub_workflow_receives_its_input_and_returns_its_result():
    inner = graph_of(Conditional("$.input.n > 1", op("x"), op("y")))
    graph = graph_of(Sequential(op("a"), SubWorkflow("inner", inputs={"n": "$.steps.a.output.n"}, id="sub")))
    run = MemoryEngine(graph, outcomes={"a": {"n": 2}, "x": "taken"}, workflows={"inner": inner}).run()
    assert run.result == "taken"
    assert words(run)["sub/y"] == "skipped"
    assert run.runs == {"": RunStatus.COMPLETED, "sub": RunStatus.COMPLETED}


@pytest.mark.requirement("JW-10")
def test_a_failed_or_unknown_sub_workflow_fails_its_step_and_a_cancel_cancels_it():
    graph = graph_of(Sequential(SubWorkflow("inner", id="sub"), op("z")))
    inner = graph_of(Sequential(op("x"), op("y")))
    run = MemoryEngine(graph, outcomes={"x": Dead("no")}, workflows={"inner": inner}).run()
    assert words(run) == {"sub": "failed", "z": "aborted", "sub/x": "failed", "sub/y": "aborted"}
    run = MemoryEngine(graph, workflows={}).run()
    assert run.projections[""].get_result("sub").error["message"] == "workflow inner is not published"
    run = MemoryEngine(graph, workflows={"inner": inner}, cancel_after=1).run()
    assert run.runs == {"": RunStatus.CANCELLED, "sub": RunStatus.CANCELLED}


@pytest.mark.requirement("JW-10")
def test_endless_sub_workflows_fail_at_the_depth_limit():
    loop = graph_of(SubWorkflow("loop", id="again"))
    run = MemoryEngine(loop, workflows={"loop": loop}).run()
    assert run.status is RunStatus.FAILED
    assert len(run.runs) == 33


def test_the_seed_decides_the_order_of_actions():
    graph = graph_of(Parallel(*(op(f"s{at}") for at in range(8))))
    orders = {seed: MemoryEngine(graph, seed=seed).run().actions for seed in range(5)}
    assert MemoryEngine(graph, seed=3).run().actions == orders[3]
    assert len(set(orders.values())) > 1


def test_a_given_order_is_followed_and_an_impossible_action_is_named():
    graph = graph_of(Sequential(Parallel(op("a"), op("b")), op("c")))
    order = [Action("call", "b"), Action("call", "a"), Action("call", "c")]
    assert MemoryEngine(graph, order=order).run().actions == tuple(order)
    for wrong, message in (
        (Action("call", "c"), "call c: a step before it has not completed"),
        (Action("call", "x"), "there is no step x"),
        (Action("call", "b"), "call b: it has ended"),
    ):
        with pytest.raises(NotPossible, match=message):
            MemoryEngine(graph, order=[Action("call", "b"), wrong]).run()


def test_a_cancel_comes_after_the_given_number_of_events():
    graph = graph_of(Sequential(op("a"), op("b"), op("c")))
    run = MemoryEngine(graph, cancel_after=2).run()
    assert words(run) == {"a": "completed", "b": "completed", "c": "aborted"}
    assert run.status is RunStatus.CANCELLED


def test_outcomes_are_read_from_json():
    text = (
        '{"a": "completed", "b": [{"error": "ValueError", "message": "no"}, {"completed": 3}], '
        '"c": {"retry": "later"}, "d": {"dead": "gone"}, '
        '"e": {"waiting": "go", "timeout": "5m"}, "f": "never"}'
    )
    assert read_outcomes(text) == {
        "a": [Completed()],
        "b": [Raises("ValueError", "no"), Completed(3)],
        "c": [RetryLater(None, "later")],
        "d": [Dead("gone")],
        "e": [Waiting("go", "5m")],
        "f": [NEVER],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "outcomes is not JSON"),
        ("[]", "outcomes is not a JSON object; accepted: an object"),
        ('{"a": "done"}', 'outcomes.a: {"done": null} is not an outcome; accepted: "completed"'),
        ('{"a": 5}', "outcomes.a: 5 is not an outcome"),
        ('{"a": {"completed": 1, "dead": "x"}}', "outcomes.a: .* is not an outcome"),
        ('{"a": {"waiting": ""}}', "outcomes.a.waiting is not a text; accepted: the name of an event"),
    ],
)
def test_bad_outcomes_name_the_step_and_what_is_accepted(text: str, message: str):
    with pytest.raises(InvalidInput, match=message):
        read_outcomes(text)
    with pytest.raises(InvalidInput, match="outcomes of a: the list is empty"):
        Script({"a": []})
