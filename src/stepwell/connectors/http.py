"""Do actions in an HTTP service: receives an action with a path below the address, returns the effect.

Each HTTP method is an operation; an `HttpOperation` with a name adds how to confirm and how to reverse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlsplit

from stepwell.connectors.base import (
    Action,
    Effect,
    EffectRefused,
    EffectUnknown,
    OperationSpec,
    Reversal,
    no_such_operation,
)
from stepwell.connectors.secrets import OpenedSecrets, SecretRef, opened_secrets
from stepwell.connectors.transport import Answer, HttpLimits, exchange
from stepwell.errors import UsageError

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
READING: Final = frozenset({"GET", "HEAD"})
# By the definition of these methods a repeat changes nothing.
REPEATABLE: Final = frozenset({"GET", "HEAD", "PUT", "DELETE"})
TARGET_LENGTH_LIMIT: Final = 2_000
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

    `busy_status` is the answer of a service that honours keys while it still handles the first request of a
    key.
    """

    method: str
    honours_key: bool = False
    confirm: HttpConfirm | None = None
    inverse: HttpInverse | None = None
    keeps_prior: bool = False
    busy_status: int | None = None

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
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise UsageError("base_url is not accepted", hint="write https://host/path", field="base_url")
        self._name = name
        self._base_url = base_url.rstrip("/")
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

    async def perform(self, action: Action) -> Effect:
        operation = self._operation(action)
        with opened_secrets() as opened:
            prior = await self._prior(action, opened) if operation.keeps_prior else None
            answer = await self._request(
                operation.method, _path(action.target), opened, key=action.idempotency_key,
                body=dict(action.fields) if action.fields else None, accepts=_accepted(operation),
            )  # fmt: skip
            if answer.status == operation.busy_status:
                raise EffectUnknown("the service still handles an earlier request with this key")
            return opened.clean(_effect(action, operation, answer, prior))

    async def confirm(self, action: Action) -> Effect | None:
        operation = self._operation(action)
        if operation.confirm is None:
            raise EffectUnknown(
                f"{self._name}.{action.operation} cannot be confirmed", hint="check the other system by hand"
            )
        with opened_secrets() as opened:
            try:
                path = _filled(operation.confirm.path, _known_of(action), escapes=True)
            except _NoValue as error:
                raise EffectUnknown(f"confirm: {error}", hint="check the connector's settings") from None
            answer = await self._request("GET", _path(path), opened, accepts=_NOT_FOUND)
            if answer.status in _NOT_FOUND:
                return None
            body = answer.body
            if operation.confirm.found is not None:
                body = _at(body, operation.confirm.found)
                if body is None:
                    return None
            found = Answer(answer.status, answer.headers, body)
            # The earlier values of the target are not known any more; only an inverse can reverse it.
            return opened.clean(_effect(action, operation, found, None))

    def _operation(self, action: Action) -> HttpOperation:
        found = self._known.get(action.operation)
        if found is None:
            raise no_such_operation(self._name, action.operation, self._known)
        return found

    async def _prior(self, action: Action, opened: OpenedSecrets) -> dict[str, Any]:
        answer = await self._request("GET", _path(action.target), opened)
        if not isinstance(answer.body, dict):
            raise EffectRefused(
                "the present values of the target cannot be read: the answer is no JSON object"
            )
        return {name: answer.body.get(name) for name in action.fields}

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


def _effect(action: Action, operation: HttpOperation, answer: Answer, prior: dict[str, Any] | None) -> Effect:
    known = {**_known_of(action), "result": answer.body}
    result = {"status": answer.status, "body": answer.body}
    reversal = None
    if operation.inverse is not None:
        try:
            reversal = Reversal(
                operation.inverse.operation,
                _filled(operation.inverse.target, known, escapes=True),
                _filled_deep(operation.inverse.fields, known),
            )
        except _NoValue as error:
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


class _NoValue(Exception):
    """A name in braces without a value."""


def _known_of(action: Action) -> dict[str, Any]:
    return {"key": action.idempotency_key, "target": action.target, "fields": action.fields}


def _path(target: str) -> str:
    """Accept only a path below the configured address, because the headers contain its secrets."""
    path = target if target.startswith("/") else f"/{target}"
    plain = path.partition("?")[0]
    is_inside = (
        len(path) <= TARGET_LENGTH_LIMIT
        and not path.startswith("//")
        and "\\" not in path
        and "#" not in path
        and all(" " < letter < "\x7f" for letter in path)
        and not any(part in (".", "..") for part in plain.replace("%2e", ".").replace("%2E", ".").split("/"))
    )
    if not is_inside:
        raise EffectRefused(
            "target is not a path below the address of the connector",
            hint="write a path such as /tickets/7, percent-encoded, without ..",
            field="target",
        )
    return path


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
