"""The outcomes that a handler can return instead of a plain value; frozen, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from stepwell.define.duration import Duration
from stepwell.errors import InvalidInput

__all__ = ["Completed", "Dead", "OutboundEvent", "OutcomeKind", "RetryLater", "WaitFacet", "Waiting"]


class WaitFacet(StrEnum):
    """What a step can wait for; the first of those that apply is the primary one."""

    DEPENDENCY = "waiting_dependency"
    HUMAN = "waiting_human"
    EXTERNAL = "waiting_external"
    TIME_GATE = "waiting_time_gate"


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
    """Wait until an event of this type arrives; then the handler runs again and reads `ctx.event`.

    `facets` says what the step waits for, if that is not (only) another system.
    """

    event: str
    timeout: Duration | None = None
    outbound: Sequence[OutboundEvent] = ()
    facets: Sequence[str] = ()

    def __post_init__(self) -> None:
        unknown = [facet for facet in self.facets if facet not in list(WaitFacet)]
        if isinstance(self.facets, str) or unknown:
            raise InvalidInput(f"facets: a list of {', '.join(WaitFacet)} is accepted")


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Try again after a while, if attempts are left. The source documents call it `Retry`."""

    after: Duration | None = None
    reason: str = "the handler asked for another attempt"


@dataclass(frozen=True, slots=True)
class Dead:
    """Do not try again: the step cannot be completed."""

    reason: str
