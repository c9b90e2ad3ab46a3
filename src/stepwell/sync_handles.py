"""Handles with calls that block: receives a handle and the SyncCalls that run its coroutines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from stepwell.handles import JobHandle, RunHandle, RunOutcome
from stepwell.store.calls.events import RunEvent
from stepwell.store.calls.run_list import Run
from stepwell.store.calls.runs import Signalled
from stepwell.store.calls.views import RunStep

if TYPE_CHECKING:
    from stepwell.sync import SyncCalls

__all__ = ["SyncJobHandle", "SyncRunHandle", "SyncWaited"]

R = TypeVar("R", default=Any)


class SyncRunHandle(Generic[R]):
    """A run, with calls that block."""

    def __init__(self, handle: RunHandle[R], calls: SyncCalls) -> None:
        self.handle = handle
        self._calls = calls

    @property
    def id(self) -> int:
        return self.handle.id

    @property
    def is_new(self) -> bool:
        return self.handle.is_new

    def state(self) -> str:
        return self._calls.run_blocking(self.handle.state())

    def outcome(self) -> RunOutcome[R]:
        """State and result of the run now, without waiting."""
        return self._calls.run_blocking(self.handle.outcome())

    def wait(self, limit_seconds: float | None = 60.0) -> RunOutcome[R]:
        """Wait for the end of the run."""
        return self._calls.run_blocking(self.handle.wait(limit_seconds))

    def result(self, limit_seconds: float | None = 60.0) -> R:
        """Wait for the end and return the result. Raises RunFailed if the run failed or was cancelled."""
        return self._calls.run_blocking(self.handle.result(limit_seconds))

    def info(self) -> Run:
        return self._calls.run_blocking(self.handle.info())

    def steps(self, *, with_reasons: bool = False) -> list[RunStep]:
        return self._calls.run_blocking(self.handle.steps(with_reasons=with_reasons))

    def events(self, *, after: int = 0, follow: bool = False) -> Iterator[RunEvent]:
        """Its log: `for event in run.events()`; with `follow` also new events, until the run has ended."""
        source = self.handle.events(after=after, follow=follow)

        async def following() -> RunEvent | None:
            return await anext(source, None)

        try:
            while (event := self._calls.run_blocking(following())) is not None:
                yield event
        finally:
            self._calls.run_blocking(source.aclose())

    def signal(
        self, event_type: str, payload: Mapping[str, Any] | None = None, *, event_id: str | None = None
    ) -> Signalled:
        return self._calls.run_blocking(self.handle.signal(event_type, payload, event_id=event_id))

    def cancel(
        self, reason: str | None = None, approval_id: int | None = None, *, key: str | None = None
    ) -> str:
        return self._calls.run_blocking(self.handle.cancel(reason, approval_id, key=key))

    def label(self, labels: Mapping[str, str | None]) -> dict[str, str]:
        """Set labels of the run, and remove those that are None. Returns its labels."""
        return self._calls.run_blocking(self.handle.label(labels))

    def pause(self, *, key: str | None = None) -> str:
        return self._calls.run_blocking(self.handle.pause(key=key))

    def resume(self, *, key: str | None = None) -> str:
        return self._calls.run_blocking(self.handle.resume(key=key))

    def retry(self, reason: str | None = None, *, key: str | None = None) -> Any:
        return self._calls.run_blocking(self.handle.retry(reason, key=key))


@dataclass(frozen=True, slots=True)
class SyncWaited(Generic[R]):
    """The result of waiting for several runs."""

    ended: list[RunOutcome[R]]
    open: list[SyncRunHandle[R]]


class SyncJobHandle(Generic[R]):
    """A free-standing job, with calls that block."""

    def __init__(self, handle: JobHandle[R], calls: SyncCalls) -> None:
        self.handle = handle
        self._calls = calls

    @property
    def id(self) -> int:
        return self.handle.id

    @property
    def is_new(self) -> bool:
        return self.handle.is_new

    def state(self) -> str:
        return self._calls.run_blocking(self.handle.state())

    def result(self, limit_seconds: float | None = 60.0) -> R:
        return self._calls.run_blocking(self.handle.result(limit_seconds))

    def cancel(self, reason: str | None = None, *, key: str | None = None) -> str:
        return self._calls.run_blocking(self.handle.cancel(reason, key=key))
