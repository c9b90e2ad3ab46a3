"""Handles of runs and jobs: receives a client and a number, returns state, result, steps and events.

`RunHandle[Invoice]` names the type that `result()` returns: the `output` of the workflow, or `result_type`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, cast

from typing_extensions import TypeVar

from stepwell.errors import Conflict, InvalidInput, NotFound
from stepwell.store.calls import jobs, run_list, runs, views
from stepwell.store.calls.runs import RUN_ENDS

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from stepwell.client import Client
    from stepwell.store.calls.events import RunEvent
    from stepwell.store.calls.run_list import Run
    from stepwell.store.calls.runs import Signalled
    from stepwell.store.calls.views import RunStep

__all__ = ["JobHandle", "RunFailed", "RunHandle", "RunOutcome", "Waited"]

R = TypeVar("R", default=Any)


class RunFailed(Conflict):
    """The run ended without a result: `state` is failed or cancelled; `step` and `error` give the reason."""

    code = "run_failed"

    def __init__(self, run_id: int, state: str, step: str | None = None, error: Any = None) -> None:
        said = f": step {step}" if step else ""
        if isinstance(error, Mapping):
            said += f": {error.get('type', 'Error')}: {error.get('message', '')}"
        super().__init__(
            f"run {run_id} {state}{said}", hint=f"'stepwell runs show {run_id}' shows every step"
        )
        self.run_id = run_id
        self.state = state
        self.step = step
        self.error = error


@dataclass(frozen=True, slots=True)
class RunOutcome(Generic[R]):
    """State and result of a run; `result` is None unless `state` is completed."""

    run_id: int
    state: str
    result: R | None

    @property
    def has_ended(self) -> bool:
        return self.state in RUN_ENDS


@dataclass(frozen=True, slots=True)
class Waited(Generic[R]):
    """The result of waiting for runs: the outcomes of ended runs in order of their end, and the open runs."""

    ended: list[RunOutcome[R]]
    open: list[RunHandle[R]]


@dataclass(frozen=True, slots=True)
class RunHandle(Generic[R]):
    """A run, by number. `is_new` is false if an earlier start with the same key started it."""

    client: Client
    id: int
    is_new: bool = True
    is_watched: bool = False
    result_type: type[R] | None = None

    async def state(self) -> str:
        """The state of the run now."""
        return (await self.client.run_outcome(self.id))[0]

    async def outcome(self) -> RunOutcome[R]:
        """State and result of the run now, without waiting."""
        return self.outcome_of(*await self.client.run_outcome(self.id))

    async def wait(self, limit_seconds: float | None = 60.0) -> RunOutcome[R]:
        """Wait for the end of the run. Raises TimeoutError at the limit; the run continues."""
        return self.outcome_of(*await self.client.run_end(self.id, limit_seconds, is_watched=self.is_watched))

    async def result(self, limit_seconds: float | None = 60.0) -> R:
        """Wait for the end and return the result. Raises RunFailed if the run failed or was cancelled."""
        state, result = await self.client.run_end(self.id, limit_seconds, is_watched=self.is_watched)
        if state != "completed":
            raise await self._failure(state)
        return as_type(self.result_type, result, f"run {self.id}")

    async def info(self) -> Run:
        """The run with its counts, times and input."""
        found = await self.client.perform(run_list.run(self.client.tenant_id, self.id))
        if found is None:
            raise NotFound(f"run {self.id} does not exist", field="run")
        return found

    async def steps(self, *, with_reasons: bool = False) -> list[RunStep]:
        """Its steps in the order of the graph; `with_reasons`: also why each open step is not running."""
        return await self.client.perform(
            views.steps(self.client.tenant_id, self.id, with_reasons=with_reasons)
        )

    def events(self, *, after: int = 0, follow: bool = False) -> AsyncGenerator[RunEvent, None]:
        """Its log: `async for event in run.events()`; with `follow` also new events, until the run has ended.

        `after` is the `event_id` of the last event that you have read.
        """
        from stepwell import events

        read = events.follow_events if follow else events.read_events
        return read(self.client, self.id, after)

    async def signal(
        self, event_type: str, payload: Mapping[str, Any] | None = None, *, event_id: str | None = None
    ) -> Signalled:
        """Send an event to the run, once for each `event_id`."""
        return await self.client.signal(self, event_type, payload, event_id=event_id)

    async def cancel(
        self, reason: str | None = None, approval_id: int | None = None, *, key: str | None = None
    ) -> str:
        """Cancel the run; `approval_id` is the granted approval, if the installation requires one.

        This and the other changes of a run take a `key`: a repeat with the same key changes nothing and
        returns the first answer, whatever has happened since.
        """
        client = self.client
        return await client.perform(
            runs.cancel_run(client.tenant_id, self.id, client.actor, reason, approval_id, key)
        )

    async def label(self, labels: Mapping[str, str | None]) -> dict[str, str]:
        """Set labels of the run, and remove those that are None. Returns its labels."""
        call = runs.label_runs(self.client.tenant_id, [self.id], labels, self.client.actor)
        return (await self.client.perform(call))[self.id]

    async def pause(self, *, key: str | None = None) -> str:
        """Start no further step until the run is resumed; running steps may finish."""
        client = self.client
        return await client.perform(runs.pause_run(client.tenant_id, self.id, client.actor, key))

    async def resume(self, *, key: str | None = None) -> str:
        """Resume the run that was paused; returns its state."""
        client = self.client
        return await client.perform(runs.resume_run(client.tenant_id, self.id, client.actor, key))

    async def retry(self, reason: str | None = None, *, key: str | None = None) -> Any:
        """Queue the steps again that could not be completed."""
        client = self.client
        return await client.perform(runs.retry_run(client.tenant_id, self.id, client.actor, reason, key))

    def outcome_of(self, state: str, result: Any) -> RunOutcome[R]:
        """The outcome from the database, with the result in its declared type."""
        typed = as_type(self.result_type, result, f"run {self.id}") if state == "completed" else None
        return RunOutcome(self.id, state, typed)

    async def _failure(self, state: str) -> RunFailed:
        found = await self.client.perform(views.failed_step(self.client.tenant_id, self.id))
        return RunFailed(self.id, state, *(found or (None, None)))


@dataclass(frozen=True, slots=True)
class JobHandle(Generic[R]):
    """A free-standing job. `is_new` is false if an earlier call with the same key enqueued it."""

    client: Client
    id: int
    is_new: bool = True
    result_type: type[R] | None = None

    async def state(self) -> str:
        """The state of the job now."""
        return (await self.client.job_outcome(self.id))[0]

    async def result(self, limit_seconds: float | None = 60.0) -> R:
        """Wait for the end and return the result. Raises Conflict if the job did not complete."""
        state, result = await self.client.until(
            lambda: self.client.job_outcome(self.id), jobs.JOB_ENDS, limit_seconds
        )
        if state != "completed":
            raise Conflict(f"job {self.id} {state}")
        return as_type(self.result_type, result, f"job {self.id}")

    async def cancel(self, reason: str | None = None, *, key: str | None = None) -> str:
        """Cancel the job; returns its state."""
        client = self.client
        return await client.perform(jobs.cancel_job(client.tenant_id, self.id, client.actor, reason, key))


def as_type(kind: type[R] | None, value: Any, what: str) -> R:
    """The value converted to this type; unchanged if no type is declared."""
    if kind is None or kind is Any:
        return value  # type: ignore[no-any-return]
    from pydantic import ValidationError
    from pydantic_core import to_json

    adapter: TypeAdapter[R] = _adapter(cast(Any, kind))
    try:
        return adapter.validate_json(to_json(value))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(
            f"{what}: the result is not {getattr(kind, '__name__', kind)}: {place or 'it'}: {first['msg']}",
            hint="declare the type that its last step returns; without a type every result is accepted",
            field="result_type",
        ) from error


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    # Imported here because most callers declare no type.
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
