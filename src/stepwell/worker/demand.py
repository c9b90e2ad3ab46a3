"""Decide when to claim: receives answers and hints, returns whether a claim may find work."""

from __future__ import annotations


class Demand:
    """While no loop has a report, one loop claims for all of them; a full answer wakes the others."""

    def __init__(self) -> None:
        self.is_asking = False
        # The last answer had fewer leases than asked for, and no hint came since.
        self.is_dry = False
        self._was_full = True
        self.hint_count = 0

    def hint(self) -> None:
        """Something may have become claimable."""
        self.hint_count += 1
        self.is_dry = False

    def note_answer(self, got: int, asked: int) -> None:
        self.is_dry = got < asked and not self._was_full
        # The database sends hints only to an idle worker, and from this call on it counts this worker as
        # idle. Work that became ready just before sent no hint, so one more claim follows a full answer.
        self._was_full = got >= asked > 0

    def note_hints_since(self, hint_count: int) -> None:
        """A hint that came while a call was under way may be about work that the call did not see."""
        if self.hint_count != hint_count:
            self.is_dry = False
