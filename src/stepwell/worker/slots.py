"""Count the slots of a worker: how many leases it can hold at the same time, and how many slots are free."""

from __future__ import annotations


class Slots:
    """A slot is taken when a lease is asked for, and free again when its report was accepted."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.free_count = count

    @property
    def busy_count(self) -> int:
        return self.count - self.free_count

    def take(self, count: int) -> None:
        """More than are free may be taken: a call that cannot be stopped keeps its slot after its report."""
        self.free_count -= count

    def free(self, count: int) -> None:
        self.free_count += count
