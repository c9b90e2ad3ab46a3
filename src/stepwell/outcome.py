"""What a handler hands back besides a plain value; frozen, no I/O. `report` turns it into one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from stepwell.define.duration import Duration

__all__ = ["Completed", "Dead", "OutboundEvent", "OutcomeKind", "RetryLater", "Waiting"]


class OutcomeKind(StrEnum):
    """The words `fn_job_report` accepts."""

    COMPLETED = "completed"
    FAILED = "failed"
    RETRY = "retry"
    DEAD = "dead"
    WAITING = "waiting"
    SLEEP = "sleep"
    RELEASED = "released"
    OVERSIZED = "oversized"


@dataclass(frozen=True, slots=True)
class Completed:
    """Done. The same as returning the value itself."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class OutboundEvent:
    """An event that leaves with the same commit as the outcome."""

    type: str
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Park until an event of this type arrives; the handler runs again and reads `ctx.event`."""

    event: str
    timeout: Duration | None = None
    outbound: Sequence[OutboundEvent] = ()


@dataclass(frozen=True, slots=True)
class RetryLater:
    """The document's `Retry`: try again after a while, within the attempts that are left."""

    after: Duration | None = None
    reason: str = "the handler asked for another attempt"


@dataclass(frozen=True, slots=True)
class Dead:
    """Never try again: the unit cannot be completed."""

    reason: str
