"""Run a whole workflow without a database: receives a graph and given outcomes, returns what happened.

It is deterministic: calls run in the order in which they become possible, in a random order from a seed, or
in a given order. Only when nothing else is possible, the oldest wait with a time-out times out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from stepwell.define.graph import Graph
from stepwell.define.json_schema import input_problem
from stepwell.errors import InvalidInput
from stepwell.outcome import Completed, Dead, RetryLater, Waiting
from stepwell.reactive import rules
from stepwell.reactive.frames import Unit
from stepwell.reactive.projection import Projection
from stepwell.reactive.protocol import CallEvent, CallEventType, NodeStatus, RunStatus
from stepwell.reactive.script import PERMANENT_EXCEPTIONS, Never, Outcome, Raises, Script

__all__ = ["Action", "MemoryEngine", "NotPossible", "Simulation"]

MAX_ACTIONS: Final = 1_000_000
MAX_DEPTH: Final = 32
DEFAULT_MAX_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a run. The path of a step in a sub-workflow begins with the path of its step and `/`."""

    kind: Literal["call", "retry", "signal", "timeout", "cancel", "abort", "replay"]
    path: str = ""


class NotPossible(RuntimeError):
    """The given order contains an action that is not possible now."""


@dataclass(frozen=True)
class Simulation:
    """The result: statuses by path, and runs by the path of their step ("" is the run itself)."""

    status: RunStatus
    statuses: Mapping[str, NodeStatus]
    runs: Mapping[str, RunStatus]
    result: Any
    actions: tuple[Action, ...]
    projections: Mapping[str, Projection] = field(repr=False)


@dataclass
class _Run:
    projection: Projection
    prefix: str = ""
    step: Unit | None = None
    parent: _Run | None = None
    depth: int = 0
    is_reported: bool = False


