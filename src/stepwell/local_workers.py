"""The workers of this process: receives them as they come and go, returns what a client asks of them.

A client with a worker at its side starts a run in one commit with the lease of its first steps, and hears the
end of a run from whoever ended it.
"""

from __future__ import annotations

from typing import Protocol

from stepwell.store.calls.runs import RunStart, Started


class LocalWorker(Protocol):
    """What a client asks of a worker of its process."""

    async def start_run(self, start: RunStart) -> Started | None:
        """Start a run and take up its first steps in one commit; None when that cannot be done now."""

    def holds_step_of(self, run_id: int) -> bool:
        """A step of the run is leased, or its report on the way."""


class LocalWorkers:
    """Those that run now, of this process and this client's database."""

    def __init__(self) -> None:
        self._workers: list[LocalWorker] = []

    def meet(self, worker: LocalWorker) -> None:
        self._workers.append(worker)

    def part(self, worker: LocalWorker) -> None:
        if worker in self._workers:
            self._workers.remove(worker)

    async def start(self, start: RunStart) -> Started | None:
        """Through one that has nothing else to do; None when there is none."""
        for worker in self._workers:
            started = await worker.start_run(start)
            if started is not None:
                return started
        return None

    def holds_step_of(self, run_id: int) -> bool:
        return any(worker.holds_step_of(run_id) for worker in self._workers)
