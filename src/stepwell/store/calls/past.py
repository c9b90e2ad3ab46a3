"""Read a past state of a run: receives a position in the log or a time, returns the state of every unit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from stepwell.errors import InvalidInput
from stepwell.store.connection.call import Call

POSITION_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PastState:
    """A unit at that time; `event_id` is its last event until then, None if it had none."""

    unit_id: int
    scope: str
    step_id: str | None
    item_no: int | None
    state_code: str
    since_at: datetime
    event_id: int | None

    @property
    def name(self) -> str:
        if self.step_id is None:
            return "run"
        return self.step_id if self.item_no is None else f"{self.step_id}[{self.item_no}]"


def state_at(tenant: int, run_id: int, point: int | datetime) -> Call[list[PastState]]:
    event_id, moment = (point, None) if isinstance(point, int) else (None, point)
    return Call(
        "select * from stepwell.fn_run_state_at(%s, %s, %s, %s)",
        (tenant, run_id, event_id, moment),
        lambda rows: [PastState(*row) for row in rows],
    )


def read_point(text: str) -> int | datetime:
    """A position (the number of an event) or a time (ISO 8601 with a zone)."""
    if text.isascii() and text.isdigit() and int(text) <= POSITION_LIMIT:
        return int(text)
    try:
        found = datetime.fromisoformat(text)
        # PostgreSQL knows fewer offsets than Python.
        moment = None if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        raise InvalidInput(
            f"at: {text!r} is neither the number of an event nor a time with a zone",
            hint="write 1234, or 2026-03-01T14:00:00+01:00",
            field="at",
        )
    return moment
