"""Calls of any function about a tenant: receives the catalog and the rows of the tenant, returns the query.

Every argument has a value that exists for the tenant, as far as its name tells which one is meant; the
others have a plain value of their type. With null a function often answers nothing, wall or no wall.
"""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from tests.sql.walls.matrix import Function

# The argument → the query for its value, as text; {run} is the number of the run.
_FOUND = {
    "p_approval_id": "select max(approval_id) from approval_detail where {mine}",
    "p_approval": "select a from approval_detail as a where {mine} order by approval_id desc limit 1",
    "p_chain": "select a from audit_chain as a where {mine}",
    "p_hold_id": "select max(hold_id) from incident_hold where {mine}",
    "p_hold": "select h from incident_hold as h where {mine} order by hold_id desc limit 1",
    "p_value": "select max(workflow_name) from workflow_registry where {mine}",
    "p_executor_class_id": "select max(executor_class_id) from work_unit"
    " where {mine} and lease_session_id is not null",
    "p_consumer": "select max(consumer) from event_lag_count where {mine}",
    "p_producer": "select max(producer) from event_lag_count where {mine}",
    "p_operation_id": "select max(operation_id) from operation where {mine}",
    "p_operation_name": "select max(operation_name) from operation where {mine}",
    "p_person_id": "select min(principal_id) from principal where {mine} and kind = 'person'",
    "p_principal_id": "select min(principal_id) from principal where {mine} and kind = 'person'",
    "p_schedule_name": "select max(schedule_name) from workflow_schedule where {mine}",
    **dict.fromkeys(
        ("p_name", "p_person", "p_person_name", "p_principal_name"),
        "select min(principal_name) from principal where {mine} and kind = 'person'",
    ),
    "p_names": "select array_agg(principal_name) from principal where {mine} and kind = 'person'",
    "p_codes": "select array_agg(iu_code) from information_unit where {mine}",
    "p_session_id": "select max(lease_session_id) from work_unit where {mine}",
    "p_step_id": "select max(step_id) from step_run where {mine} and run_id = {run}",
    "p_unit": "select u from work_unit as u where {mine} and unit_id = {unit}",
    "p_root": "select u from work_unit as u where {mine} and unit_id = {run}::bigint << 20",
    "p_version": "select v from workflow_version as v where {mine} order by version_id desc limit 1",
    "p_version_id": "select max(version_id) from workflow_version where {mine} and version_no = 1",
    "p_progress": "select p from run_progress as p where {mine} and run_id = {run}",
    "p_code": "select max(iu_code) from information_unit where {mine}",
    "p_graph_hash": "select max(graph_hash) from workflow_version where {mine}",
    "p_last_event_id": "select max(event_id) - 1 from event_log where {mine}",
    "p_event_id": "select max(event_id) from event_log where {mine} and event_type <> 'event.emitted'",
}

# Plain values, by the type of the argument.
_PLAIN = {
    "integer": "1",
    "bigint": "1",
    "numeric": "1",
    "double precision": "1",
    "boolean": "false",
    "text": "'a'",
    "jsonb": "'{}'",
    "text[]": "'{a}'",
    "integer[]": "'{1}'",
    "bigint[]": "'{1}'",
    "boolean[]": "'{true}'",
    "jsonb[]": "array['{}'::jsonb]",
}


# What a function needs to answer at all; null is for arguments that narrow the answer.
_OF_FUNCTION: dict[str, dict[str, str]] = {
    "_reader_waits_since": {"p_last_tx": "'3'"},
    "fn_events_after": {"p_after": "'3:3:'"},
    "fn_events_find": {"p_types": "null", "p_actor": "null", "p_trace_id": "null"},
    "fn_events_recent": {"p_actor": "null"},
    "fn_events_trace": {"p_actor": "null"},
    "fn_hold_reach": {"p_kind": "'workflow'"},
    "fn_governance_read": {"p_category": "'dead_letter'"},
    "fn_name_suggest": {"p_kind": "'workflow'", "p_word": "'v'", "p_within": "null"},
    "fn_runs_list": {"p_after": "null"},
    "fn_runs_reach": {"p_act": "'cancel'"},
    "fn_step_body": {"p_parts": "'{why}'"},
    "fn_step_find": {"p_task_id": "null", "p_item_no": "null"},
}
# Arguments that are given also where a function does not require them.
_ALWAYS = {
    *("p_tenant_id", "p_tenant_ids", "p_run_id", "p_run_ids", "p_unit_id", "p_unit_ids"),
    *("p_limit", "p_actor"),
}


@dataclass(frozen=True)
class Arguments:
    """Values of one tenant, as words of SQL."""

    known: dict[str, str]

    def call(self, found: Function, **more: str) -> str:
        """A query with the answer as one text."""
        known = {**self.known, **_OF_FUNCTION.get(found.name, {}), **more}
        given = [
            f"{f'{name} => ' if name else ''}{known.get(name, _PLAIN.get(kind, 'null'))}::{kind}"
            for place, (name, kind) in enumerate(found.arguments)
            if place < found.required or (name in known and name in {*_ALWAYS, *more})
        ]
        return f"select string_agg(x::text, ',') from stepwell.{found.name}({', '.join(given)}) as x"


def arguments(db: psycopg.Connection, tenant: int, run_id: int) -> Arguments:
    """The values of the tenant and of this run of it."""
    known = known_values(db, tenant, run_id, {})
    missing = sorted(set(_FOUND) - set(known))
    assert missing == [], f"tenant {tenant} has no value for {missing}"
    return Arguments(known)


def known_values(db: psycopg.Connection, tenant: int, run_id: int, more: dict[str, str]) -> dict[str, str]:
    """The same without what the tenant does not have; `more` replaces."""
    unit = (run_id << 20) + 1
    known = {
        "p_tenant_id": str(tenant),
        "p_tenant_ids": f"array[{tenant}]",
        "p_run_id": str(run_id),
        "p_run_ids": f"array[{run_id}]",
        "p_workflow_id": str(run_id),
        "p_workflow_run_id": str(run_id),
        "p_unit_id": str(unit),
        "p_unit_ids": f"array[{unit}]",
        "p_step_run_id": str(unit),
        "p_subject_unit_id": str(run_id << 20),
        "p_workflow": "'w'",
        "p_workflow_name": "'w'",
        "p_version_no": "1",
        "p_def_no": "1",
        # Who is bound: a refusal of another name would hide that the tenant is accepted.
        "p_actor": "'binder'",
        "p_limit": "10",
    }
    for name, query in _FOUND.items():
        filled = query.format(mine=f"tenant_id = {tenant}", run=run_id, unit=unit)
        (value,) = db.execute(f"select ({filled})::text".encode()).fetchone()  # type: ignore[misc]
        if value is not None:
            known[name] = "'" + value.replace("'", "''") + "'"
    return {**known, **more}
