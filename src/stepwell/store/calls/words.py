"""Read names and state labels: receives numbers or a scope, returns calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class UnitWords:
    """The name of a unit: `name` is the id of a step or task, or the operation of a job."""

    unit_id: int
    scope: str
    name: str | None
    workflow: str | None


@dataclass(frozen=True, slots=True)
class StateFace:
    """The labels, colour and icon of a state, from the registry."""

    state_code: str
    label_en: str
    label_vi: str
    color_token: str
    icon_token: str


def units(tenant: int, unit_ids: Sequence[int]) -> Call[dict[int, UnitWords]]:
    """Number → name; a unit that was removed is missing."""
    return Call(
        "select u.unit_id, u.scope, u.name, u.workflow from stepwell.v_unit_name as u"
        " where u.tenant_id = %s and u.unit_id = any (%s::bigint[])",
        (tenant, list(unit_ids)),
        lambda rows: {row[0]: UnitWords(*row) for row in rows},
    )


def states(scope: str) -> Call[dict[str, StateFace]]:
    """Code → label of every state of the active machine of this scope."""
    return Call(
        "select s.state_code, s.label_en, s.label_vi, s.color_token, s.icon_token"
        " from stepwell.v_state_label as s where s.scope = %s order by s.ordinal",
        (scope,),
        lambda rows: {row[0]: StateFace(*row) for row in rows},
    )
