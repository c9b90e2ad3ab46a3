"""The verdict of a check of the log: what was read, and the problems in the order of the log."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepwell.govern.verify import Problem


@dataclass(slots=True)
class Life:
    """How many units of a kind began, and how many of them ended; the others are open."""

    began_count: int = 0
    ended_count: int = 0

    @property
    def open_count(self) -> int:
        return self.began_count - self.ended_count


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
    # How many blocks the anchor vouches for, and the newest of them.
    anchored_count: int = 0
    anchored_until: int = 0
    # The number of the block that the caller named by its hash.
    head_no: int | None = None
    # The rows of units and the definitions of workflows and policies that were compared.
    unit_count: int = 0
    definition_count: int = 0
    # The values beside the log that were compared; the runs and jobs that retention has removed with theirs.
    value_count: int = 0
    removed_count: int = 0
    # Of these, the ones that only their age explains: an earlier release removed them without an event.
    untold_count: int = 0
    # The fewest days after which retention removed something; the last changes of settings that decide it.
    kept_days: int | None = None
    setting_changes: list[str] = field(default_factory=list)
    # The records beside the log that were compared, and those of earlier releases that cannot be.
    approval_count: int = 0
    vote_count: int = 0
    verdict_count: int = 0
    receipt_count: int = 0
    earlier_count: int = 0
    # Kind of a unit → how many began and ended, and how many are open; some of the open ones, by name.
    lives: dict[str, Life] = field(default_factory=dict)
    open_units: list[str] = field(default_factory=list)
    # How often policy allowed, denied or asked. A verdict without its outcome is a problem.
    verdict_effects: dict[str, int] = field(default_factory=dict)

    # False: the caller does not own the tables, and the database decides which rows it sees.
    is_owner: bool = True
    # The views of the database that were read in place of tables, because the caller may not read the tables.
    views: list[str] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        return not self.problems

    def say(self, kind: str, place: str, detail: str) -> None:
        self.problems.append(Problem(kind, place, detail))
