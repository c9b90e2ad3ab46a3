"""Start, find, list and signal runs: receives workflow names, keys and filters, returns handles and lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from typing_extensions import TypeVar

from stepwell.calls import Calls
from stepwell.errors import UsageError
from stepwell.handles import JobHandle, RunHandle, Waited
from stepwell.store.calls import run_list
from stepwell.store.calls import runs as calls
from stepwell.store.calls.run_list import RunFilter
from stepwell.store.connection.perform import Connection
from stepwell.waiting import Until, wait_for_runs

if TYPE_CHECKING:
    from pydantic import BaseModel

    from stepwell.define import Workflow
    from stepwell.store.calls.run_list import Run
    from stepwell.store.calls.runs import Signalled

__all__ = ["RunCalls", "RunFilter", "RunInput", "StartOptions"]

R = TypeVar("R", default=Any)
# A mapping, or a Pydantic model that becomes one.
RunInput: TypeAlias = "Mapping[str, Any] | BaseModel"


class StartOptions(TypedDict, total=False):
    """Options of a start."""

    # A second start with the same key returns the first run.
    key: str | None
    # The same for another kind of source: (kind of source, its number), such as ("mail", "1234").
    trigger: tuple[str, str] | None
    version: int | None
    priority: int
    trace_id: str | None
    correlation_id: str | None
    # A part of the tenant with its own turns in the queue; see `workspace_set`.
    workspace: str | None
    # Texts by which the run is found, such as {"customer": "Acme"}; a run that exists keeps its own.
    labels: Mapping[str, str] | None


class RunCalls(Calls):
    """All calls that start, find, list and signal runs."""

    async def start(
        self,
        workflow: str | Workflow[R],
        input: RunInput | None = None,
        *,
        result_type: type[R] | None = None,
        connection: Connection | None = None,
        **more: Unpack[StartOptions],
    ) -> RunHandle[R]:
        """Start a run. A second start with the same `key` (or `trigger`) returns the first run.

        With `connection` the start is part of that connection's transaction: it commits with your rows.
        """
        client = await self._connected()
        name, kind = _named(workflow, result_type)
        return await client.start_one(name, input, more, kind, connection)

    async def run(
        self,
        workflow: str | Workflow[R],
        input: RunInput | None = None,
        *,
        result_type: type[R] | None = None,
        limit_seconds: float | None = 60.0,
        **more: Unpack[StartOptions],
    ) -> R:
        """Start a run and wait for its result, as `start` and `result` do, with one call less."""
        client = await self._connected()
        await client.hear_ends()
        name, kind = _named(workflow, result_type)
        handle = await client.start_one(name, input, more, kind, is_watched=True)
        return await handle.result(limit_seconds)

    async def start_many(
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
    ) -> list[RunHandle[R]]:
        """Start many runs in one call and one commit; all new ones get the same `labels`."""
        client = await self._connected()
        name, kind = _named(workflow, result_type)
        start = calls.run_start(
            client.tenant_id, name, inputs, trigger_refs=keys, priority=priority, actor=client.actor,
            workspace=workspace,
        )  # fmt: skip
        started = await client.perform(calls.start_runs(start, labels), connection)
        return [RunHandle(client, run.run_id, run.is_new, result_type=kind) for run in started]

    async def find_run(
        self,
        run: int | str | Workflow[R],
        key: str | None = None,
        *,
        result_type: type[R] | None = None,
    ) -> RunHandle[R]:
        """An existing run: by its number, or by its workflow and key."""
        client = await self._connected()
        if isinstance(run, int):
            await client.run_outcome(run)
            return RunHandle(client, run, is_new=False, result_type=result_type)
        name, kind = _named(run, result_type)
        if key is None:
            raise UsageError(
                f"key is missing: which run of {name}?",
                hint="give the number of the run, or the workflow and the key of the start",
                field="key",
            )
        return RunHandle(client, await client.run_id_of((name, key)), is_new=False, result_type=kind)

    async def wait(
        self,
        runs: Iterable[RunHandle[R]],
        *,
        until: Until = "all",
        limit_seconds: float | None = 60.0,
    ) -> Waited[R]:
        """Wait until all of these runs have ended, or the first one. At the limit, return what has ended."""
        client = await self._connected()
        return await wait_for_runs(client, list(runs), until, limit_seconds)

    async def runs(
        self, *, after: int | None = None, limit: int = 50, **only: Unpack[RunFilter]
    ) -> list[Run]:
        """Runs, the newest first; for the next page give the last number of this page as `after`."""
        return await self._perform(lambda tenant: run_list.runs(tenant, after=after, limit=limit, **only))

    async def run_count(self, **only: Unpack[RunFilter]) -> int:
        """The number of runs, with the filters of `runs`."""
        return await self._perform(lambda tenant: run_list.run_count(tenant, **only))

    async def signal(
        self,
        target: RunHandle[Any] | JobHandle[Any] | int | tuple[str, str],
        event_type: str,
        payload: Mapping[str, Any] | None = None,
        *,
        event_id: str | None = None,
        connection: Connection | None = None,
    ) -> Signalled:
        """Send an event to a run: by handle, number or (workflow, key). Once for each `event_id`."""
        import uuid

        client = await self._connected()
        run_id = await client.run_id_of(target)
        call = calls.signal(
            client.tenant_id, run_id, event_type, payload or {}, event_id or uuid.uuid4().hex, client.actor
        )
        return await client.perform(call, connection)


def _named(workflow: str | Workflow[R], result_type: type[R] | None) -> tuple[str, type[R] | None]:
    """The name, and the type of the result: from the caller, else from the workflow."""
    if isinstance(workflow, str):
        return workflow, result_type
    return workflow.name, result_type or workflow.output
