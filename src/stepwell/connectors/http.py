"""Do actions in an HTTP service: receives an action with a path below the address, returns the effect.

Each HTTP method is an operation; an `HttpOperation` with a name adds how to confirm and how to reverse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from stepwell.connectors.address import path_below, service_address
from stepwell.connectors.base import (
    Action,
    Effect,
    EffectRefused,
    EffectUnknown,
    OperationSpec,
    Reversal,
    check_canonical,
    no_such_operation,
)
from stepwell.connectors.secrets import OpenedSecrets, SecretRef, opened_secrets
from stepwell.connectors.transport import Answer, HttpLimits, exchange
from stepwell.errors import UsageError

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
READING: Final = frozenset({"GET", "HEAD"})
# By the definition of these methods a repeat changes nothing.
REPEATABLE: Final = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_PLACE: Final = re.compile(r"\{([a-z]+(?:\.[A-Za-z0-9_-]+)*)\}")
_NOT_FOUND: Final = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class HttpHeader:
    """A header with a secret value, such as `HttpHeader(SecretRef("env:TOKEN"), prefix="Bearer ")`."""

    secret: SecretRef
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class HttpConfirm:
    """A GET that shows whether an action was done: 404, or no value at `found`, means that it was not.

    `path` may contain {key}, {target} and {fields.NAME}; `found` is a path in the answer such as items.0.
    """

    path: str
    found: str | None = None


@dataclass(frozen=True, slots=True)
class HttpInverse:
    """The operation that reverses: `target` and the texts in `fields` may contain {result.NAME} and {key}."""

    operation: str
    target: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpOperation:
    """One operation. `keeps_prior` reads the target first; the reversal writes the earlier values again.

    `fields` are the types of its fields, such as {"amount": "number"}. `busy_status` is the answer of a
    service that honours keys while it still handles the first request of a key.
    """

    method: str
    honours_key: bool = False
    confirm: HttpConfirm | None = None
    inverse: HttpInverse | None = None
    keeps_prior: bool = False
    busy_status: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(f"method {self.method!r} is not accepted", hint=f"use {', '.join(METHODS)}")
        if self.keeps_prior and (self.inverse is not None or self.method not in ("PUT", "PATCH")):
            raise UsageError("keeps_prior is for PUT and PATCH without an inverse", field="keeps_prior")

    @property
    def spec(self) -> OperationSpec:
        return OperationSpec(
            writes=self.method not in READING,
            idempotent=self.honours_key or self.method in REPEATABLE,
            reversible=self.inverse is not None or self.keeps_prior,
            confirmable=self.confirm is not None,
            fields=self.fields,
        )


PLAIN: Final = MappingProxyType({method.lower(): HttpOperation(method) for method in METHODS})


class HttpConnector:
    """One service. Every request has the `headers`; a secret is read when the request is sent."""

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        operations: Mapping[str, HttpOperation] | None = None,
        headers: Mapping[str, str | HttpHeader] | None = None,
        limits: HttpLimits | None = None,
        proxy: str | None = None,
        key_header: str = "Idempotency-Key",
        keeps_encoded_slash: bool = False,
    ) -> None:
        """`keeps_encoded_slash`: the service reads %2F as a part of a name, never as a slash."""
        self._name = name
        self._base_url = service_address(base_url, "base_url", "https://host/path")
        self._keeps_encoded_slash = keeps_encoded_slash
        self._known = {**PLAIN, **(operations or {})}
        self._headers = dict(headers or {})
        self._limits = limits or HttpLimits()
        self._proxy = proxy
        self._key_header = key_header

    @property
    def name(self) -> str:
        return self._name

    @property
    def operations(self) -> Mapping[str, OperationSpec]:
        return {name: operation.spec for name, operation in self._known.items()}

    def canonical(self, operation: str, target: str) -> str:
        return path_below(target, keeps_encoded_slash=self._keeps_encoded_slash)

    async def perform(self, action: Action) -> Effect:
        operation = self._operation(action)
        check_canonical(self, action)
        with opened_secrets() as opened:
            prior = await self._prior(action, opened) if operation.keeps_prior else None
            answer = await self._request(
                operation.method, action.target, opened, key=action.sent_key,
                body=dict(action.fields) if action.fields else None, accepts=_accepted(operation),
            )  # fmt: skip
            if answer.status == operation.busy_status:
                raise EffectUnknown("the service still handles an earlier request with this key")
            return opened.clean(self._effect(action, operation, answer, prior))

    async def confirm(self, action: Action) -> Effect | None:
        operation = self._operation(action)
        if operation.confirm is None:
            raise EffectUnknown(
                f"{self._name}.{action.operation} cannot be confirmed", hint="check the other system by hand"
            )
        with opened_secrets() as opened:
            try:
                path = self.canonical(
                    action.operation, _filled(operation.confirm.path, _known_of(action), escapes=True)
                )
            except _NoValue as error:
                raise EffectUnknown(f"confirm: {error}", hint="check the connector's settings") from None
            answer = await self._request("GET", path, opened, accepts=_NOT_FOUND)
            if answer.status in _NOT_FOUND:
                return None
            body = answer.body
            if operation.confirm.found is not None:
                body = _at(body, operation.confirm.found)
                if body is None:
                    return None
            found = Answer(answer.status, answer.headers, body)
            # The earlier values of the target are not known any more; only an inverse can reverse it.
            return opened.clean(self._effect(action, operation, found, None))

    def _operation(self, action: Action) -> HttpOperation:
        found = self._known.get(action.operation)
        if found is None:
            raise no_such_operation(self._name, action.operation, self._known)
        return found

    async def _prior(self, action: Action, opened: OpenedSecrets) -> dict[str, Any]:
        answer = await self._request("GET", action.target, opened)
        if not isinstance(answer.body, dict):
            raise EffectRefused(
                "the present values of the target cannot be read: the answer is no JSON object"
            )
        return {name: answer.body.get(name) for name in action.fields}

    def _effect(
        self, action: Action, operation: HttpOperation, answer: Answer, prior: dict[str, Any] | None
    ) -> Effect:
        known = {**_known_of(action), "result": answer.body}
        result = {"status": answer.status, "body": answer.body}
        reversal = None
        if operation.inverse is not None:
            try:
                reversal = Reversal(
                    operation.inverse.operation,
                    self.canonical(
                        operation.inverse.operation, _filled(operation.inverse.target, known, escapes=True)
                    ),
                    _filled_deep(operation.inverse.fields, known),
                )
            except (_NoValue, EffectRefused) as error:
                # The action was done; only its reversal is not known.
                result["irreversible"] = str(error)
        elif prior is not None and prior != action.fields:
            # Equal values come from an earlier attempt or from another user; then there is no reversal.
            reversal = Reversal(action.operation, action.target, prior)
        found_id = answer.body.get("id") if isinstance(answer.body, dict) else None
        if answer.status in _NOT_FOUND:
            result["already"] = True
        if answer.is_truncated:
            result["is_truncated"] = True
        return Effect(result, None if found_id is None else str(found_id), prior, reversal)

    async def _request(
        self,
        method: str,
        path: str,
        opened: OpenedSecrets,
        *,
        key: str = "",
        body: Any = None,
        accepts: frozenset[int] = frozenset(),
    ) -> Answer:
        headers = {
            name: given if isinstance(given, str) else given.prefix + opened.open(given.secret).reveal()
            for name, given in self._headers.items()
        }
        writes = method not in READING
        if writes and key:
            headers[self._key_header] = key
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        return await exchange(
            method, self._base_url + path, writes=writes, limits=self._limits, headers=headers, body=body,
            accepts=accepts, proxy=self._proxy,
        )  # fmt: skip


def _accepted(operation: HttpOperation) -> frozenset[int]:
    """A DELETE of a missing target is accepted: an earlier attempt may have deleted it."""
    gone = _NOT_FOUND if operation.method == "DELETE" else frozenset()
    return gone if operation.busy_status is None else gone | {operation.busy_status}


class _NoValue(Exception):
    """A name in braces without a value."""


def _known_of(action: Action) -> dict[str, Any]:
    return {"key": action.sent_key, "target": action.target, "fields": action.fields}


def _filled(text: str, known: Mapping[str, Any], *, escapes: bool) -> str:
    """Replace names in braces by their values. In a path the values are escaped, except a target."""

    def value(match: re.Match[str]) -> str:
        place = match[1]
        found = _at(known, place)
        if found is None or isinstance(found, (dict, list)):
            raise _NoValue(f"{{{place}}} has no value")
        return str(found) if not escapes or place == "target" else quote(str(found), safe="")

    return _PLACE.sub(value, text)


def _filled_deep(value: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return _filled(value, known, escapes=False)
    if isinstance(value, Mapping):
        return {name: _filled_deep(item, known) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_filled_deep(item, known) for item in value]
    return value


def _at(value: Any, place: str) -> Any:
    for name in place.split("."):
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value