class MemoryEngine:
    """One simulated run. If `workflows` is None, a sub-workflow is one step with a given outcome."""

    def __init__(
        self,
        graph: Graph,
        *,
        input: Any = None,
        outcomes: Mapping[str, Any] | None = None,
        signals: Mapping[str, Any] | None = None,
        workflows: Mapping[str, Graph] | None = None,
        failure_policy: str | None = None,
        seed: int | None = None,
        order: Iterable[Action] | None = None,
        cancel_after: int | None = None,
    ) -> None:
        self.graph = graph
        self.input = {} if input is None else input
        self.script = Script(outcomes)
        # Event type → payload; None: the event never comes. All other events come with an empty payload.
        self.signals = dict(signals or {})
        self.workflows = workflows
        self.failure_policy = failure_policy
        self.cancel_after = cancel_after
        self._order = None if order is None else iter(order)
        self._random = None if seed is None else random.Random(seed)
        self._runs: dict[str, _Run] = {}
        self._possible: dict[Action, None] = {}
        self._timeouts: dict[Action, None] = {}
        self._changed: list[tuple[str, Unit]] = []
        self._call_counts: dict[str, int] = {}
        self._failure_counts: dict[str, int] = {}
        self._resumed: set[str] = set()
        self._done: list[Action] = []

    def run(self) -> Simulation:
        problem = input_problem(self.graph.input_schema, self.input)
        if problem is not None:
            raise InvalidInput(problem, field="input")
        root = self._open(self.graph, self.input)
        self._follow()
        # A given order may replay the dead steps of a run that has failed.
        while (self._order or root.projection.run_status is RunStatus.RUNNING) and len(
            self._done
        ) < MAX_ACTIONS:
            action = self._next()
            if action is None:
                break
            self._possible.pop(action, None)
            self._timeouts.pop(action, None)
            self._done.append(action)
            self._do(action)
            self._follow()
        statuses: dict[str, NodeStatus] = {}
        for run in self._runs.values():
            statuses |= {run.prefix + path: status for path, status in run.projection.statuses().items()}
        return Simulation(
            root.projection.run_status,
            statuses,
            {run.prefix.removesuffix("/"): run.projection.run_status for run in self._runs.values()},
            root.projection.result(),
            tuple(self._done),
            {run.prefix.removesuffix("/"): run.projection for run in self._runs.values()},
        )

    def _next(self) -> Action | None:
        if self._order is not None:
            return next(self._order, None)
        if self.cancel_after is not None and len(self._done) >= self.cancel_after:
            return Action("cancel")
        possible = self._possible or self._timeouts
        if not possible:
            return None
        if self._random is None or possible is self._timeouts:
            return next(iter(possible))
        return self._random.choice(list(possible))

    def _do(self, action: Action) -> None:
        if action.kind == "cancel":
            for run in list(self._runs.values()):
                run.projection.abort_all()
            return
        run, unit = self._find(action.path)
        if unit.is_settled is not (action.kind == "replay"):
            ended = "ended" if unit.is_settled else "not ended"
            raise NotPossible(f"{action.kind} {action.path}: it has {ended} ({unit.status})")
        match action.kind:
            case "replay":
                self._failure_counts.pop(action.path, None)
                run.projection.reopen_node(unit.path)
            case "abort":
                run.projection.abort_node(unit.path)
            case "call":
                self._call(run, unit)
            case "retry":
                self._resume(run, unit)
            case "signal" | "timeout" if unit.node.kind == "wait" or f"{action.path}/" in self._runs:
                self._wait_ends(run, unit, action.kind)
            case _:
                self._resume(run, unit)

    def _open(self, graph: Graph, given: Any, parent: _Run | None = None, step: Unit | None = None) -> _Run:
        prefix = "" if parent is None or step is None else f"{parent.prefix}{step.path}/"
        projection = Projection(
            graph,
            self.failure_policy if parent is None else None,
            input=given,
            on_change=lambda unit: self._changed.append((prefix, unit)),
        )
        run = _Run(projection, prefix, step, parent, 0 if parent is None else parent.depth + 1)
        self._runs[prefix] = run
        return run

    def _follow(self) -> None:
        """Update the possible actions after changes; an ended sub-workflow ends its step."""
        while True:
            while self._changed:
                changed, self._changed = self._changed, []
                for prefix, unit in changed:
                    self._consider(self._runs[prefix], unit)
            ended = [run for run in self._runs.values() if run.parent is not None and not run.is_reported]
            ended = [run for run in ended if run.projection.run_status is not RunStatus.RUNNING]
            if not ended:
                return
            for run in ended:
                run.is_reported = True
                self._subrun_ended(run)

    def _consider(self, run: _Run, unit: Unit) -> None:
        path = run.prefix + unit.path
        if unit.is_settled:
            for kind in ("call", "retry", "signal", "timeout"):
                self._possible.pop(Action(kind, path), None)
                self._timeouts.pop(Action(kind, path), None)
            child = self._runs.get(f"{path}/")
            if child is not None and not child.is_reported:
                child.projection.abort_all()
        elif unit.status is NodeStatus.READY:
            match unit.node.kind:
                case "wait":
                    self._request(run, unit)
                    self._await(path, str(unit.node.event), unit.node.timeout_seconds)
                case "subworkflow" if self.workflows is not None:
                    self._subrun_starts(run, unit)
                case "human" if isinstance(self.script.outcome(unit.path, unit.node.id, 0), Never):
                    pass  # no person does it
                case _:
                    self._possible[Action("call", path)] = None
        elif path in self._resumed and run.projection.may_run(unit.path):
            self._possible[Action("call", path)] = None

    def _subrun_starts(self, run: _Run, unit: Unit) -> None:
        request_id = self._request(run, unit)
        name = str(unit.node.workflow)
        graph = (self.workflows or {}).get(name)
        problem = None if graph else f"workflow {name} is not published"
        given = rules.bind_inputs(unit, run.projection.input)
        if run.depth + 1 > MAX_DEPTH:
            problem = f"workflow: sub-workflows are nested more than {MAX_DEPTH} levels deep"
        elif graph is not None:
            problem = input_problem(graph.input_schema, given)
        if graph is None or problem is not None:
            self._fail(run, unit, request_id, rules.failure("SubWorkflow", str(problem)))
        else:
            self._open(graph, given, run, unit)
            if unit.node.timeout_seconds is not None:
                self._timeouts[Action("timeout", run.prefix + unit.path)] = None

    def _subrun_ended(self, run: _Run) -> None:
        parent, step = run.parent, run.step
        if parent is None or step is None or step.is_settled:
            return
        request_id = str(step.request_id)
        if run.projection.run_status is RunStatus.COMPLETED:
            self._answer(parent, step, request_id, run.projection.result())
        else:
            what = f"the run of the sub-workflow {run.projection.run_status}"
            self._fail(parent, step, request_id, rules.failure("SubWorkflow", what))

    def _find(self, path: str) -> tuple[_Run, Unit]:
        prefix = path[: path.rfind("/") + 1]
        run = self._runs.get(prefix)
        if run is None or path[len(prefix) :] not in run.projection.units:
            raise NotPossible(f"there is no step {path}")
        return run, run.projection.unit(path[len(prefix) :])

    def _request(self, run: _Run, unit: Unit) -> str:
        count = self._call_counts.get(run.prefix + unit.path, 0)
        self._call_counts[run.prefix + unit.path] = count + 1
        request_id = f"{run.prefix}{unit.path}#{count + 1}"
        owner = unit.frame.owner
        parent_id = run.step.request_id if run.step is not None and owner is None else None
        run.projection.append(
            CallEvent(CallEventType.REQUESTED, request_id, unit.path, parent_request_id=parent_id)
        )
        return request_id

    def _call(self, run: _Run, unit: Unit) -> None:
        path = run.prefix + unit.path
        if unit.pending or unit.blockers:
            raise NotPossible(f"call {path}: a step before it has not completed")
        self._resumed.discard(path)
        call_no = self._call_counts.get(path, 0)
        request_id = self._request(run, unit)
        outcome = self.script.outcome(unit.path, unit.node.id, call_no)
        match outcome:
            case Completed(value=value):
                self._answer(run, unit, request_id, value)
            case Waiting(event=event, timeout=timeout):
                run.projection.park(unit.path)
                self._await(path, event, timeout)
            case Never():
                pass
            case _:
                self._attempt_failed(run, unit, request_id, outcome)

    def _attempt_failed(self, run: _Run, unit: Unit, request_id: str, outcome: Outcome) -> None:
        path = run.prefix + unit.path
        count = self._failure_counts.get(path, 0) + 1
        self._failure_counts[path] = count
        error, is_permanent = _judge(outcome, unit.node.retry or {})
        if is_permanent or count >= _max_attempts(unit):
            self._fail(run, unit, request_id, error)
            return
        run.projection.append(CallEvent(CallEventType.ERROR, request_id, error=error, will_retry=True))
        run.projection.park(unit.path)
        self._possible[Action("retry", path)] = None

    def _await(self, path: str, event: str, timeout: Any) -> None:
        if self.signals.get(event, {}) is not None:
            self._possible[Action("signal", path)] = None
        elif timeout is not None:
            self._timeouts[Action("timeout", path)] = None

    def _wait_ends(self, run: _Run, unit: Unit, kind: str) -> None:
        if kind == "timeout":
            error = rules.failure("WaitingTimeout", "the event did not come before the time-out")
            self._fail(run, unit, str(unit.request_id), error)
        else:
            payload = self.signals.get(str(unit.node.event), {})
            self._answer(run, unit, str(unit.request_id), payload)

    def _resume(self, run: _Run, unit: Unit) -> None:
        self._resumed.add(run.prefix + unit.path)
        run.projection.resume(unit.path)

    def _answer(self, run: _Run, unit: Unit, request_id: str, output: Any) -> None:
        run.projection.append(CallEvent(CallEventType.RESPONDED, request_id, unit.path, output=output))

    def _fail(self, run: _Run, unit: Unit, request_id: str, error: Any) -> None:
        run.projection.append(CallEvent(CallEventType.ERROR, request_id, unit.path, error=error))


def _judge(outcome: Outcome, retry: Mapping[str, Any]) -> tuple[dict[str, str], bool]:
    """The error as it is stored in the log, and whether it is permanent."""
    match outcome:
        case Dead(reason=reason):
            return rules.failure("Dead", reason), True
        case RetryLater(reason=reason):
            return rules.failure("RetryLater", reason), "RetryLater" in retry.get("non_retryable", ())
        case Raises():
            names = PERMANENT_EXCEPTIONS.union(retry.get("non_retryable", ()))
            return outcome.error, outcome.type in names
        case _:
            raise TypeError(f"{outcome!r} is not a failure")


def _max_attempts(unit: Unit) -> int:
    if unit.node.kind != "operation":
        return 1
    return int((unit.node.retry or {}).get("max_attempts", DEFAULT_MAX_ATTEMPTS))
