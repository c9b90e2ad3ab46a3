"""Signals of a run: created on request, notified of every change, freed by dispose; an error ends the run."""

from __future__ import annotations

import gc
import weakref

import pytest

from stepwell.define import Conditional, Map, Operation, Parallel, Sequential
from stepwell.reactive import (
    CallEvent,
    CallEventType,
    Disposed,
    MemoryEngine,
    NodeStatus,
    RunStatus,
    UnknownNode,
    WorkflowReactiveRoot,
)
from tests.unit.reactive.calls import complete, fail, failed, graph_of, requested, responded

S = NodeStatus
op = Operation
CHAIN = graph_of(Sequential(op("a"), op("b"), op("c")))


@pytest.mark.requirement("RX-03")
def test_a_status_signal_notifies_of_every_change():
    root = WorkflowReactiveRoot(CHAIN)
    status = root.status("b")
    seen: list[NodeStatus] = []
    root.effect(lambda: seen.append(status()))
    for event in (requested("a"), responded("a"), requested("b"), failed("b")):
        root.append(event)
    assert seen == [S.IDLE, S.WAITING, S.READY, S.RUNNING, S.FAILED]
    assert root.status("b") is status


@pytest.mark.requirement("RX-04")
def test_preconditions_and_blocks_are_computed_from_the_predecessors():
    root = WorkflowReactiveRoot(graph_of(Sequential(Parallel(op("a"), op("b")), op("c"), op("d"))))
    met, blocked = root.preconditions("c"), root.blocked_by_failure("c")
    assert (met(), blocked()) == (False, False)
    complete(root, "a")
    assert (met(), blocked()) == (False, False)
    fail(root, "b")
    assert (met(), blocked()) == (False, True)
    assert root.get_status("c") is S.ABORTED
    assert root.preconditions("a")() is True
    # A node that was aborted satisfies nothing either.
    assert (root.preconditions("d")(), root.blocked_by_failure("d")()) == (False, True)
    assert root.get_status("d") is S.ABORTED


@pytest.mark.requirement("RX-04")
def test_a_skipped_node_satisfies_and_one_that_was_cancelled_does_not():
    branch = Conditional("$.input.flag == true", op("a"))
    root = WorkflowReactiveRoot(
        graph_of(Sequential(Parallel(branch, op("b")), op("c"))), input={"flag": False}
    )
    assert root.get_status("a") is S.SKIPPED
    root.abort_node("b")
    assert (root.preconditions("c")(), root.get_status("c")) == (False, S.ABORTED)
    root = WorkflowReactiveRoot(
        graph_of(Sequential(Parallel(branch, op("b")), op("c"))), input={"flag": False}
    )
    complete(root, "b")
    assert (root.preconditions("c")(), root.get_status("c")) == (True, S.READY)


@pytest.mark.requirement("RX-06")
def test_an_error_boundary_is_not_blocked_by_the_node_it_reads():
    root = WorkflowReactiveRoot(graph_of(Sequential(op("a"), Conditional("a", op("b"), op("c")))))
    fail(root, "a")
    assert root.blocked_by_failure("if.b")() is False
    assert root.get_status("c") is S.READY


@pytest.mark.requirement("RX-10")
def test_the_result_is_that_of_the_latest_attempt():
    root = WorkflowReactiveRoot(CHAIN)
    result = root.result("a")
    assert result() is None
    fail(root, "a")
    assert (result().status, result().error["type"]) == (S.FAILED, "ValueError")
    root.append(requested("a", 2))
    assert result() is None
    root.append(responded("a", 5, 2))
    assert result().output == 5


@pytest.mark.requirement("RX-08")
def test_a_node_can_start_when_a_slot_of_its_group_is_free():
    root = WorkflowReactiveRoot(graph_of(Parallel(op("a"), op("b"), max_concurrency=1)))
    can_start = root.can_start("b")
    root.append(requested("a"))
    assert can_start() is False
    root.append(responded("a"))
    assert can_start() is True


