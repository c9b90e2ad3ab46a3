"""The verdict of a check of the log: what was read, and the problems in the order of the log."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepwell.govern.verify import Problem


@dataclass(slots=True)
class Verdict:
    problems: list[Problem] = field(default_factory=list)
    chain_id: str | None = None
    head_hash: str | None = None
    block_count: int = 0
    event_count: int = 0
    unsealed_count: int = 0
    archived_blocks: list[int] = field(default_factory=list)
    archived_event_count: int = 0
    anchored_count: int = 0
    # The values beside the log that were compared; the runs and jobs that retention has removed with theirs.
    value_count: int = 0
    removed_count: int = 0

    @property
    def is_intact(self) -> bool:
        return not self.problems

    def say(self, kind: str, place: str, detail: str) -> None:
        self.problems.append(Problem(kind, place, detail))
