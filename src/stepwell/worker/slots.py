"""Count the slots of a worker: how many leases it can have at the same time, and how many are free."""

from __future__ import annotations


class Slots:
    """A slot is taken when a claim is sent, and free again when the report is accepted."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.free_count = count

    @property
    def busy_count(self) -> int:
        return self.count - self.free_count

    def take(self, count: int) -> None:
        """More slots than are free may be taken, for calls that still run after their report."""
        self.free_count -= count

    def free(self, count: int) -> None:
        self.free_count += count
