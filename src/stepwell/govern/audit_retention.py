"""What the log says about retention: receives a reader, says which removed units an event explains.

The rows of a run, job, approval or receipt may be gone only if an event `retention.removed` names its number.
Databases of earlier releases have an event `retention.began`: before it, time alone explains a removal.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stepwell.govern.audit_verdict import Verdict
from stepwell.store.calls.audit import AuditReader, Position

# Changes of these settings are named in the verdict: what is kept and what is sealed follows from them.
NAMED_SETTINGS = ("retention.", "audit.")
CHANGES_LIMIT = 10


@dataclass(frozen=True, slots=True)
class _Removal:
    first_no: int
    last_no: int
    kept_since: str


class Retention:
    """The removals that the log names, by number, and the settings that changed."""

    def __init__(self, reader: AuditReader, verdict: Verdict) -> None:
        self._removals: list[_Removal] = []
        self._began: tuple[Position, str] | None = None
        self._is_told = False
        self._verdict = verdict
        for position, kind, at, actor, payload in reader.told(
            "retention.removed", "retention.began", "setting.changed"
        ):
            told = payload if isinstance(payload, dict) else {}
            if None in (*position, at):
                continue  # a finding of its block
            if kind == "setting.changed":
                self._note_setting(told, at, actor)
            elif not isinstance(told.get("kept_since"), str):
                verdict.say("altered", f"event {position[0]}/{position[1]}", "it names no time of retention")
            elif kind == "retention.began":
                self._begin(position, at, told["kept_since"])
            else:
                self._take(position, at, told)
            self._is_told = True
        self._removals.sort(key=lambda one: one.first_no)
        self._firsts = [one.first_no for one in self._removals]

    def _begin(self, position: Position, at: str, kept_since: str) -> None:
        """Only the upgrade of a database writes it, once, before everything else that is told here."""
        if self._is_told or kept_since > at:
            detail = "retention told its removals before, or it names a time after itself"
            self._verdict.say("inserted", f"event {position[0]}/{position[1]} (retention.began)", detail)
        else:
            self._began = (position, kept_since)

    def _take(self, position: Position, at: str, told: dict[str, Any]) -> None:
        numbers = told.get("numbers")
        pairs = [one for one in numbers if _is_pair(one)] if isinstance(numbers, list) else []
        if pairs != numbers or sum(last - first + 1 for first, last in pairs) != told.get("count"):
            detail = "it does not name as many numbers as it counts"
            self._verdict.say("altered", f"event {position[0]}/{position[1]} (retention.removed)", detail)
            return
        self._removals += [_Removal(first, last, told["kept_since"]) for first, last in pairs]
        kept = (_moment(at) - _moment(told["kept_since"])).days
        before = self._verdict.kept_days
        self._verdict.kept_days = kept if before is None else min(before, kept)

    def _note_setting(self, told: dict[str, Any], at: str, actor: str | None) -> None:
        key = str(told.get("key"))
        if key.startswith(NAMED_SETTINGS):
            change = f"{key} from {told.get('before', 'nothing')} to {told.get('after', 'nothing')}"
            changes = self._verdict.setting_changes
            changes.append(f"{change} by {actor} at {at}")
            del changes[:-CHANGES_LIMIT]

    def _removal_of(self, number: int) -> _Removal | None:
        at = bisect_right(self._firsts, number) - 1
        found = self._removals[at] if at >= 0 else None
        return found if found is not None and number <= found.last_no else None

    def check_gone(self, unit_id: int, last: Position, ended_at: str) -> None:
        """The rows of this run, job, approval or receipt are gone; `last` and `ended_at`: its last change."""
        self._verdict.removed_count += 1
        found = self._removal_of(unit_id >> 20)
        if found is None:
            if self._began is None or last >= self._began[0] or ended_at >= self._began[1]:
                detail = "its rows are gone, and no event of retention says so"
                self._verdict.say("missing", f"unit {unit_id}", detail)
            else:
                self._verdict.untold_count += 1
        elif ended_at >= found.kept_since:
            detail = (
                f"retention removed it, but it ended after {found.kept_since}, the time that its event names"
            )
            self._verdict.say("missing", f"unit {unit_id}", detail)

    def check_there(self, unit_id: int) -> None:
        if self._removal_of(unit_id >> 20) is not None:
            self._verdict.say("inserted", f"unit {unit_id}", "the log says that retention removed it")


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(one) is int for one in value)
        and 0 < value[0] <= value[1]
    )


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return datetime.fromisoformat("0001-01-01T00:00:00+00:00")
