"""Wait for the ends of many runs: receives their handles, returns which have ended and how.

One call marks all runs as watched. The database then notifies the end of each, and only the runs that it
names are read again. From time to time all open runs are read, in case a notification was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from stepwell.handles import RunHandle, RunOutcome, Waited
from stepwell.store.calls.runs import RUN_ENDS

if TYPE_CHECKING:
    from stepwell.client import Client

__all__ = ["Until", "wait_for_runs"]

R = TypeVar("R")
Until = Literal["all", "first"]

# All open runs are read after so long without a notification; one second more for each thousand runs.
LOOK_SECONDS = 0.5
LOOK_SECONDS_PER_RUN = 0.001


async def wait_for_runs(
    client: Client, runs: Sequence[RunHandle[R]], until: Until, limit_seconds: float | None
) -> Waited[R]:
    waiting = _Waiting(client, {run.id: run for run in runs})
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_seconds):
            await waiting.until(until)
    return Waited(waiting.ended, list(waiting.open.values()))


class _Waiting(Generic[R]):
    """The runs that are still open, and the outcomes of the others in the order of their ends."""

    def __init__(self, client: Client, runs: dict[int, RunHandle[R]]) -> None:
        self._client = client
        self.open = runs
        self.ended: list[RunOutcome[R]] = []

    async def until(self, until: Until) -> None:
        await self._client.hear_ends()
        with self._client.run_ends.expecting(*self.open) as end:
            self._take(await self._client.watch_runs(list(self.open)))
            while self.open and not (until == "first" and self.ended):
                await end.wait(max(LOOK_SECONDS, len(self.open) * LOOK_SECONDS_PER_RUN))
                told = end.take()
                self._take({run_id: outcome for run_id, outcome in told.items() if outcome is not None})
                asked = [run_id for run_id in (told or self.open) if run_id in self.open]
                if asked:
                    self._take(await self._client.watch_runs(asked))

    def _take(self, outcomes: Mapping[int, tuple[str, Any]]) -> None:
        for run_id, (state, result) in outcomes.items():
            if state in RUN_ENDS and run_id in self.open:
                self.ended.append(self.open.pop(run_id).outcome_of(state, result))
