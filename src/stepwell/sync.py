"""The calls of an app for programs without an event loop: `app.sync.start(…)` blocks and returns.

Most calls are one line: the coroutine of the app is the only implementation and gives the signature. Calls
that return handles are written in full, because their handles block too.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, Unpack, cast

from typing_extensions import TypeVar

from stepwell.content import ContentCalls
from stepwell.define import Workflow
from stepwell.errors import UsageError
from stepwell.govern.calls import GovernCalls
from stepwell.govern.workers import WorkerGovernCalls
from stepwell.graphs import GraphCalls
from stepwell.jobs import JobOptions
from stepwell.people import PeopleCalls
from stepwell.portal import Portal, run_on
from stepwell.runs import RunCalls, RunInput, StartOptions
from stepwell.schedules import ScheduleCalls
from stepwell.store.calls.runs import Signalled
from stepwell.store.connection.perform import Connection
from stepwell.sync_handles import SyncJobHandle, SyncRunHandle, SyncWaited
from stepwell.tenants import TenantCalls
from stepwell.waiting import Until
from stepwell.workflows import WorkflowCalls

if TYPE_CHECKING:
    from stepwell.app import App, AppCalls
    from stepwell.store.schema.migrate import Report

__all__ = ["SyncApp", "SyncCalls", "SyncJobHandle", "SyncRunHandle"]

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", default=Any)


class _Blocking(Generic[P, T]):
    """One call: runs the coroutine on the app's event loop and returns its result."""

    def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        self._method = method

    def __get__(self, calls: SyncCalls | None, owner: type | None = None) -> Callable[P, T]:
        if calls is None:
            return cast(Callable[P, T], self._method)
        asked: Callable[P, Coroutine[Any, Any, T]] = getattr(calls.target, self._method.__name__)

        @functools.wraps(asked)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return calls.run_blocking(asked(*args, **kwargs))

        return call