def test_the_nodes_of_a_map_exist_when_it_has_its_items():
    root = WorkflowReactiveRoot(graph_of(Sequential(op("a"), Map("$.steps.a.output", op("b"), id="all"))))
    counts: list[int] = []
    root.effect(lambda: counts.append(root.node_count()))
    with pytest.raises(UnknownNode):
        root.status("all[0].b")
    complete(root, "a", output=[1, 2])
    assert counts == [2, 4]
    assert root.status("all[1].b")() is S.READY


@pytest.mark.requirement("RX-09")
def test_drive_starts_each_ready_node_once_also_in_a_long_chain():
    graph = graph_of(Sequential(*(op(f"s{at}") for at in range(3_000))))
    root = WorkflowReactiveRoot(graph)
    started: list[str] = []

    def start(node: str) -> None:
        started.append(node)
        complete(root, node)

    root.drive(start)
    assert started == [f"s{at}" for at in range(3_000)]
    assert root.run_status() is RunStatus.COMPLETED


@pytest.mark.requirement("RX-09")
def test_drive_names_the_calls_to_abort():
    root = WorkflowReactiveRoot(graph_of(Parallel(op("a"), op("b"), op("c"))))
    gone: list[tuple[str, str | None]] = []
    root.drive(
        lambda node: root.append(requested(node)) and None,
        lambda node, request_id: gone.append((node, request_id)),
    )
    root.append(responded("a"))
    root.abort_node("b")
    assert gone == [("b", "b#1")]
    root.abort_all()
    assert gone == [("b", "b#1"), ("c", "c#1")]
    assert root.run_status() is RunStatus.CANCELLED


@pytest.mark.requirement("RX-09", "RX-14")
def test_a_node_without_a_call_is_aborted_and_no_call_is_told():
    """What has no call, or had one before it was opened again, has nothing that could be aborted."""
    root = WorkflowReactiveRoot(graph_of(Parallel(Sequential(op("a"), op("b")), op("c")), "abort-dependents"))
    gone: list[tuple[str, str | None]] = []
    root.drive(lambda node: None, lambda node, request_id: gone.append((node, request_id)))
    root.abort_node("c")
    assert (root.get_status("c"), gone) == (S.ABORTED, [])
    assert "c" not in root.node_key_to_request_id
    root.append(requested("a"))
    root.append(requested("b"))
    root.append(failed("a"))
    root.append(requested("a", 2))  # b is opened again, and has no new call
    root.append(failed("a", 2))
    assert root.get_status("b") is S.ABORTED
    assert gone == [("b", "b#1")]


@pytest.mark.requirement("RX-10")
def test_a_watched_result_follows_the_log_also_when_the_status_stays():
    root = WorkflowReactiveRoot(CHAIN)
    result, seen = root.result("a"), []
    root.effect(lambda: seen.append(result()))
    complete(root, "a", output=1)
    root.append(responded("a", 2, 2))  # the answer to a second attempt, before its request
    assert (root.get_status("a"), root.get_result("a").output) == (S.COMPLETED, 2)
    assert (result().output, seen[-1].output) == (2, 2)
    fail(root, "b")
    after = root.result("c")
    assert after() is None, "c was aborted because of b, and never called"
    root.append(CallEvent(CallEventType.ABORTED, "c#1", "c"))
    assert after() == root.get_result("c") is not None


@pytest.mark.requirement("RX-09")
def test_after_dispose_no_effect_runs_and_no_event_is_accepted():
    root = WorkflowReactiveRoot(CHAIN)
    status = root.status("a")
    seen: list[NodeStatus] = []
    root.effect(lambda: seen.append(status()))
    root.dispose()
    for use in (lambda: root.append(requested("a")), root.abort_all, lambda: root.status("a")):
        with pytest.raises(Disposed):
            use()
    assert seen == [S.READY]
    assert root.get_status("a") is S.READY


@pytest.mark.requirement("RX-09")
def test_one_effect_can_be_ended():
    root = WorkflowReactiveRoot(CHAIN)
    status = root.status("a")
    seen: list[NodeStatus] = []
    end = root.effect(lambda: seen.append(status()))
    end()
    end()
    root.append(requested("a"))
    assert seen == [S.READY]


