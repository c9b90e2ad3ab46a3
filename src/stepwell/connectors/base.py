"""The types of a connector: it receives an `Action` and returns an `Effect`, or raises one of three errors:
`EffectRefused` (no effect, do not try again), `EffectUnavailable` (no effect, try again), `EffectUnknown`
(sent, but the answer was lost: only `confirm` can find out). This module does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from stepwell.errors import StepwellError, UsageError

__all__ = [
    "Action",
    "Connector",
    "Effect",
    "EffectRefused",
    "EffectUnavailable",
    "EffectUnknown",
    "NamesEffects",
    "OperationSpec",
    "Reversal",
    "Usage",
    "effect_form",
]

FIRST_TENANT: Final = 1
_OF_A_STEP: Final = re.compile(r"@[0-9a-f]{12}:[0-9]+:[0-9]+(#[0-9]+)?\Z")
FIELD_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object")


@dataclass(frozen=True, slots=True)
class Action:
    """One call to another system, as policy judged it. Every attempt has the same key."""

    tenant_id: int
    connector: str
    operation: str
    target: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str = ""
    reversible: bool = False

    @property
    def sent_key(self) -> str:
        """The key for other systems: two tenants may use one account there, each with its own keys.

        A key that ends with its step is never that of another tenant. The first tenant has plain keys.
        """
        key = self.idempotency_key
        is_plain = self.tenant_id == FIRST_TENANT or not key or _OF_A_STEP.search(key)
        return key if is_plain else f"{self.tenant_id}~{key}"


@dataclass(frozen=True, slots=True)
class Reversal:
    """The operation of the same connector that undoes an effect."""

    operation: str
    target: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens and the cost of a call; `cost_micros` is in millionths of `currency`."""

    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_micros: int
    currency: str


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of an action: JSON values without secrets, small enough for a receipt."""

    result: Any
    external_id: str | None = None
    prior: Mapping[str, Any] | None = None
    reversal: Reversal | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class OperationSpec:
    """The properties of all calls of one operation.

    writes: it changes the other system. idempotent: the other system ignores a repeat with the same key.
    reversible: its effect can have a `Reversal`. confirmable: `confirm` can find out whether it happened.
    fields: types of fields by name, as in JSON Schema; an action with a field of another type is denied.
    """

    writes: bool
    idempotent: bool
    reversible: bool
    confirmable: bool
    fields: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, kind in self.fields.items():
            if kind not in FIELD_TYPES:
                raise UsageError(
                    f"fields.{name}: {kind!r} is not a type",
                    hint=f"use {', '.join(FIELD_TYPES)}",
                    field="fields",
                )


@runtime_checkable
class Connector(Protocol):
    """One kind of other system. It has its settings and references to secrets; it uses no database."""

    @property
    def name(self) -> str: ...

    @property
    def operations(self) -> Mapping[str, OperationSpec]: ...

    def canonical(self, operation: str, target: str) -> str:
        """The one form of a target: policy judges it, and `perform` receives it. The canonical form of a
        canonical form is itself. Raises EffectRefused. See `stepwell.connectors.address`."""
        ...

    async def perform(self, action: Action) -> Effect:
        """Do the action once. Raises EffectRefused, EffectUnavailable or EffectUnknown."""
        ...

    async def confirm(self, action: Action) -> Effect | None:
        """Find out the result of an earlier `perform`. None: certainly not done. Raises EffectUnknown if it
        cannot know, EffectUnavailable if the other system cannot be reached now."""
        ...


class EffectRefused(StepwellError):
    """Permanent; there is certainly no effect."""

    code = "effect_refused"


def no_such_operation(name: str, operation: str, known: Iterable[str]) -> EffectRefused:
    return EffectRefused(f"{name} has no operation {operation!r}", hint=f"it has {', '.join(known)}")


@runtime_checkable
class NamesEffects(Protocol):
    """A connector whose keys of effects have a form of their own."""

    def effect_form(self, operation: str, target: str, fields: Mapping[str, Any]) -> str:
        """The first part of the key, such as `sn:incident:update:{instance}:{sys_id}`; the engine adds a
        digest of the fields."""
        ...


def effect_form(connector: Connector, operation: str, target: str, fields: Mapping[str, Any]) -> str:
    if isinstance(connector, NamesEffects):
        return connector.effect_form(operation, target, fields)
    return f"{connector.name}:{operation}:{target}"


def check_canonical(connector: Connector, action: Action) -> None:
    """Refuse an action whose target is not the form that policy judged."""
    if connector.canonical(action.operation, action.target) != action.target:
        raise EffectRefused(
            "target is not in its canonical form",
            hint=f"it is {connector.canonical(action.operation, action.target)}",
            field="target",
        )


class EffectUnavailable(StepwellError):
    """Transient; there is certainly no effect. `retry_after_seconds`: the pause the other system asks for."""

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
    """The request was sent and the answer was lost: the effect may or may not exist."""

    code = "effect_unknown"