class SyncCalls:
    """All calls of an app, as calls that block."""

    def __init__(self, target: AppCalls, app: App, portal: Portal) -> None:
        self.target = target
        self._app = app
        self._portal = portal

    def run_blocking(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run it on the loop of the app's connections; on the portal's loop if the app is not connected."""
        loop = self._app.loop
        if loop is None or not loop.is_running():
            return self._portal.run(coroutine)
        if loop is _running_loop():
            coroutine.close()
            raise UsageError(
                "app.sync was called on the event loop of the app, which it would block for ever",
                hint="await the same call of the app itself",
            )
        return run_on(loop, coroutine)

    # -- runs and jobs ------------------------------------------------------------------------------------

    def start(
        self,
        workflow: str | Workflow[R],
        input: RunInput | None = None,
        *,
        result_type: type[R] | None = None,
        connection: Connection | None = None,
        **more: Unpack[StartOptions],
    ) -> SyncRunHandle[R]:
        """Start a run. A second start with the same `key` (or `trigger`) returns the first run."""
        starting = self.target.start(workflow, input, result_type=result_type, connection=connection, **more)
        return SyncRunHandle(self.run_blocking(starting), self)

    def run(
        self,
        workflow: str | Workflow[R],
        input: RunInput | None = None,
        *,
        result_type: type[R] | None = None,
        limit_seconds: float | None = 60.0,
        **more: Unpack[StartOptions],
    ) -> R:
        """Start a run and wait for its result."""
        return self.run_blocking(
            self.target.run(workflow, input, result_type=result_type, limit_seconds=limit_seconds, **more)
        )

    def start_many(
        self,
        workflow: str | Workflow[R],
        inputs: Sequence[RunInput],
        *,
        keys: Sequence[str] | None = None,
        priority: int = 0,
        workspace: str | None = None,
        labels: Mapping[str, str] | None = None,
        result_type: type[R] | None = None,
        connection: Connection | None = None,
    ) -> list[SyncRunHandle[R]]:
        """Start many runs in one call and one commit."""
        starting = self.target.start_many(
            workflow, inputs, keys=keys, priority=priority, workspace=workspace, labels=labels,
            result_type=result_type, connection=connection,
        )  # fmt: skip
        return [SyncRunHandle(handle, self) for handle in self.run_blocking(starting)]

    def find_run(
        self, run: int | str | Workflow[R], key: str | None = None, *, result_type: type[R] | None = None
    ) -> SyncRunHandle[R]:
        """An existing run: by its number, or by its workflow and key."""
        return SyncRunHandle(self.run_blocking(self.target.find_run(run, key, result_type=result_type)), self)

    def wait(
        self,
        runs: Iterable[SyncRunHandle[R]],
        *,
        until: Until = "all",
        limit_seconds: float | None = 60.0,
    ) -> SyncWaited[R]:
        """Wait until all of these runs have ended, or the first one. At the limit, return what has ended."""
        handles = [run.handle for run in runs]
        found = self.run_blocking(self.target.wait(handles, until=until, limit_seconds=limit_seconds))
        return SyncWaited(found.ended, [SyncRunHandle(handle, self) for handle in found.open])

    def signal(
        self,
        target: SyncRunHandle[Any] | SyncJobHandle[Any] | int | tuple[str, str],
        event_type: str,
        payload: Mapping[str, Any] | None = None,
        *,
        event_id: str | None = None,
        connection: Connection | None = None,
    ) -> Signalled:
        """Send an event to a run: by handle, number or (workflow, key). Once for each `event_id`."""
        to = target.handle if isinstance(target, SyncRunHandle | SyncJobHandle) else target
        return self.run_blocking(
            self.target.signal(to, event_type, payload, event_id=event_id, connection=connection)
        )

    def enqueue(
        self,
        operation: str,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        connection: Connection | None = None,
        result_type: type[R] | None = None,
        **more: Unpack[JobOptions],
    ) -> SyncJobHandle[R]:
        """Enqueue one free-standing job. A second call with the same `key` returns the first job."""
        making = self.target.enqueue(
            operation, payload, key=key, connection=connection, result_type=result_type, **more
        )
        return SyncJobHandle(self.run_blocking(making), self)

    def enqueue_many(
        self,
        operation: str,
        payloads: Sequence[Mapping[str, Any]],
        *,
        keys: Sequence[str] | None = None,
        connection: Connection | None = None,
        result_type: type[R] | None = None,
        **more: Unpack[JobOptions],
    ) -> list[SyncJobHandle[R]]:
        """Enqueue many jobs in one call and one commit."""
        making = self.target.enqueue_many(
            operation, payloads, keys=keys, connection=connection, result_type=result_type, **more
        )
        return [SyncJobHandle(handle, self) for handle in self.run_blocking(making)]

    def reverse(self, receipt_id: int, *, reason: str | None = None) -> SyncJobHandle:
        """Enqueue a job that undoes an effect; a worker with the connector runs it, and policy judges it."""
        return SyncJobHandle(self.run_blocking(self.target.reverse(receipt_id, reason=reason)), self)

    runs = _Blocking(RunCalls.runs)
    run_count = _Blocking(RunCalls.run_count)

    # -- people -------------------------------------------------------------------------------------------

    person_set = _Blocking(PeopleCalls.person_set)
    inbox = _Blocking(PeopleCalls.inbox)
    step_id_of = _Blocking(PeopleCalls.step_id_of)
    step = _Blocking(PeopleCalls.step)
    tasks = _Blocking(PeopleCalls.tasks)
    why = _Blocking(PeopleCalls.why)
    unblock_path = _Blocking(PeopleCalls.unblock_path)
    step_assign = _Blocking(PeopleCalls.step_assign)
    step_claim = _Blocking(PeopleCalls.step_claim)
    step_release = _Blocking(PeopleCalls.step_release)
    step_delegate = _Blocking(PeopleCalls.step_delegate)
    step_wait = _Blocking(PeopleCalls.step_wait)
    step_resume = _Blocking(PeopleCalls.step_resume)
    step_block = _Blocking(PeopleCalls.step_block)
    step_unblock = _Blocking(PeopleCalls.step_unblock)
    step_comment = _Blocking(PeopleCalls.step_comment)
    step_comments = _Blocking(PeopleCalls.step_comments)
    step_checkpoints = _Blocking(PeopleCalls.step_checkpoints)
    step_block_escalate = _Blocking(PeopleCalls.step_block_escalate)
    step_complete = _Blocking(PeopleCalls.step_complete)
    declare_cannot_complete = _Blocking(PeopleCalls.declare_cannot_complete)
    escalate = _Blocking(PeopleCalls.escalate)
    step_deadline_change = _Blocking(PeopleCalls.step_deadline_change)
    correction_preview = _Blocking(PeopleCalls.correction_preview)
    step_reopen_for_correction = _Blocking(PeopleCalls.step_reopen_for_correction)
    approval_request = _Blocking(PeopleCalls.approval_request)
    approval_decide = _Blocking(PeopleCalls.approval_decide)
    approval_withdraw = _Blocking(PeopleCalls.approval_withdraw)
    approvals = _Blocking(PeopleCalls.approvals)
    approval = _Blocking(PeopleCalls.approval)

    # -- content and policy -------------------------------------------------------------------------------

    content_write = _Blocking(ContentCalls.content_write)
    content_versions = _Blocking(ContentCalls.content_versions)
    content = _Blocking(ContentCalls.content)
    content_diff = _Blocking(ContentCalls.content_diff)
    step_content = _Blocking(ContentCalls.step_content)
    content_split = _Blocking(ContentCalls.content_split)
    content_merge = _Blocking(ContentCalls.content_merge)
    content_restage = _Blocking(ContentCalls.content_restage)
    content_cuts = _Blocking(ContentCalls.content_cuts)
    content_cut_retry = _Blocking(ContentCalls.content_cut_retry)
    content_cut_cancel = _Blocking(ContentCalls.content_cut_cancel)
    content_life = _Blocking(ContentCalls.content_life)
    policy_check = _Blocking(GovernCalls.policy_check)
    policy_test = _Blocking(GovernCalls.policy_test)
    policy_explain = _Blocking(GovernCalls.policy_explain)
    policy_propose = _Blocking(GovernCalls.policy_propose)
    policy_activate = _Blocking(GovernCalls.policy_activate)
    policies = _Blocking(GovernCalls.policies)
    policy = _Blocking(GovernCalls.policy)
    verdicts = _Blocking(GovernCalls.verdicts)
    problems = _Blocking(GovernCalls.problems)
    problem = _Blocking(GovernCalls.problem)
    problem_close = _Blocking(GovernCalls.problem_close)
    lags = _Blocking(GovernCalls.lags)
    lag_trend = _Blocking(GovernCalls.lag_trend)
    receipts = _Blocking(GovernCalls.receipts)
    receipt = _Blocking(GovernCalls.receipt)
    receipt_settle = _Blocking(GovernCalls.receipt_settle)
    workers = _Blocking(WorkerGovernCalls.workers)
    worker = _Blocking(WorkerGovernCalls.worker)
    worker_freeze = _Blocking(WorkerGovernCalls.worker_freeze)
    worker_unfreeze = _Blocking(WorkerGovernCalls.worker_unfreeze)
    worker_drain = _Blocking(WorkerGovernCalls.worker_drain)
    worker_drain_end = _Blocking(WorkerGovernCalls.worker_drain_end)
    executor_list = _Blocking(WorkerGovernCalls.executor_list)
    executor = _Blocking(WorkerGovernCalls.executor)
    executor_freeze = _Blocking(WorkerGovernCalls.executor_freeze)
    executor_unfreeze = _Blocking(WorkerGovernCalls.executor_unfreeze)
    summaries = _Blocking(WorkerGovernCalls.summaries)
    summary_events = _Blocking(WorkerGovernCalls.summary_events)
    summary_write = _Blocking(WorkerGovernCalls.summary_write)

    # -- workflows, schedules, tenants --------------------------------------------------------------------

    workflows = _Blocking(WorkflowCalls.workflows)
    workflow = _Blocking(WorkflowCalls.workflow)
    workflow_versions = _Blocking(WorkflowCalls.workflow_versions)
    workflow_caps_set = _Blocking(WorkflowCalls.workflow_caps_set)
    event_type_register = _Blocking(WorkflowCalls.event_type_register)
    schedule_set = _Blocking(ScheduleCalls.schedule_set)
    schedules = _Blocking(ScheduleCalls.schedules)
    schedule = _Blocking(ScheduleCalls.schedule)
    schedule_times = _Blocking(ScheduleCalls.schedule_times)
    schedule_pause = _Blocking(ScheduleCalls.schedule_pause)
    schedule_resume = _Blocking(ScheduleCalls.schedule_resume)
    schedule_delete = _Blocking(ScheduleCalls.schedule_delete)
    job_template_register = _Blocking(GraphCalls.job_template_register)
    job_templates = _Blocking(GraphCalls.job_templates)
    job_template = _Blocking(GraphCalls.job_template)
    graph_emit = _Blocking(GraphCalls.graph_emit)
    job_workflows = _Blocking(GraphCalls.job_workflows)
    job_workflow = _Blocking(GraphCalls.job_workflow)
    graph_jobs = _Blocking(GraphCalls.graph_jobs)
    graph_retry = _Blocking(GraphCalls.graph_retry)
    graph_refresh = _Blocking(GraphCalls.graph_refresh)
    event_route_set = _Blocking(GraphCalls.event_route_set)
    event_routes = _Blocking(GraphCalls.event_routes)
    event_route_delete = _Blocking(GraphCalls.event_route_delete)
    tenants = _Blocking(TenantCalls.tenants)
    tenant = _Blocking(TenantCalls.tenant)
    tenant_set = _Blocking(TenantCalls.tenant_set)
    workspaces = _Blocking(TenantCalls.workspaces)
    workspace_set = _Blocking(TenantCalls.workspace_set)


class SyncApp(SyncCalls):
    """`app.sync`: also `with app.sync as calls:`, which connects first and closes at the end."""

    def __init__(self, app: App) -> None:
        super().__init__(app, app, Portal())
        # A program may end without `close`; then this closes the connections and the embedded server.
        self._at_exit = functools.partial(_close_at_exit, weakref.ref(self))
        atexit.register(self._at_exit)

    def acting_as(self, actor: str) -> SyncCalls:
        """The same calls for another actor."""
        return SyncCalls(self._app.acting_as(actor), self._app, self._portal)

    def prepare(self) -> str:
        """Start or find the database, migrate it, publish operations and workflows; return its address."""
        return self.run_blocking(self._app.prepare())

    def migrate(self) -> Report:
        """Migrate the database to the schema of this release; return what was applied."""
        return self.run_blocking(self._app.migrate())

    def close(self) -> None:
        """Close the connections, the embedded server and the thread; the next call connects again."""
        if self._portal.is_open:
            self._portal.run(self._app.disconnect())
            self._portal.close()
            self._app.stop_server()

    def __enter__(self) -> Self:
        self.prepare()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _close_at_exit(reference: weakref.ref[SyncApp]) -> None:
    app = reference()
    if app is not None:
        app.close()
