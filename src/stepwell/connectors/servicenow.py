"""Do actions on records of ServiceNow with its table API: receives `incident` or `incident/<sys_id>`, returns
an effect with the earlier values. A record that another user has changed in the meantime is not changed.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

from stepwell.connectors.address import service_address
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

# The fields that identify a version of a record.
VERSION_FIELDS: Final = ("sys_mod_count", "sys_updated_on")
FIELDS_LIMIT: Final = 100
# The length of `correlation_id`.
KEY_LENGTH_LIMIT: Final = 100
FIELD_TYPES: Final = {"names": "array", "values": "object", "expect": "object"}
_TABLE: Final = re.compile(r"[a-z][a-z0-9_]{0,79}")
_RECORD: Final = re.compile(r"([a-z][a-z0-9_]{0,79})/([0-9a-f]{32})")
_FIELD: Final = re.compile(r"[a-z][a-z0-9_]{0,79}")
_NOT_FOUND: Final = frozenset({404})


class ServiceNowConnector:
    """One instance. Operations:

    read    target table/sys_id; fields {"names": [...]}
    create  target table; fields {"values": {...}}. The field `key_field` of the record stores its key.
    update  target table/sys_id; fields {"values": {...}, "expect": {"sys_mod_count": "4"}}
    delete  target table/sys_id; fields {"expect": {...}}. `expect` is optional in both.
    """

    def __init__(
        self,
        name: str,
        instance_url: str,
        *,
        secret: SecretRef,
        user: str | None = None,
        key_field: str | None = "correlation_id",
        limits: HttpLimits | None = None,
        proxy: str | None = None,
    ) -> None:
        """`secret` is the password of `user`; without a user it is a bearer token."""
        address = service_address(instance_url, "instance_url", "https://name.service-now.com")
        self._name = name
        self._base_url = f"{address}/api/now/table"
        self._secret = secret
        self._user = user
        self._key_field = key_field
        self._limits = limits or HttpLimits()
        self._proxy = proxy

    @property
    def name(self) -> str:
        return self._name

    @property
    def operations(self) -> Mapping[str, OperationSpec]:
        knows_key = self._key_field is not None
        return {
            "read": OperationSpec(
                writes=False, idempotent=True, reversible=False, confirmable=False, fields=FIELD_TYPES
            ),
            "create": OperationSpec(
                writes=True, idempotent=knows_key, reversible=True, confirmable=knows_key, fields=FIELD_TYPES
            ),
            "update": OperationSpec(
                writes=True, idempotent=True, reversible=True, confirmable=True, fields=FIELD_TYPES
            ),
            "delete": OperationSpec(
                writes=True, idempotent=True, reversible=False, confirmable=True, fields=FIELD_TYPES
            ),
        }

    def canonical(self, operation: str, target: str) -> str:
        """`table`, or `table/sys_id`; each has one form, and every other is refused."""
        return _table(target) if operation == "create" else _record_path(target)[1:]

    def effect_form(self, operation: str, target: str, fields: Mapping[str, Any]) -> str:
        """`sn:{table}:{operation}:{instance}:{sys_id}`; a host elsewhere than service-now.com is whole."""
        table, _, record = target.partition("/")
        instance = urlsplit(self._base_url).netloc.lower().removesuffix(".service-now.com")
        return ":".join(part for part in ("sn", table, operation, instance, record) if part)

    async def perform(self, action: Action) -> Effect:
        with opened_secrets() as opened:
            match action.operation:
                case "read":
                    effect = await self._read(action, opened)
                case "create":
                    # The table API does not find repeats; so first look for a record with this key.
                    effect = await self._created(action, opened) or await self._create(action, opened)
                case "update":
                    effect = await self._update(action, opened)
                case "delete":
                    effect = await self._delete(action, opened)
                case other:
                    raise no_such_operation(self._name, other, self.operations)
            return opened.clean(effect)

    async def confirm(self, action: Action) -> Effect | None:
        with opened_secrets() as opened:
            match action.operation:
                case "create" if self._key_field is not None:
                    return opened.clean(await self._created(action, opened))
                case "update":
                    return opened.clean(await self._updated(action, opened))
                case "delete":
                    return (
                        Effect({"deleted": True})
                        if await self._get(action.target, (), opened) is None
                        else None
                    )
        raise EffectUnknown(f"{self._name}.{action.operation} cannot be confirmed", hint="check it by hand")

    async def _read(self, action: Action, opened: OpenedSecrets) -> Effect:
        names = action.fields.get("names", [])
        record = await self._get(action.target, _checked_names(names), opened)
        if record is None:
            raise EffectRefused(f"{action.target} does not exist", field="target")
        return Effect(record, action.target)

    async def _create(self, action: Action, opened: OpenedSecrets) -> Effect:
        table = _table(action.target)
        values = _values(action)
        if self._key_field is not None:
            values[self._key_field] = _record_key(action)
        answer = await self._request("POST", f"/{table}", opened, body=values)
        return _creation(table, _result(answer))

    async def _created(self, action: Action, opened: OpenedSecrets) -> Effect | None:
        """The record with this key, if there is one."""
        table = _table(action.target)
        if self._key_field is None:
            return None
        key = _record_key(action)
        if not key or "^" in key:
            raise EffectRefused(
                "idempotency_key is empty or contains ^, which separates conditions in a query"
            )
        query = quote(f"{self._key_field}={key}", safe="")
        answer = await self._request(
            "GET", f"/{table}?sysparm_query={query}&sysparm_limit=2&{_PLAIN_VALUES}", opened
        )
        found = _result(answer)
        return _creation(table, found[0]) if isinstance(found, list) and found else None

    async def _update(self, action: Action, opened: OpenedSecrets) -> Effect:
        values = _values(action)
        before = await self._get(action.target, tuple(values), opened)
        if before is None:
            raise EffectRefused(f"{action.target} does not exist", field="target")
        if _holds(before, values):
            return Effect({"record": before, "already": True}, action.target)
        _check_version(action, before)
        answer = await self._request("PATCH", _record_path(action.target), opened, body=values)
        after = _result(answer)
        prior = {name: before.get(name, "") for name in values}
        kept = {name: after.get(name) for name in (*values, *VERSION_FIELDS) if name in after}
        result: dict[str, Any] = {"record": kept}
        if not _follows(before, after):
            # The API has no conditional write: a change between our read and our write can only be reported.
            result["raced"] = True
        expect = {name: after[name] for name in VERSION_FIELDS if name in after}
        return Effect(
            result,
            action.target,
            prior,
            Reversal("update", action.target, {"values": prior, "expect": expect}),
        )

    async def _updated(self, action: Action, opened: OpenedSecrets) -> Effect | None:
        values = _values(action)
        record = await self._get(action.target, tuple(values), opened)
        if record is None:
            raise EffectUnknown(f"{action.target} does not exist any more, so its update cannot be confirmed")
        if _holds(record, values):
            return Effect({"record": record, "already": True}, action.target)
        expect = action.fields.get("expect")
        if expect and all(str(record.get(name)) == str(value) for name, value in expect.items()):
            return None
        # "Done and then changed by another user" looks the same as "not done".
        raise EffectUnknown(
            f"{action.target} has other values; it is unknown whether it ever had these",
            hint="an action with expect can be confirmed",
        )

    async def _delete(self, action: Action, opened: OpenedSecrets) -> Effect:
        before = await self._get(action.target, VERSION_FIELDS, opened)
        if before is None:
            return Effect({"deleted": True, "already": True}, action.target)
        _check_version(action, before)
        await self._request("DELETE", _record_path(action.target), opened, accepts=_NOT_FOUND)
        return Effect({"deleted": True}, action.target)

    async def _get(self, target: str, names: tuple[str, ...], opened: OpenedSecrets) -> dict[str, Any] | None:
        wanted = ",".join(dict.fromkeys(("sys_id", *names, *VERSION_FIELDS)))
        path = f"{_record_path(target)}?sysparm_fields={quote(wanted, safe=',')}&{_PLAIN_VALUES}"
        answer = await self._request("GET", path, opened, accepts=_NOT_FOUND)
        if answer.status in _NOT_FOUND:
            return None
        found = _result(answer)
        if not isinstance(found, dict):
            raise EffectRefused(f"{target}: the answer has no record")
        return found

    async def _request(
        self,
        method: str,
        path: str,
        opened: OpenedSecrets,
        *,
        body: Any = None,
        accepts: frozenset[int] = frozenset(),
    ) -> Answer:
        secret = opened.open(self._secret, user=self._user).reveal()
        if self._user is None:
            authorization = f"Bearer {secret}"
        else:
            authorization = "Basic " + base64.b64encode(f"{self._user}:{secret}".encode()).decode()
        headers = {"Authorization": authorization}
        if body is not None:
            headers["Content-Type"] = "application/json"
        return await exchange(
            method, self._base_url + path, writes=method != "GET", limits=self._limits, headers=headers,
            body=body, accepts=accepts, proxy=self._proxy,
        )  # fmt: skip


def _record_key(action: Action) -> str:
    """The key as its field can store it: a longer one would be cut there, and never found again."""
    key = action.sent_key
    if len(key) <= KEY_LENGTH_LIMIT:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()[:40]
    return f"{key[: KEY_LENGTH_LIMIT - len(digest) - 1]}:{digest}"


# Read the stored values, because labels and links could not be written again.
_PLAIN_VALUES: Final = "sysparm_display_value=false&sysparm_exclude_reference_link=true"


def _creation(table: str, record: Mapping[str, Any]) -> Effect:
    sys_id = str(record.get("sys_id", ""))
    target = f"{table}/{sys_id}"
    if not _RECORD.fullmatch(target):
        # The record exists, but the answer does not have its sys_id.
        return Effect({"number": record.get("number")})
    kept = {name: record[name] for name in ("sys_id", "number", *VERSION_FIELDS) if name in record}
    expect = {name: record[name] for name in VERSION_FIELDS if name in record}
    return Effect({"record": kept}, target, None, Reversal("delete", target, {"expect": expect}))


def _check_version(action: Action, record: Mapping[str, Any]) -> None:
    expect = action.fields.get("expect", {})
    if not isinstance(expect, Mapping) or not set(expect) <= set(VERSION_FIELDS):
        raise EffectRefused(f"expect is not accepted; accepted: {', '.join(VERSION_FIELDS)}", field="expect")
    changed = [name for name, value in expect.items() if str(record.get(name)) != str(value)]
    if changed:
        raise EffectRefused(
            f"{action.target} was changed in the meantime: {changed[0]} is {record.get(changed[0])!r}, "
            f"expected {expect[changed[0]]!r}",
            hint="read the record again and decide again",
        )


def _follows(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    counts = [str(record.get("sys_mod_count", "")) for record in (before, after)]
    return not all(count.isdigit() for count in counts) or int(counts[1]) <= int(counts[0]) + 1


def _holds(record: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    return all(_stored(record.get(name, "")) == _stored(value) for name, value in values.items())


def _stored(value: Any) -> str:
    """The value as the table API returns it: always a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _values(action: Action) -> dict[str, Any]:
    values = action.fields.get("values")
    if not isinstance(values, Mapping) or not 1 <= len(values) <= FIELDS_LIMIT:
        raise EffectRefused(
            f"values is not accepted; accepted: an object of 1 to {FIELDS_LIMIT} fields", field="values"
        )
    _checked_names(list(values))
    if any(isinstance(value, (Mapping, list)) for value in values.values()):
        raise EffectRefused(
            "values has a list or an object; accepted: texts, numbers, true, false and null", field="values"
        )
    return dict(values)


def _checked_names(names: Any) -> tuple[str, ...]:
    is_right = isinstance(names, list) and len(names) <= FIELDS_LIMIT
    if not is_right or not all(isinstance(name, str) and _FIELD.fullmatch(name) for name in names):
        raise EffectRefused("values has a wrong name; accepted: names of a-z, 0-9 and _", field="values")
    return tuple(names)


def _table(target: str) -> str:
    if not _TABLE.fullmatch(target):
        raise EffectRefused(
            "target is not accepted; accepted: the name of a table, such as incident", field="target"
        )
    return target


def _record_path(target: str) -> str:
    if not _RECORD.fullmatch(target):
        raise EffectRefused(
            "target is not accepted; accepted: table/sys_id, with a sys_id of 32 hexadecimal digits",
            field="target",
        )
    return f"/{target}"


def _result(answer: Answer) -> Any:
    if not isinstance(answer.body, dict) or "result" not in answer.body:
        raise EffectUnknown("the answer of the table API has no result")
    return answer.body["result"]
