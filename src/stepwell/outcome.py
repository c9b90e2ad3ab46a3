"""The outcomes that a handler can return instead of a plain value; frozen, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from stepwell.define.duration import Duration

__all__ = ["Completed", "Dead", "OutboundEvent", "OutcomeKind", "RetryLater", "Waiting"]


class OutcomeKind(StrEnum):
    """The values that `fn_job_report` accepts."""

    COMPLETED = "completed"
    FAILED = "failed"
    RETRY = "retry"
    DEAD = "dead"
    WAITING = "waiting"
    SLEEP = "sleep"
    RELEASED = "released"
    EVALUATED = "evaluated"
    OVERSIZED = "oversized"


@dataclass(frozen=True, slots=True)
class Completed:
    """The step is completed. The same as returning the value itself."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class OutboundEvent:
    """An event that is sent in the same commit as the outcome."""

    type: str
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Wait until an event of this type arrives; then the handler runs again and reads `ctx.event`."""

    event: str
    timeout: Duration | None = None
    outbound: Sequence[OutboundEvent] = ()


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Try again after a while, if attempts are left. The source documents call it `Retry`."""

    after: Duration | None = None
    reason: str = "the handler asked for another attempt"


@dataclass(frozen=True, slots=True)
class Dead:
    """Do not try again: the step cannot be completed."""

    reason: str
