"""Calls for triggers over HTTP: receives settings or a signed request, returns what it started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime

from stepwell import json_text
from stepwell.store.connection.call import Call, value


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger without its address and secret."""

    trigger_name: str
    workflow_name: str
    event_type: str | None
    ref_path: str | None
    key_path: str | None
    input_path: str | None
    acts_as: str
    created_at: datetime
    created_by: str
    expires_at: datetime
    is_valid: bool


@dataclass(frozen=True, slots=True)
class TriggerSecret:
    """Where a request is sent, and what signs it; both are shown once."""

    address: str
    secret: str


@dataclass(frozen=True, slots=True)
class Fired:
    """The run, and whether this request changed something."""

    run_id: int
    is_new: bool


_TRIGGER = ", ".join(f"t.{field.name}" for field in fields(Trigger))


def set_trigger(tenant: int, name: str, settings: Mapping[str, object]) -> Call[TriggerSecret]:
    return Call(
        "select t.address, t.secret from stepwell.fn_trigger_set(%s, %s, %s::jsonb) as t",
        (tenant, name, json_text.encode(settings, "settings")),
        lambda rows: TriggerSecret(*rows[0]),
    )


def delete_trigger(tenant: int, name: str) -> Call[bool]:
    return Call("select stepwell.fn_trigger_delete(%s, %s)", (tenant, name), value)


def triggers(tenant: int) -> Call[list[Trigger]]:
    return Call(
        f"select {_TRIGGER} from stepwell.fn_triggers_read(%s) as t",
        (tenant,),
        lambda rows: [Trigger(*row) for row in rows],
    )


def fire(address: str, signed_at: int, signature: str, body: bytes, delivery: str | None) -> Call[Fired]:
    return Call(
        "select f.run_id, f.is_new from stepwell.fn_trigger_fire(%s, %s, %s, %s, %s) as f",
        (address, signed_at, signature, body, delivery),
        lambda rows: Fired(*rows[0]),
    )
