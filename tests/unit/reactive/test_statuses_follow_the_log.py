"""The node statuses of document 002, derived from call events and the graph."""

from __future__ import annotations

import pytest

from stepwell.define import Conditional, Operation, Parallel, Sequential
from stepwell.reactive import CallEvent, CallEventType, NodeStatus, Projection, RunStatus, UnknownNode
from tests.unit.reactive.calls import aborted, complete, fail, failed, graph_of, requested, responded

S = NodeStatus
op = Operation
CHAIN = graph_of(Sequential(op("a"), op("b"), op("c")))
JOIN = graph_of(Sequential(op("a"), Parallel(op("b"), op("c")), op("d")))


def words(projection: Projection) -> dict[str, str]:
    return {path: str(status) for path, status in projection.statuses().items()}


@pytest.mark.requirement("RX-03")
def test_a_node_is_idle_until_a_predecessor_runs():
    run = Projection(CHAIN)
    assert words(run) == {"a": "ready", "b": "idle", "c": "idle"}
    run.append(requested("a"))
    assert words(run) == {"a": "running", "b": "waiting", "c": "idle"}
    run.append(responded("a", {"n": 1}))
    assert words(run) == {"a": "completed", "b": "ready", "c": "idle"}


@pytest.mark.requirement("RX-02")
@pytest.mark.requirement("RX-03")
@pytest.mark.parametrize(
    ("ending", "status"),
    [
        (responded("a"), S.COMPLETED),
        (CallEvent(CallEventType.COMPLETED, "a#1", "a"), S.COMPLETED),
        (failed("a"), S.FAILED),
        (aborted("a"), S.ABORTED),
        (failed("a", will_retry=True), S.RUNNING),
    ],
)
def test_each_event_leads_to_its_status(ending: CallEvent, status: NodeStatus):
    run = Projection(CHAIN)
    assert run.append(requested("a"))
    assert run.append(ending)
    assert run.get_status("a") is status


@pytest.mark.requirement("RX-02")
def test_the_same_event_twice_changes_nothing():
    run = Projection(CHAIN)
    events = [requested("a"), responded("a"), requested("b"), failed("b")]
    for event in events:
        assert run.append(event)
    before = words(run)
    for event in events:
        assert not run.append(event)
    assert words(run) == before
    assert run.log == events
    assert run.get_events("b") == (requested("b"), failed("b"))


@pytest.mark.requirement("RX-02")
def test_an_event_after_the_first_need_not_name_its_node():
    run = Projection(CHAIN)
    run.append(requested("a"))
    run.append(CallEvent(CallEventType.RESPONDED, "a#1", output=3))
    assert run.get_result("a").output == 3


def test_the_error_names_the_unknown_node_of_an_event():
    run = Projection(CHAIN)
    with pytest.raises(UnknownNode, match="there is no node 'x' in this run"):
        run.append(requested("x"))
    assert run.log == []


@pytest.mark.requirement("RX-04")
def test_a_join_waits_for_all_predecessors_and_a_failure_aborts_it():
    run = Projection(JOIN)
    complete(run, "a", "b")
    assert run.get_status("d") is S.WAITING
    fail(run, "c")
    assert run.get_status("d") is S.ABORTED
    assert run.get_result("d") is None  # it was never called
    assert run.run_status is RunStatus.FAILED


@pytest.mark.requirement("RX-05")
def test_a_failure_aborts_dependents_and_siblings_continue():
    run = Projection(graph_of(Parallel(Sequential(op("a"), op("b"), op("c")), Sequential(op("x"), op("y")))))
    fail(run, "a")
    assert words(run) == {"a": "failed", "b": "aborted", "c": "aborted", "x": "ready", "y": "idle"}
    complete(run, "x", "y")
    assert run.run_status is RunStatus.FAILED


