"""What every connector takes and gives: an `Action` in, an `Effect` out, or one of three errors that say if
anything happened there: `EffectRefused` (no, and never), `EffectUnavailable` (no, try again), `EffectUnknown`
(sent, and the answer was lost: only `confirm` can tell). No input or output here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from stepwell.errors import StepwellError

__all__ = [
    "Action",
    "Connector",
    "Effect",
    "EffectRefused",
    "EffectUnavailable",
    "EffectUnknown",
    "OperationSpec",
    "Reversal",
    "Usage",
]


@dataclass(frozen=True, slots=True)
class Action:
    """One call to another system, as policy judged it. The key is the same on every attempt."""

    tenant_id: int
    connector: str
    operation: str
    target: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str = ""
    reversible: bool = False


@dataclass(frozen=True, slots=True)
class Reversal:
    """The operation of the same connector that undoes an effect."""

    operation: str
    target: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call consumed; `cost_micros` are millionths of `currency`."""

    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_micros: int
    currency: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What happened: JSON-able, without any secret, small enough for a receipt."""

    result: Any
    external_id: str | None = None
    prior: Mapping[str, Any] | None = None
    reversal: Reversal | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class OperationSpec:
    """What is true of every call of one operation.

    writes: it changes the other system. idempotent: the other system itself drops a repeat of the same key.
    reversible: its effect can carry a `Reversal`. confirmable: `confirm` can tell whether it happened.
    """

    writes: bool
    idempotent: bool
    reversible: bool
    confirmable: bool


@runtime_checkable
class Connector(Protocol):
    """One kind of other system. It holds its own settings and secret references, and no database."""

    @property
    def name(self) -> str: ...

    @property
    def operations(self) -> Mapping[str, OperationSpec]: ...

    async def perform(self, action: Action) -> Effect:
        """Do it once. Raises EffectRefused, EffectUnavailable or EffectUnknown."""
        ...

    async def confirm(self, action: Action) -> Effect | None:
        """Find out what became of an earlier `perform`. None: surely not done. Raises EffectUnknown when it
        cannot know, EffectUnavailable when the other system cannot be asked now."""
        ...


class EffectRefused(StepwellError):
    """Permanent; surely no effect."""

    code = "effect_refused"


def no_such_operation(name: str, operation: str, known: Iterable[str]) -> EffectRefused:
    return EffectRefused(f"{name} has no operation {operation!r}", hint=f"it has {', '.join(known)}")


class EffectUnavailable(StepwellError):
    """Transient; surely no effect. `retry_after_seconds` is what the other system asked for, if it did."""

    code = "effect_unavailable"

    def __init__(
        self,
        message: str,
        *,
        retry_after_seconds: float | None = None,
        detail: str | None = None,
        hint: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint, field=field)
        self.retry_after_seconds = retry_after_seconds

    @property
    def is_transient(self) -> bool:
        return True


class EffectUnknown(StepwellError):
    """Sent, and the answer was lost: the effect may or may not exist."""

    code = "effect_unknown"
