"""Document 001 as a slow oracle: receives a template and what happened, returns the state of each job.

It shares nothing with the engine: it counts nothing, and derives every state again from what happened.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BROKEN = ("cannot_complete", "cancelled")


@dataclass
class JobGraphOracle:
    """The facts: which jobs are leased, failed once, have completed, are dead, were cancelled by somebody."""

    jobs: list[dict[str, Any]]
    leased: set[str] = field(default_factory=set)
    failed: dict[str, int] = field(default_factory=dict)
    completed: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    called_off: set[str] = field(default_factory=set)
    is_late: bool = False
    is_cancelled: bool = False

    def states(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for one in self.jobs:  # parents come first
            found[one["local_id"]] = self._state(one, found)
        return found

    def _state(self, one: dict[str, Any], found: dict[str, str]) -> str:
        name = one["local_id"]
        facts = {
            "completed": self.completed, "cannot_complete": self.dead, "cancelled": self.called_off,
            "in_progress": self.leased, "failed": self.failed,
        }  # fmt: skip
        for state, names in facts.items():
            if name in names:
                return state
        if self.is_cancelled:
            return "cancelled"
        parents = [found[parent] for parent in one.get("parents", [])]
        is_any = one.get("join") == "any"
        broken = [state in BROKEN for state in parents]
        if parents and (all(broken) if is_any else any(broken)):
            return "cancelled"
        done = [state == "completed" for state in parents]
        is_released = any(done) if is_any else all(done)
        return "ready" if is_released and (self.is_late or not one.get("delay_seconds")) else "not_started"

    def claimable(self) -> set[str]:
        """What a worker gets now; a failed job only after its pause."""
        return {name for name, state in self.states().items() if state == "ready"}

    def status(self) -> str:
        found = list(self.states().values())
        if self.is_cancelled:
            return "cancelled"
        if any(state not in ("completed", *BROKEN) for state in found):
            return "active"
        if all(state == "completed" for state in found):
            return "succeeded"
        if "completed" in found:
            return "partially_failed"
        return "failed" if "cannot_complete" in found else "cancelled"
