"""Read names, state labels and looks: receives numbers, a scope or a language, returns calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.store.connection.call import Call, value


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


def looks(lang: str) -> Call[dict[str, Any]]:
    """How states, facets and traffic lights are shown: all that drawing a list needs of the registry."""
    return Call("select stepwell.fn_looks_read(%s)", (lang,), value)


def suggestion(tenant: int, kind: str, word: str, within: object = None) -> Call[str | None]:
    """`did you mean order.process?`, for a name that does not exist; None when no known name is near."""
    return Call(
        "select stepwell.fn_name_suggest(%s, %s, %s, %s)",
        (tenant, kind, word, None if within is None else str(within)),
        value,
    )