@pytest.mark.requirement("RX-05")
@pytest.mark.parametrize(
    ("policy", "status"), [("continue-running", S.RUNNING), ("abort-dependents", S.ABORTED)]
)
def test_a_dependent_that_already_runs_follows_the_policy(policy: str, status: NodeStatus):
    run = Projection(CHAIN, policy)
    for event in (requested("a"), requested("b"), failed("a")):
        run.append(event)
    assert run.get_status("b") is status


@pytest.mark.requirement("RX-05")
def test_a_failed_node_that_is_not_mandatory_does_not_fail_the_run():
    run = Projection(graph_of(Parallel(op("a", mandatory=False), op("b"))))
    fail(run, "a")
    complete(run, "b")
    assert run.run_status is RunStatus.COMPLETED


@pytest.mark.requirement("RX-07")
def test_a_retry_is_a_new_request_and_the_latest_attempt_wins():
    run = Projection(CHAIN)
    for event in (requested("a"), failed("a", will_retry=True), requested("a", 2), responded("a", 7, 2)):
        run.append(event)
    assert run.get_status("a") is S.COMPLETED
    assert run.get_result("a").output == 7
    assert [event.request_id for event in run.get_events("a")] == ["a#1", "a#1", "a#2", "a#2"]


@pytest.mark.requirement("RX-07")
def test_a_late_answer_to_an_old_attempt_is_kept_and_changes_nothing():
    run = Projection(CHAIN)
    for event in (requested("a"), requested("a", 2), responded("a", "old", 1)):
        run.append(event)
    assert run.get_status("a") is S.RUNNING
    run.append(responded("a", "new", 2))
    assert run.get_result("a").output == "new"
    assert len(run.get_events("a")) == 4


@pytest.mark.requirement("RX-07")
def test_a_new_attempt_of_a_failed_node_reopens_the_nodes_it_aborted():
    run = Projection(CHAIN)
    fail(run, "a")
    assert run.run_status is RunStatus.FAILED
    run.append(requested("a", 2))
    assert words(run) == {"a": "running", "b": "waiting", "c": "idle"}
    assert run.run_status is RunStatus.RUNNING
    run.append(responded("a", attempt=2))
    complete(run, "b", "c")
    assert run.run_status is RunStatus.COMPLETED


@pytest.mark.requirement("RX-08")
def test_a_group_counts_its_slots_and_a_free_slot_goes_to_the_next_node():
    run = Projection(graph_of(Parallel(op("a"), op("b"), op("c", priority=5), max_concurrency=2)))
    assert words(run) == {"a": "ready", "b": "waiting", "c": "ready"}
    run.append(requested("a"))
    assert run.get_status("b") is S.WAITING
    run.append(responded("a"))
    assert run.get_status("b") is S.READY


@pytest.mark.requirement("RX-08")
def test_the_node_with_the_highest_priority_gets_a_free_slot():
    run = Projection(graph_of(Parallel(op("a"), op("b"), op("c", priority=5), max_concurrency=1)))
    assert words(run) == {"a": "waiting", "b": "waiting", "c": "ready"}
    after = Parallel(Sequential(op("a", priority=1), op("b", priority=5)), op("c"), max_concurrency=1)
    run = Projection(graph_of(after))
    complete(run, "a")
    assert words(run) == {"a": "completed", "b": "ready", "c": "waiting"}


@pytest.mark.requirement("RX-08")
def test_a_waiting_call_frees_its_slot_and_needs_a_new_one():
    run = Projection(graph_of(Parallel(op("a"), op("b"), max_concurrency=1)))
    run.append(requested("a"))
    run.park("a")
    assert run.get_status("b") is S.READY
    run.resume("a")
    assert not run.may_run("a")
    complete(run, "b")
    assert run.may_run("a")


@pytest.mark.requirement("RX-08")
def test_a_call_between_two_attempts_has_no_slot():
    run = Projection(graph_of(Parallel(op("a"), op("b"), max_concurrency=1)))
    run.append(requested("a"))
    run.append(failed("a", will_retry=True))
    assert words(run) == {"a": "running", "b": "ready"}
    run.append(requested("b"))
    run.append(requested("a", attempt=2))
    run.append(responded("b"))
    assert words(run) == {"a": "running", "b": "completed"}


