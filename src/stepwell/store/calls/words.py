"""Read what people call things: receives numbers or a scope, hands on calls for names and shown states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class UnitWords:
    """What a unit is called: `name` is the id of a step or task, or the operation of a job."""

    unit_id: int
    scope: str
    name: str | None
    workflow: str | None


@dataclass(frozen=True, slots=True)
class StateFace:
    """How a state is shown, as the registry declares it."""

    state_code: str
    label_en: str
    label_vi: str
    color_token: str
    icon_token: str


def units(tenant: int, unit_ids: Sequence[int]) -> Call[dict[int, UnitWords]]:
    """By number; a unit that is gone is missing."""
    return Call(
        "select u.unit_id, u.scope, coalesce(t.task_id, d.step_id, o.operation_name), w.workflow_name"
        " from stepwell.work_unit as u"
        " left join stepwell.task_detail as t"
        " on u.scope = 'task' and u.tenant_id = t.tenant_id and u.unit_id = t.unit_id"
        " left join stepwell.workflow_step_def as d on u.scope = 'step' and u.tenant_id = d.tenant_id"
        " and u.version_id = d.version_id and u.def_no = d.step_no"
        " left join stepwell.operation as o"
        " on u.scope = 'job' and u.tenant_id = o.tenant_id and u.operation_id = o.operation_id"
        " left join stepwell.run_detail as r on u.tenant_id = r.tenant_id and u.unit_id >> 20 = r.run_id"
        " left join stepwell.workflow_registry as w"
        " on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id"
        " where u.tenant_id = %s and u.unit_id = any (%s::bigint[])",
        (tenant, list(unit_ids)),
        lambda rows: {row[0]: UnitWords(*row) for row in rows},
    )


def states(scope: str) -> Call[dict[str, StateFace]]:
    """Every state of the machine that is active for this scope, by its code."""
    return Call(
        "select s.state_code, en.text_value, vi.text_value, s.ui_color_token, s.ui_icon_token"
        " from stepwell.state_machine_def as m"
        " inner join stepwell.state_def as s on m.state_machine_id = s.state_machine_id"
        " inner join stepwell.i18n_text as en on s.ui_label_i18n_key = en.text_key and en.lang = 'en'"
        " inner join stepwell.i18n_text as vi on s.ui_label_i18n_key = vi.text_key and vi.lang = 'vi'"
        " where m.scope = %s and m.active order by s.ordinal",
        (scope,),
        lambda rows: {row[0]: StateFace(*row) for row in rows},
    )
