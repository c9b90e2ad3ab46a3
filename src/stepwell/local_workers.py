"""The workers in the same process as a client: the client starts runs through them.

Such a worker starts a run and leases its first steps in one commit, and gives the client the outcome of a run
that it ended.
"""

from __future__ import annotations

from typing import Protocol

from stepwell.store.calls.runs import RunStart, Started


class LocalWorker(Protocol):
    """The calls of a client to a worker in its process."""

    async def start_run(self, start: RunStart) -> Started | None:
        """Start a run and lease its first steps in one commit; None if that is not possible now."""

    def holds_step_of(self, run_id: int) -> bool:
        """True if the worker has a lease of a step of the run, or has not finished its report."""


class LocalWorkers:
    """The running workers in this process that use the client's database."""

    def __init__(self) -> None:
        self._workers: list[LocalWorker] = []

    def add(self, worker: LocalWorker) -> None:
        self._workers.append(worker)

    def remove(self, worker: LocalWorker) -> None:
        if worker in self._workers:
            self._workers.remove(worker)

    async def start(self, start: RunStart) -> Started | None:
        """Start the run through an idle worker; None if there is none."""
        for worker in self._workers:
            started = await worker.start_run(start)
            if started is not None:
                return started
        return None

    def holds_step_of(self, run_id: int) -> bool:
        return any(worker.holds_step_of(run_id) for worker in self._workers)