@pytest.mark.requirement("RX-09")
def test_abort_node_aborts_its_dependents_and_fails_the_run():
    run = Projection(JOIN)
    complete(run, "a")
    run.abort_node("b")
    complete(run, "c")
    assert words(run) == {"a": "completed", "b": "aborted", "c": "completed", "d": "aborted"}
    assert run.run_status is RunStatus.FAILED


@pytest.mark.requirement("RX-09")
def test_abort_all_aborts_every_node_that_has_not_ended():
    run = Projection(JOIN)
    complete(run, "a")
    run.append(requested("b"))
    run.abort_all()
    assert words(run) == {"a": "completed", "b": "aborted", "c": "aborted", "d": "aborted"}
    assert run.run_status is RunStatus.CANCELLED
    run.append(responded("b"))
    assert run.get_status("b") is S.ABORTED


@pytest.mark.requirement("RX-11")
def test_the_state_at_any_past_position_can_be_shown():
    run = Projection(graph_of(Sequential(op("a"), Conditional("a", op("b"), op("c")), op("d"))))
    seen = [(words(run), run.run_status)]
    for event in (requested("a"), failed("a", will_retry=True), requested("a", 2), responded("a", attempt=2)):
        run.append(event)
        seen.append((words(run), run.run_status))
    run.append(requested("b"))
    seen.append((words(run), run.run_status))
    run.abort_all()
    seen.append((words(run), run.run_status))
    past = [run.at(position) for position in range(len(run.log) + 1)]
    assert [(words(one), one.run_status) for one in past] == seen
    with pytest.raises(ValueError, match="position: 99 is not in the log; accepted: 0 to 6"):
        run.at(99)


def test_a_failure_aborts_a_chain_of_twenty_thousand_nodes_without_recursion():
    run = Projection(graph_of(Sequential(*(op(f"s{at}") for at in range(20_000)))))
    fail(run, "s0")
    assert run.get_status("s19999") is S.ABORTED
    assert run.run_status is RunStatus.FAILED


@pytest.mark.requirement("RX-07", "RX-11")
def test_a_reopened_node_is_ready_without_a_call_and_can_be_aborted_before_it():
    projection = Projection(graph_of(Sequential(op("a"), op("b"))))
    fail(projection, "a")
    assert str(projection.run_status) == "failed"
    projection.reopen_node("a")
    assert projection.statuses() == {"a": "ready", "b": "idle"}
    assert projection.requests() == {}
    assert str(projection.run_status) == "running"
    projection.append(responded("a"))  # the answer to the attempt that failed is late
    assert projection.get_status("a") == "ready"
    cut = projection.at(len(projection.log))
    cut.append(aborted("a"))
    assert cut.statuses() == {"a": "aborted", "b": "aborted"}
    projection.append(requested("a", attempt=2))
    projection.append(responded("a", attempt=2))
    assert projection.statuses() == {"a": "completed", "b": "ready"}


@pytest.mark.requirement("RX-07")
def test_only_an_ended_node_that_nothing_blocks_is_reopened():
    projection = Projection(graph_of(Sequential(op("a"), op("b"))))
    projection.reopen_node("a")
    assert projection.statuses() == {"a": "ready", "b": "idle"}
    fail(projection, "a")
    projection.reopen_node("b")
    assert projection.statuses() == {"a": "failed", "b": "aborted"}
    assert str(projection.run_status) == "failed"


@pytest.mark.requirement("RX-08")
def test_of_nodes_that_can_start_together_the_highest_priority_gets_the_slot():
    limited = Parallel(op("b", priority=-3), op("c", priority=2), max_concurrency=1)
    run = Projection(graph_of(limited))
    assert words(run) == {"b": "waiting", "c": "ready"}
    run = Projection(graph_of(Sequential(op("a"), limited)))
    complete(run, "a")
    assert words(run) == {"a": "completed", "b": "waiting", "c": "ready"}
