"""Remember the leases of this worker: each unit from its lease until its report is accepted."""

from __future__ import annotations

from stepwell.store.calls.leases import Lease, LeaseKey

# The id of a unit is the id of its run and, in the last 20 bits, its number in the run.
UNIT_NO_BITS = 20


class HeldLeases:
    """Unit → lease; also if the handler has ended and its report is not accepted yet."""

    def __init__(self) -> None:
        self._keys: dict[int, LeaseKey] = {}
        # The newest batch of leases that arrived here.
        self.last_batch_id = 0

    def add(self, lease: Lease) -> None:
        tenant_id, unit_id, lease_no, batch_id = lease[:4]
        if batch_id > self.last_batch_id:
            self.last_batch_id = batch_id
        self._keys[unit_id] = (tenant_id, unit_id, lease_no)

    def add_unknown(self, key: LeaseKey) -> bool:
        """Add a lease whose answer was lost; false if the lease is known."""
        if self._keys.get(key[1]) == key:
            return False
        self._keys[key[1]] = key
        return True

    def forget(self, unit_id: int, lease_no: int) -> None:
        key = self._keys.get(unit_id)
        if key is not None and key[2] == lease_no:
            del self._keys[unit_id]

    def keys(self) -> list[LeaseKey]:
        """All leases of this worker."""
        return list(self._keys.values())

    def has_unit_of(self, run_id: int) -> bool:
        return any(unit_id >> UNIT_NO_BITS == run_id for unit_id in self._keys)