class Listener:
    """Receives changes. If it is still alive after dispose, something leaked."""

    def __init__(self, root: WorkflowReactiveRoot) -> None:
        self.root = root
        self.heard: list[object] = []
        status, met = root.status("b"), root.preconditions("b")
        root.effect(lambda: self.heard.append((status(), met())))
        root.drive(self.start)

    def start(self, node: str) -> None:
        self.root.append(requested(node))


@pytest.mark.requirement("RX-09")
def test_dispose_frees_effects_and_the_root():
    root = WorkflowReactiveRoot(CHAIN)
    status = root.status("b")
    listener = weakref.ref(Listener(root))
    gc.collect()
    assert listener() is not None, "the root must keep its effect alive"
    root.dispose()
    gc.collect()
    assert listener() is None, "the effect is alive after dispose"
    watched = weakref.ref(root)
    del root
    gc.collect()
    assert watched() is None, "a signal that is still referenced keeps its root alive"
    assert status() is S.WAITING


@pytest.mark.requirement("RX-09")
def test_a_root_without_references_is_freed_with_its_effects():
    root = WorkflowReactiveRoot(CHAIN)
    watched = [weakref.ref(root), weakref.ref(Listener(root))]
    del root
    gc.collect()
    assert [one() for one in watched] == [None, None]


@pytest.mark.requirement("RX-09")
def test_an_error_of_an_effect_ends_the_run():
    problems: list[BaseException] = []
    root = WorkflowReactiveRoot(CHAIN, on_error=problems.append)
    status = root.status("a")

    def break_down() -> None:
        if status() is S.RUNNING:
            raise ZeroDivisionError("an effect broke")

    root.effect(break_down)
    root.append(requested("a"))
    assert isinstance(root.error, ZeroDivisionError)
    assert problems == [root.error]
    assert set(root.statuses().values()) == {S.ABORTED}
    with pytest.raises(Disposed):
        root.append(responded("a"))


@pytest.mark.requirement("RX-09", "RX-16")
def test_an_error_of_the_engine_ends_the_run_and_is_shown():
    class Bad(dict):
        def __contains__(self, key: object) -> bool:
            raise RuntimeError("the document broke")

    root = WorkflowReactiveRoot(
        graph_of(
            Parallel(Sequential(op("a"), Conditional("$.steps.a.output.flag == true", op("b"))), op("c"))
        )
    )
    gone: list[tuple[str, str | None]] = []
    root.drive(
        lambda node: root.append(requested(node)) and None,
        lambda node, request_id: gone.append((node, request_id)),
    )
    with pytest.raises(Disposed, match="the run was aborted: the document broke"):
        root.append(responded("a", Bad()))
    assert str(root.error) == "the document broke"
    assert ("c", "c#1") in gone, "a call that was running is told to abort"
    assert root.get_status("b") is S.ABORTED


def test_an_unknown_node_is_refused_and_the_run_continues():
    root = WorkflowReactiveRoot(CHAIN)
    with pytest.raises(UnknownNode):
        root.append(requested("x"))
    with pytest.raises(UnknownNode):
        root.append(CallEvent(CallEventType.RESPONDED, "unknown#1"))
    assert root.error is None
    assert root.append(requested("a"))


@pytest.mark.requirement("RX-11")
def test_a_root_rebuilt_from_its_log_has_the_same_statuses():
    graph = graph_of(
        Sequential(op("a"), Map("$.input.items", Sequential(op("b"), op("c")), id="all"), op("d"))
    )
    given = {"items": [1, 2, 3]}
    run = MemoryEngine(graph, input=given, outcomes={"all[1].b": [ValueError("x"), 1]}, seed=4).run()
    root = WorkflowReactiveRoot(graph, input=given)
    for event in run.projections[""].log:
        root.append(event)
    assert root.statuses() == run.statuses
    assert root.run_status() is run.status
    for position in range(len(root.events)):
        assert root.at(position).log == list(root.events[:position])
