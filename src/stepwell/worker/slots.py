"""Count the slots of a worker: how many leases it can have at the same time, and how many are free."""

from __future__ import annotations

from collections.abc import Callable


class Slots:
    """A slot is taken when a claim is sent, and free again when the report is accepted.

    `ahead` returns how many leases the worker may have beyond its slots now.
    """

    def __init__(self, count: int, ahead: Callable[[], int]) -> None:
        self._count = count
        self._ahead = ahead
        self.busy_count = 0

    @property
    def count(self) -> int:
        return self._count + self._ahead()

    @property
    def free_count(self) -> int:
        return self.count - self.busy_count

    def take(self, count: int) -> None:
        """More slots than are free may be taken, for calls that still run after their report."""
        self.busy_count += count

    def free(self, count: int) -> None:
        self.busy_count -= count
